//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What HIP's runtime is called.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_HIPLIBRARIES_H
#define MNEME_LIB_RUNTIME_DRIVER_HIPLIBRARIES_H

namespace mneme {

/// The newest first: the number rises with releases of ROCm, of which 10 has 8;
/// higher ones are there for those to come. A program that has loaded one must
/// be asked first.
inline constexpr const char *HipLibraries[] = {
    "libamdhip64.so.12", "libamdhip64.so.11", "libamdhip64.so.10",
    "libamdhip64.so.9",  "libamdhip64.so.8",  "libamdhip64.so.7",
    "libamdhip64.so.6",  "libamdhip64.so.5",  "libamdhip64.so"};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_HIPLIBRARIES_H
