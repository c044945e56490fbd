//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the clang of Mneme's own LLVM version, which loads the pass and
/// compiles sources.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_FINDCLANG_H
#define LLVM_MNEME_COMPILE_FINDCLANG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
namespace mneme {

/// Returns the path of a clang++ that can load plugins of this LLVM: in folder
/// \p Beside, if not empty, in that of LLVM's tools, or in PATH.
/// \param Version  the version that it must have ("22.1.8"); empty: any release
/// of this minor version.
Expected<std::string> findClang(StringRef Beside, StringRef Version = "");

/// Returns the version of a clang: "22.1.8"; empty if \p Program is not clang
/// or cannot be run.
std::string askClangVersion(StringRef Program);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_FINDCLANG_H
