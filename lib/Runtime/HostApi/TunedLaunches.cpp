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

#include "Clock.h"
#include "Device.h"
#include "LauncherLink.h"
#include "Message.h"
#include "Shortage.h"

#include <cstring>
#include <memory>

using namespace mneme;

__attribute__((constructor)) static void checkPackages() {
  TunedKernels::get().startIfStrict();
}

/// May throw.
void Device::findTuned(HostKernel &K, const DeviceModule::Key &Module) {
  // A recorder takes precedence: it records the application's own kernels.
  if (!TunedKernels::get().isActive() ||
      !LauncherLink::get().directory().empty())
    return;
  std::vector<MnemePackageArg> Args;
  for (const KernelArg &A : K.Args)
    Args.push_back({A.Size, A.Offset});
  K.Module = Module;
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
    New.ContextSize = F.HostContextSize;
    New.Ordered = F.HostOrdered;
    memcpy(New.ClusterDim, K.Host.ClusterDim, sizeof(New.ClusterDim));
    if (placeSegments(R, Error) && !isSane(New))
      Error = "the package describes code that the host device does not have";
  }
  if (Error.empty()) {
    Code = &(K.Variants[&V] = New);
    return Fallback::None;
  }
  TunedKernels::get().fail(V, Error.c_str());
  return Fallback::Load;
}

/// The allocation, variable or registered memory that an address lies in.
bool Device::findExtent(uint64_t Address, MemoryExtent &E) {
  std::lock_guard<std::mutex> Guard(MemoryLock);
  if (const Arena::Allocation *A = Memory.find(Address)) {
    E = {A->Address, A->Address + A->Size, /*HasOwnPages=*/true,
         A->Kind == KindVariable};
    return true;
  }
  auto I = findRegistered(Address);
  if (I == RegisteredHost.end())
    return false;
  E = {I->first, I->first + I->second.Size, I->second.HasOwnPages};
  return true;
}

/// Returns the variant for a launch. Otherwise, counts the launch and returns
/// null.
TunedVariant *Device::selectTuned(HostKernel &K, const LaunchShape &Shape,
                                  const MnemeHostLaunch &L, LaunchPlan &Plan) {
  static constexpr DeployDevice Host = {
      MNEME_IMAGE_OBJECT,
      0,
      "host",
      DeviceLimits::MaxThreadsPerBlock,
      {DeviceLimits::MaxThreadsPerBlock, DeviceLimits::MaxThreadsPerBlock,
       DeviceLimits::MaxBlockZ},
      {DeviceLimits::MaxGridX, DeviceLimits::MaxGridYZ,
       DeviceLimits::MaxGridYZ},
      DeviceLimits::SharedPerBlockOptin,
      /*ArchName=*/nullptr,
      [](uint64_t Address, MemoryExtent &E) {
        return Device::get().findExtent(Address, E);
      }};
  TunedKernel *Tuned = K.Tuned->Kernel;
  if (!Tuned) {
    ++K.Tuned->Unmatched;
    return nullptr;
  }
  if (K.Tuned->Problem != Fallback::None) {
    countFallback(Tuned->FellBack, K.Tuned->Problem);
    return nullptr;
  }
  LaunchFacts Facts = {{L.Grid[0], L.Grid[1], L.Grid[2]},
                       {L.Block[0], L.Block[1], L.Block[2]},
                       L.DynamicShared,
                       Shape.Cooperative,
                       L.Args,
                       {Shape.Cluster.X, Shape.Cluster.Y, Shape.Cluster.Z}};
  return TunedKernels::get().select(*Tuned, Facts, Host, Plan);
}

/// Returns true unless a cooperative launch needs more blocks at a time than
/// there is room for.
bool Device::fits(const MnemeHostKernel &Code, const LaunchShape &Shape,
                  const MnemeHostLaunch &L) const {
  unsigned BlockSize = L.Block[0] * L.Block[1] * L.Block[2];
  uint64_t Blocks = uint64_t(L.Grid[0]) * L.Grid[1] * L.Grid[2];
  return !Shape.Cooperative ||
         Blocks <=
             uint64_t(Cores) *
                 maxActiveBlocks(Code.StaticShared, BlockSize, L.DynamicShared);
}

