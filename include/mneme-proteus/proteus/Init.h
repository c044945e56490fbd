//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Functions of Proteus by those of mneme/jit.h.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_PROTEUS_INIT_H
#define MNEME_PROTEUS_INIT_H

#include <mneme/jit.h>
#include <string>

namespace proteus {

inline void enable() { mneme::jit_enable(true); }
inline void disable() { mneme::jit_enable(false); }

inline void registerJITPassPlugin(const std::string &Path,
                                  const std::string &Pipeline) {
  mneme::jit_plugin(Path, Pipeline);
}

/// Without effect.
inline void init() {}
inline void finalize() {}

} // namespace proteus

#endif // MNEME_PROTEUS_INIT_H
