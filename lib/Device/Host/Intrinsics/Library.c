//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The library is one translation unit, so that building it takes only clang.
///
//===----------------------------------------------------------------------===//

// The order matters: later files use functions of earlier ones.
// clang-format off
#include "Arithmetic.c"
#include "Conversion.c"
#include "Half.c"
#include "Integer.c"
#include "Memory.c"
#include "Matrix.c"
#include "AMDGCN.c"
// clang-format on
