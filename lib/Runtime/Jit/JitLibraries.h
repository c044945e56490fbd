//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sources that the application has compiled while it runs
/// (mneme/jit_module.h): each becomes a shared library, which is loaded once.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_JITLIBRARIES_H
#define MNEME_LIB_RUNTIME_JIT_JITLIBRARIES_H

#include <cstddef>
#include <cstdint>

/// As in mneme/jit_module.h.
struct mneme_jit_source {
  size_t size;
  uint32_t has_kernels, language, compiler;
  const char *text;
  size_t text_size;
  const char *tail;
  size_t tail_size;
  const char *const *options;
  size_t num_options;
};
typedef void mneme_jit_message_fn(void *data, const char *severity,
                                  const char *file, uint32_t line,
                                  uint32_t column, const char *text);

/// Returns the handle of dlopen(), or null after a message that is an error.
extern "C" void *__mneme_jit_build(const mneme_jit_source *S,
                                   mneme_jit_message_fn *OnMessage, void *Data);

#endif // MNEME_LIB_RUNTIME_JIT_JITLIBRARIES_H
