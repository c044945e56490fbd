//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts launches that cannot be recorded, because they bypass the CUDA
/// runtime.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H
#define MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H

#include <cstdint>

namespace mneme {

/// Launches of kernels, and of graphs that were made through the driver.
enum class ForeignLaunch { ThroughDriver, AsGraph };

/// Counts a successful launch.
void countForeignLaunch(ForeignLaunch Kind);

/// The number of launches counted.
uint64_t foreignLaunches(ForeignLaunch Kind);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H
