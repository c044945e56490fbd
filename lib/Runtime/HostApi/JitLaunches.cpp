//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches of kernels that the JIT compiles.
///
//===----------------------------------------------------------------------===//

#include "Clock.h"
#include "CodeImage.h"
#include "Device.h"
#include "Jit.h"
#include "JitKernel.h"
#include "LauncherLink.h"
#include "Shortage.h"

#include <cstring>
#include <memory>

using namespace mneme;

namespace {
/// Links code for the variables of a loaded module and the executor.
class HostKernelLoader final : public JitLoader, SymbolSource {
public:
  HostKernelLoader(std::string Name, const DeviceModule &Code, const Module &M)
      : Name(std::move(Name)), Payloads(Code.Payloads) {
    size_t Count = 0;
    const MnemeHostSymbol *Symbols = mneme_host_symbols(&Count);
    for (size_t I = 0; I != Count; ++I)
      Addresses[Symbols[I].Name] = Symbols[I].Address;
    for (const auto &[Symbol, V] : M.Variables)
      Addresses[Symbol] = reinterpret_cast<void *>(V.Address);
  }

  void *load(JitImage &Image, std::string &Error) override {
    if (Image.Host.Strategy > MNEME_HOST_FIBER ||
        (Image.Host.WaveSize != 32 && Image.Host.WaveSize != 64)) {
      Error = "it is for no strategy of the host device";
      return nullptr;
    }
    auto Code = std::make_unique<MnemeHostKernel>(Image.Host);
    char *Base = static_cast<char *>(loadCodeImage(Image, *this, Error));
    if (!Base)
      return nullptr;
    Code->Name = Name.c_str();
    Code->Entry = Base + Image.Entry;
    return Code.release();
  }
  bool read(void *To, const void *From, uint64_t Size) override {
    return !mneme_host_copy(To, From, Size, /*AsksHandlers=*/false);
  }
  std::vector<const MnemePayloadHeader *> payloads() override {
    return Payloads;
  }
  void *find(const std::string &Symbol) const override {
    auto Known = Addresses.find(Symbol);
    return Known == Addresses.end() ? nullptr : Known->second;
  }

private:
  std::string Name;
  std::vector<const MnemePayloadHeader *> Payloads;
  std::unordered_map<std::string, void *> Addresses;
};
} // namespace

/// May throw.
void Device::findJit(HostKernel &K, const void *Stub, const IndexEntry &Entry,
                     const DeviceModule &Code, const Module &M) {
  // A recorder takes precedence.
  if (!LauncherLink::get().directory().empty())
    return;
  // A variant has only the functions that the kernel mentions.
  if (!K.Obstacle.empty())
    return;
  JitRequest Q;
  if (describeJitKernel(Stub, Entry, Code, JitTarget::Host, Q))
    K.Jit = &Jit::get().add(std::make_unique<JitSite>(
        Jit::get(), std::move(Q),
        std::make_unique<HostKernelLoader>(Entry.Name, Code, M)));
}

/// Runs a variant instead of the kernel, or the kernel itself.
CudaError Device::runJit(HostKernel &K, const LaunchShape &Shape,
                         const MnemeHostLaunch &L) {
  if (!K.Jit || (!K.Args.empty() && !L.Args))
    return run(K, L);
  if (!Jit::get().isOn()) {
    K.Jit->count(JitReason::Disabled);
    return run(K, L);
  }
  JitLaunch Launch;
  Launch.Places = L.Args;
  memcpy(Launch.Grid, L.Grid, sizeof(L.Grid));
  memcpy(Launch.Block, L.Block, sizeof(L.Block));
  JitVariant *V = K.Jit->find(Launch);
  if (!V)
    return run(K, L);
  bool IsTimed = Jit::get().settings().Times;
  uint64_t Start = IsTimed ? now() : 0;
  if (IsTimed && K.Jit->isOwnTurn(*V)) {
    CudaError E = run(K, L);
    if (!E)
      K.Jit->addTime(*V, /*IsOwn=*/true, now() - Start);
    return E;
  }
  auto *Code = static_cast<const MnemeHostKernel *>(V->Code);
  MnemeHostResult Result = {};
  int Status = fits(*Code, Shape, L) ? mneme_host_launch(Code, &L, &Result)
                                     : MNEME_HOST_INVALID_CONFIG;
  if (Status == MNEME_HOST_INVALID_CONFIG) {
    K.Jit->fail(*V, JitReason::Launch, "");
    return run(K, L);
  }
  if (IsTimed && !Status)
    K.Jit->addTime(*V, /*IsOwn=*/false, now() - Start);
  return report(K, L, Result, Status);
}

void Device::visitVariables(const void *Stub, VariableCallback *OnVariable,
                            void *Data) {
  IndexEntry Entry;
  if (!Program::get().find(Stub, MNEME_INDEX_KERNEL, Entry))
    return;
  DeviceModule Code = Program::get().moduleOf(Entry);
  std::vector<Variable> Found;
  {
    std::lock_guard<std::mutex> Guard(LaunchLock);
    for (const auto &[Name, V] : loadModule(Code)->Variables)
      Found.push_back(V);
  }
  for (const Variable &V : Found) {
    IndexEntry Shadow;
    OnVariable(Data, V.Name.c_str(),
               Program::get().findShadow(Code, V.Name, Shadow),
               reinterpret_cast<const void *>(V.Address), V.Size);
  }
}

void mneme::visitVariables(const void *HostPtr, VariableCallback *OnVariable,
                           void *Data) {
  Device::get().visitVariables(HostPtr, OnVariable, Data);
}
