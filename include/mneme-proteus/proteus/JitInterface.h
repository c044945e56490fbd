//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The annotations of Proteus, for programs that include them, by those of
/// mneme/jit.h. Add the folder mneme-proteus to the include path.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_PROTEUS_JITINTERFACE_H
#define MNEME_PROTEUS_JITINTERFACE_H

#include "Init.h"
#include <cstring>
#include <mneme/jit.h>

namespace proteus {

using mneme::jit_arg;
using mneme::jit_array;
using mneme::jit_object;
using mneme::jit_variable;

/// The second parameter is not needed.
template <typename T>
inline T &&register_lambda(T &&Lambda, const char * = "") noexcept {
  return mneme::register_lambda(static_cast<T &&>(Lambda));
}

#if defined(__CUDACC__) || defined(__HIP__)
using mneme::shared_array;
#endif

} // namespace proteus

#endif // MNEME_PROTEUS_JITINTERFACE_H
