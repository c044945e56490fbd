//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The steps of lowering device IR to the host, in their order. Each is a
/// module pass with a textual name that mneme-pass-opt runs (HostPasses.def).
/// Between steps the module speaks in placeholders: declarations named
/// mneme.host.*, which have no C name, so nothing can clash with them.
///
///   i32 @mneme.host.{tid,ntid,ctaid,nctaid}.{x,y,z}()
///   i32 @mneme.host.laneid()          i32 @mneme.host.warpid()
///   ptr @mneme.host.shared()          the block's shared memory
///   i32 @mneme.host.dynshared()       offset of dynamic shared memory in it
///   i32 @mneme.host.dynsize()         bytes of dynamic shared memory
///   ptr @mneme.host.implicitarg()     AMDGPU implicit arguments
///   i64 @mneme.host.sync(i32 op, i32 mode, i64 mask, i64 value,
///                        i32 b, i32 c, i32 site)
///                                     op (MnemeHostOp), mode and site are
///                                     constants; sites number sync points in
///                                     program order
///   i64 @mneme.host.sync2()           Result2 of the sync just before it
///
/// Kernels under lowering carry the function attribute "mneme-kernel". Entry
/// functions carry "mneme-entry"="loop|region|coroutine|fiber" and are named
/// mneme.entry.<kernel>. Facts that must reach HostKernelInfo are string
/// function attributes of the kernel, then of the entry: "mneme-static-shared",
/// "mneme-wave-size", "mneme-context-size", "mneme-cooperative",
/// "mneme-reason", "mneme-ordered".
///
/// Two markers on instructions: !mneme.shared (a plain access that was a shared
/// memory atomic: must not be vectorized across threads).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_HOST_HOSTPASSES_H
#define LLVM_MNEME_DEVICE_HOST_HOSTPASSES_H

#include "llvm/IR/PassManager.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"

namespace llvm {
class PassBuilder;
namespace mneme {

#define HOST_PASS(NAME, CLASS, DESC)                                           \
  struct CLASS : PassInfoMixin<CLASS> {                                        \
    PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);              \
    static bool isRequired() { return true; }                                  \
  };
#include "llvm/Mneme/Device/Host/HostPasses.def"

/// Adds the passes above to \p PB under their textual names.
void registerHostPasses(PassBuilder &PB);

/// A pass that must give up says so in the module, since passes cannot return
/// errors: module flag-like named metadata !mneme.error = !{!"text"}.
void setLoweringError(Module &M, const Twine &Message);
Error takeLoweringError(Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_HOST_HOSTPASSES_H
