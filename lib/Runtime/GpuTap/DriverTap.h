//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches that go past the CUDA runtime, or are of whole graphs: they are not
/// recorded, but counted.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H
#define MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H

#include <cstdint>

namespace mneme {

/// Launches that do not come through the runtime.
enum class ForeignLaunch { ThroughDriver, AsGraph };

/// Counts a launch that happened.
void countForeignLaunch(ForeignLaunch Kind);

/// How many there were.
uint64_t foreignLaunches(ForeignLaunch Kind);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H
