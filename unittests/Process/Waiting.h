//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MNEME_UNITTESTS_PROCESS_WAITING_H
#define MNEME_UNITTESTS_PROCESS_WAITING_H

/// Seconds that anything may take on the slowest machine.
static constexpr double Forever = 600;

#endif // MNEME_UNITTESTS_PROCESS_WAITING_H
