//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What has to do with synchronization points and is not one strategy's own.
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

/// Makes threads give way in loops that wait for other threads: at the back
/// edges of loops whose exit depends on a volatile or atomic load, or on an
/// atomic that does the same each time round. Gives way by a sync with
/// MNEME_OP_NONE, so such a kernel becomes a coroutine or fiber kernel; sites
/// are to be renumbered.
/// \returns whether \p F has changed.
bool insertSpinYields(Function &F);

/// The first function that \p Kernel reaches, other than itself, that contains
/// a sync; null when there is none. Only fibers can wait there.
Function *findSyncInCallee(Function &Kernel);

/// Lowers the sync and sync2 placeholders of \p F, which runs on a fiber as
/// \p Thread.
void lowerSyncs(Function &F, Value *Thread);

/// Says whether \p Call may ask which thread runs: asserts do, and functions
/// that were not inlined.
bool asksForThread(const CallInst &Call);
/// Makes the thread of \p Loops the current one of \p Block for what \p Call
/// does.
void announceThread(CallInst &Call, Value *Block, const ThreadLoops &Loops);

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_HOSTSYNC_H
