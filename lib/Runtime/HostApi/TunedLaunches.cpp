//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches that packages serve: the launcher links their objects for the
/// addresses of the process.
///
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "LauncherLink.h"
#include "Message.h"
#include "Shortage.h"

#include <cstring>
#include <memory>

using namespace mneme;

/// May throw.
void Device::findTuned(HostKernel &K, const DeviceModule &Code) {
  // A recorder takes precedence: it records the application's own kernels.
  if (!TunedKernels::get().isActive() ||
      !LauncherLink::get().directory().empty())
    return;
  std::vector<MnemePackageArg> Args;
  for (const KernelArg &A : K.Args)
    Args.push_back({A.Size, A.Offset});
  K.Module = Code.key();
  K.Tuned = &TunedKernels::get().addStub(K.StaticHash, Args);
}

/// Sets \p Code to the code of a variant. May throw, with nothing done.
Fallback Device::loadTuned(HostKernel &K, TunedVariant &V,
                           MnemeHostKernel *&Code) {
  auto Known = K.Variants.find(&V);
  if (Known != K.Variants.end()) {
    Code = &Known->second;
    return Fallback::None;
  }
  const Package &P = *V.Tables.From;
  const MnemePackageVariant &F = *V.Tables.Fields;
  std::unique_ptr<char[]> Image;
  std::string Error = P.readImage(F, Image);
  if (!Error.empty())
    Error = "its package " + Error;
  std::string Answer;
  MnemeHostKernel New = {};
  if (Error.empty()) {
    WireWriter Request;
    Request.str(K.Module.first);
    Request.u32(K.Module.second);
    Request.str(P.text(F.ArchNameOffset));
    Request.str(P.text(F.EntryOffset));
    Request.bytes(Image.get(), F.ImageSize);
    constexpr uint64_t MaxSegments = 1u << 30;
    Error = LauncherLink::get().request(MNEME_WIRE_LOAD_OBJECT, Request, Answer,
                                        MaxSegments);
  }
  if (Error.empty()) {
    WireReader R = LauncherLink::reader(Answer);
    New.Name = K.Name.c_str();
    New.Entry = reinterpret_cast<void *>(R.u64());
    New.Strategy = F.HostStrategy;
    New.StaticShared = F.StaticShared;
    New.WaveSize = F.HostWaveSize;
    New.Cooperative = F.HostCooperative;
    New.ContextSize = F.HostContextSize;
    New.Ordered = F.HostOrdered;
    if (placeSegments(R, Error) && !isSane(New))
      Error = "the package describes code that the host device does not have";
  }
  if (Error.empty()) {
    Code = &(K.Variants[&V] = New);
    return Fallback::None;
  }
  std::string Text = "mneme: warning: kernel '" + K.Name +
                     "': the application's own is launched: " + Error + "\n";
  if (!V.Failures.fetch_add(1))
    tell("%s", Text.c_str());
  return Fallback::Load;
}

/// Runs a variant instead of the kernel. \returns false, with nothing executed,
/// if the application's own has to run. \p Timed is set to the variant that the
/// time of that launch is for.
bool Device::runTuned(HostKernel &K, const LaunchShape &Shape,
                      const MnemeHostLaunch &L, CudaError &E,
                      TunedVariant *&Timed) {
  static constexpr DeployDevice Host = {
      MNEME_IMAGE_OBJECT,
      0,
      "host",
      DeviceLimits::MaxThreadsPerBlock,
      {DeviceLimits::MaxThreadsPerBlock, DeviceLimits::MaxThreadsPerBlock,
       DeviceLimits::MaxBlockZ},
      {DeviceLimits::MaxGridX, DeviceLimits::MaxGridYZ,
       DeviceLimits::MaxGridYZ},
      DeviceLimits::SharedPerBlockOptin};
  TunedKernels &Kernels = TunedKernels::get();
  TunedKernel *Tuned = K.Tuned->Kernel;
  if (!Tuned) {
    ++K.Tuned->Unmatched;
    return false;
  }
  if (K.Tuned->Problem != Fallback::None) {
    countFallback(Tuned->FellBack, K.Tuned->Problem);
    return false;
  }
  LaunchFacts Facts = {{L.Grid[0], L.Grid[1], L.Grid[2]},
                       {L.Block[0], L.Block[1], L.Block[2]},
                       L.DynamicShared,
                       Shape.Cooperative,
                       /*HasClusters=*/false,
                       L.Args};
  LaunchPlan Plan;
  TunedVariant *V = Kernels.select(*Tuned, Facts, Host, Plan);
  if (!V)
    return false;
  auto Refuse = [&](Fallback F) {
    countFallback(V->FellBack, F);
    return false;
  };
  MnemeHostKernel *Code = nullptr;
  Fallback F = Fallback::OutOfMemory;
  attempt([&] { F = loadTuned(K, *V, Code); });
  if (F != Fallback::None)
    return Refuse(F);
  MnemeHostLaunch Changed = L;
  memcpy(Changed.Grid, Plan.Grid, sizeof(Plan.Grid));
  memcpy(Changed.Block, Plan.Block, sizeof(Plan.Block));
  Changed.DynamicShared = Plan.DynamicShared;
  unsigned BlockSize = Plan.Block[0] * Plan.Block[1] * Plan.Block[2];
  uint64_t Blocks = uint64_t(Plan.Grid[0]) * Plan.Grid[1] * Plan.Grid[2];
  if (Shape.Cooperative &&
      Blocks > uint64_t(Cores) * maxActiveBlocks(Code->StaticShared, BlockSize,
                                                 Plan.DynamicShared))
    return Refuse(Fallback::Resources);
  if (Kernels.timed() != TimedCode::None)
    ++V->Matched;
  if (Kernels.timed() == TimedCode::Plain) {
    Timed = V;
    return false;
  }
  MnemeHostResult Result = {};
  uint64_t Start = Recorder::now();
  int Status = mneme_host_launch(Code, &Changed, &Result);
  if (Kernels.timed() == TimedCode::Tuned && Status == MNEME_HOST_OK)
    Kernels.addTime(*V, Recorder::now() - Start);
  if (Status == MNEME_HOST_INVALID_CONFIG) {
    ++V->Failures;
    return Refuse(Fallback::Refused);
  }
  ++V->Served;
  E = report(K, Changed, Result, Status);
  return true;
}