/// Runs a variant instead of the kernel, or the kernel itself. Runs both to
/// verify the launch.
CudaError Device::runTuned(HostKernel &K, const LaunchShape &Shape,
                           const MnemeHostLaunch &L) {
  TunedKernels &Kernels = TunedKernels::get();
  LaunchPlan Plan;
  TunedVariant *V = selectTuned(K, Shape, L, Plan);
  if (!V)
    return runJit(K, Shape, L);
  auto Refuse = [&](Fallback F) {
    countFallback(V->FellBack, F);
    return run(K, L);
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
  if (!fits(*Code, Shape, Changed))
    return Refuse(Fallback::Resources);
  CudaError E;
  VerifyReason Why = Kernels.reasonToVerify(*V);
  if (Why != VerifyReason::None &&
      verifyTuned(K, *V, Why, *Code, Changed, L, E))
    return E;
  uint64_t Start = 0, StartCPU = 0;
  auto AddTime = [&] {
    uint64_t Time = now() - Start;
    Kernels.addTime(*V, Time, cpuTime() - StartCPU);
  };
  if (Kernels.timed() != TimedCode::None) {
    ++V->Matched;
    StartCPU = cpuTime();
    Start = now();
  }
  if (Kernels.timed() == TimedCode::Plain) {
    E = run(K, L);
    if (!E)
      AddTime();
    return E;
  }
  MnemeHostResult Result = {};
  int Status = mneme_host_launch(Code, &Changed, &Result);
  if (Kernels.timed() == TimedCode::Tuned && Status == MNEME_HOST_OK)
    AddTime();
  Result.Message[sizeof(Result.Message) - 1] = 0;
  if (Status == MNEME_HOST_INVALID_CONFIG) {
    E = Refuse(Fallback::Refused);
    // A launch that is invalid for the application's own kernel, too, says
    // nothing about the variant.
    if (E != cudaErrorInvalidConfiguration)
      Kernels.fail(*V, Result.Message);
    return E;
  }
  ++V->Served;
  Kernels.noteLaunch(*V);
  E = report(K, Changed, Result, Status);
  if (E)
    Kernels.noteFault(Result.Message);
  return E;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {
/// The arena, and registered memory, which the application may have freed.
class HostMemory final : public DeviceMemory {
public:
  bool read(void *To, uint64_t From, uint64_t Size) const override {
    return !mneme_host_copy(To, reinterpret_cast<const void *>(From), Size,
                            /*AsksHandlers=*/false);
  }
  bool write(uint64_t To, const void *From, uint64_t Size) const override {
    return !mneme_host_copy(reinterpret_cast<void *>(To), From, Size,
                            /*AsksHandlers=*/false);
  }
};
} // namespace

/// Returns the memory that a launch may change. With MemoryLock held. May
/// throw.
std::vector<MemoryRange> Device::findVerified(const TunedKernel &K,
                                              void **Args) {
  std::vector<MemoryRange> Found;
  for (const auto &[Address, A] : Memory.allocations()) {
    MemoryRange R = {Address, A.Size, ""};
    if (A.Kind == KindVariable) {
      auto *V = static_cast<const Variable *>(A.Owner);
      R.Size = V->Size;
      R.Name = "variable '" + V->Name + "'";
    }
    if (A.Kind != KindTexture && R.Size)
      Found.push_back(std::move(R));
  }
  for (const auto &[Address, M] : RegisteredHost)
    Found.push_back({Address, M.Size, ""});
  nameRanges(Found, wordsOf(K.Args, Args));
  return Found;
}

/// \returns true if the application's own kernel was run, with its error.
/// Otherwise, nothing was executed.
bool Device::verifyTuned(HostKernel &K, TunedVariant &V, VerifyReason Why,
                         const MnemeHostKernel &Code,
                         const MnemeHostLaunch &Changed,
                         const MnemeHostLaunch &L, CudaError &E) {
  TunedKernels &Kernels = TunedKernels::get();
  bool IsDone = false;
  Difference D;
  MnemeHostResult Tuned = {};
  auto RunTuned = [&] {
    int Status = mneme_host_launch(&Code, &Changed, &Tuned);
    Tuned.Message[sizeof(Tuned.Message) - 1] = 0;
    return !Status ? Verdict::Same
           : Status == MNEME_HOST_INVALID_CONFIG ||
                   Status == MNEME_HOST_OUT_OF_MEMORY
               ? Verdict::Refused
               : Verdict::Faulted;
  };
  auto RunOwn = [&] {
    IsDone = true;
    E = run(K, L);
    return !E;
  };
  Uncancelled Here;
  HostMemory Access;
  Verdict Result = Verdict::Memory;
  {
    // Other threads must not change memory meanwhile.
    std::lock_guard<std::shared_mutex> CopyGuard(CopyLock);
    std::lock_guard<std::mutex> Guard(MemoryLock);
    attempt([&] {
      LaunchComparison C(Access, findVerified(*V.Of, L.Args),
                         Kernels.verifyPolicy().limit());
      Result = C.verify(RunTuned, RunOwn, D);
    });
  }
  Kernels.finishVerification(V, Why, Result, D, Tuned.Message);
  return IsDone;
}
