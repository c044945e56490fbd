//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The folder for files that are kept between runs.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_CACHEFOLDER_H
#define LLVM_MNEME_SUPPORT_CACHEFOLDER_H

#include <string>

namespace llvm {
namespace mneme {

/// The default cache folder: below XDG_CACHE_HOME, or where
/// temporary files are.
std::string getDefaultCacheDir();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_CACHEFOLDER_H
