//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Links objects to images that can be loaded at any address.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_JIT_LINKIMAGE_H
#define LLVM_MNEME_LIB_JIT_LINKIMAGE_H

#include "llvm/Mneme/Runtime/JitExchange.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace llvm {
namespace mneme {

/// Links \p Object, which is position-independent, for address 0 (JITLink), and
/// lists the words that depend on addresses. Fails if other code than words
/// does.
Expected<::mneme::JitImage> linkImage(MemoryBufferRef Object, StringRef Entry);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_JIT_LINKIMAGE_H
