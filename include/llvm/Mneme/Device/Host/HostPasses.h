//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The steps of lowering device IR to the host, in order. Each is a module pass
/// with a textual name for mneme-pass-opt (HostPasses.def). Between steps, the
/// module contains placeholders: declarations named mneme.host.*, which are not
/// C identifiers and thus cannot clash with other symbols.
///
///   i32 @mneme.host.{tid,ntid,ctaid,nctaid}.{x,y,z}()
///   i32 @mneme.host.laneid()          i32 @mneme.host.warpid()
///   ptr @mneme.host.shared()          the block's shared memory
///   i32 @mneme.host.dynshared()       offset of dynamic shared memory in it
///   i32 @mneme.host.dynsize()         bytes of dynamic shared memory
///   ptr @mneme.host.implicitarg()     AMDGPU implicit arguments
///   ptr @mneme.host.frame()           the frame of matrix instructions, up to
///                                     mneme-host-intrinsics
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
/// "mneme-wave-size", "mneme-context-size", "mneme-reason", "mneme-ordered".
///
/// Instruction metadata: !mneme.shared marks a plain access that was a shared
/// memory atomic, which must not be vectorized across threads.
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

/// Registers the above passes in \p PB under their textual names.
void registerHostPasses(PassBuilder &PB);

/// Records a failure of a pass in the module, as passes cannot return errors:
/// named metadata !mneme.error = !{!"text"}.
void setLoweringError(Module &M, const Twine &Message);
Error takeLoweringError(Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_HOST_HOSTPASSES_H
