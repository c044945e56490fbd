//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The command line of ptxas.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_PTXASOPTIONS_H
#define LLVM_MNEME_COMPILE_PTXASOPTIONS_H

#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct AssembleOptions;

/// Returns the options that clang's driver passes to ptxas, followed by the
/// user's, without files.
std::vector<std::string> makePtxasOptions(const AssembleOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PTXASOPTIONS_H
