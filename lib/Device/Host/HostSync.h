//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Functions for synchronization points that several strategies use.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_HOST_HOSTSYNC_H
#define LLVM_MNEME_LIB_DEVICE_HOST_HOSTSYNC_H

namespace llvm {
class CallInst;
class Function;
class Value;
namespace mneme {
namespace host {
struct ThreadLoops;

/// Makes threads yield in loops that wait for other threads: at the back edges
/// of loops whose exit depends on a volatile or atomic load, or on an atomic
/// that does the same in each iteration. A yield is a sync with MNEME_OP_NONE,
/// so the kernel becomes a coroutine or fiber kernel. The caller must renumber
/// the sites.
/// \returns whether \p F has changed.
bool insertSpinYields(Function &F);

/// \returns the first function other than \p Kernel itself that \p Kernel
/// reaches and that contains a sync, or null. Only fibers can wait there.
Function *findSyncInCallee(Function &Kernel);

/// Lowers the sync and sync2 placeholders of \p F, which runs on a fiber as
/// \p Thread.
void lowerSyncs(Function &F, Value *Thread);

/// \returns whether \p Call may query the current thread: asserts do, and
/// functions that were not inlined.
bool asksForThread(const CallInst &Call);
/// Makes the thread of \p Loops the current thread of \p Block during \p Call.
void announceThread(CallInst &Call, Value *Block, const ThreadLoops &Loops);

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_HOSTSYNC_H
