//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverKernels.h"
#include "ImageBytes.h"
#include "Shortage.h"
#include "TunedKernels.h"

#include <iterator>
#include <new>
#include <utility>

using namespace mneme;

DriverKernels &DriverKernels::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(DriverKernels) static char Storage[sizeof(DriverKernels)];
  static DriverKernels &K = *new (Storage) DriverKernels;
  return K;
}

void DriverKernels::noteImage(const void *Owner, const void *Image,
                              bool /*IsKept*/) {
  if (isRecording() || !Image)
    return;
  TunedKernels &Kernels = TunedKernels::get();
  Kernels.start();
  if (!Kernels.isActive())
    return;
  Kernels.noteKernels();
  attempt([&] {
    const void *Data = unwrapImage(Image);
    size_t Size = sizeOfImage(Data);
    if (!Size)
      return;
    std::string Digest = digestOfImage(Data, Size);
    std::lock_guard<std::mutex> Guard(Lock);
    Digests[Owner] = std::move(Digest);
  });
}

void DriverKernels::noteModuleOfLibrary(const void *Module,
                                        const void *Library) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = Digests.find(Library);
  if (I != Digests.end())
    attempt([&] { Digests[Module] = I->second; });
}

/// With the lock held. May throw.
void DriverKernels::add(const void *Handle, Function F) {
  auto [I, IsNew] = Functions.try_emplace(Handle, F);
  if (!IsNew && I->second.Stub == F.Stub)
    return;
  I->second = F;
  if (IsNew)
    Table.add(reinterpret_cast<uint64_t>(Handle), *F.Stub);
  else
    fillTable();
}

/// With the lock held. May throw.
void DriverKernels::fillTable() {
  Table.clear();
  for (const auto &[Handle, F] : Functions)
    Table.add(reinterpret_cast<uint64_t>(Handle), *F.Stub);
}

void DriverKernels::noteFunction(const void *Handle, const void *Owner,
                                 const char *Name) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto Image = Digests.find(Owner);
  if (!Name || Image == Digests.end())
    return;
  attempt([&] {
    if (TunedStub *Stub = TunedKernels::get().findInImage(Image->second, Name))
      add(Handle, {Owner, Stub});
  });
}

void DriverKernels::noteFunctionOfKernel(const void *Function,
                                         const void *Kernel) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = Functions.find(Kernel);
  if (I != Functions.end())
    attempt([&] { add(Function, I->second); });
}

void DriverKernels::forget(const void *Owner) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Digests.erase(Owner))
    return;
  // Handles of what is loaded next may be the same.
  for (auto I = Functions.begin(); I != Functions.end();)
    I = I->second.Owner == Owner ? Functions.erase(I) : std::next(I);
  attempt([&] { fillTable(); });
}
