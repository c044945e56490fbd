//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverImages.h"
#include "Shortage.h"


using namespace mneme;

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

const std::string &LoadedImage::digest() {
  std::call_once(Hashed, [this] { Digest = digestOfImage(Data, Size); });
  return Digest;
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

void DriverImages::add(CodeOwner O, std::shared_ptr<LoadedImage> Image) {
  std::lock_guard<std::mutex> Guard(Lock);
  attempt([&] { Owners[O.handle()] = {std::move(Image), O}; });
  ++Generation;
}

/// May throw.
void DriverImages::addFunction(const void *Handle, Function F) {
  std::lock_guard<std::mutex> Guard(Lock);
  Function &Known = Functions[Handle];
  if (Known.Owner != F.Owner || Known.Name != F.Name)
    ++Generation;
  Known = std::move(F);
}

void DriverImages::addFunction(const void *Handle, const void *Owner,
                               const char *Name, bool IsKernel) {
  if (!TapState::Forked && Name)
    attempt([&] { addFunction(Handle, {Owner, Name, IsKernel}); });
}

void DriverImages::noteImage(CodeOwner O, const void *Image, bool IsKept) {
  if (TapState::Forked || !Image)
    return;
  attempt([&] {
    auto *Data = static_cast<const char *>(unwrapImage(Image));
    if (size_t Size = sizeOfImage(Data))
      add(O, IsKept ? std::make_shared<LoadedImage>(Data, Size)
                    : std::make_shared<LoadedImage>(std::string(Data, Size)));
  });
}

void DriverImages::noteFile(CodeOwner O, const char *Path) {
  if (TapState::Forked || !Path)
    return;
  attempt([&] {
    std::string Bytes = readImageFile(Path);
    if (!Bytes.empty())
      add(O, std::make_shared<LoadedImage>(std::move(Bytes)));
  });
}

void DriverImages::noteModuleOfLibrary(CUmodule M, CUlibrary L) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = Owners.find(L);
  if (I != Owners.end())
    attempt([&] { Owners[M] = {I->second.Image, M}; });
}

void DriverImages::noteFunctionOfKernel(CUfunction F, CUkernel K) {
  if (TapState::Forked)
    return;
  attempt([&] {
    Function Known;
    {
      std::lock_guard<std::mutex> Guard(Lock);
      auto I = Functions.find(K);
      if (I == Functions.end())
        return;
      Known = I->second;
    }
    Known.IsKernel = false;
    addFunction(F, std::move(Known));
  });
}

void DriverImages::forget(const void *Owner) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  Owners.erase(Owner);
  for (auto I = Functions.begin(); I != Functions.end();)
    I = I->second.Owner == Owner ? Functions.erase(I) : std::next(I);
  ++Generation;
}

void DriverImages::noteStub(CUfunction F, const CudaRuntime &R,
                            const void *Stub) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  attempt([&] { Stubs[F] = {&R, Stub}; });
  HasStubs = !Stubs.empty();
}

void DriverImages::forgetStubs() {
  std::lock_guard<std::mutex> Guard(Lock);
  Stubs.clear();
  HasStubs = false;
}

bool DriverImages::findStub(const void *F, FunctionStub &S) {
  if (!HasStubs || TapState::Forked)
    return false;
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = Stubs.find(F);
  if (I == Stubs.end())
    return false;
  S = I->second;
  return true;
}

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

/// Asks the driver about a handle that no call has returned to the program, as
/// far as Mneme has seen. Needs the lock. May throw.
bool DriverImages::askDriver(const void *Handle, Function &F) {
  if (!Driver)
    return false;
  auto Asked = static_cast<CUfunction>(const_cast<void *>(Handle));
  CUmodule M = nullptr;
  const char *Name = nullptr;
  if (!Driver->FuncGetModule || !Driver->FuncGetName ||
      Driver->FuncGetModule(&M, Asked) || Driver->FuncGetName(&Name, Asked) ||
      !Name || !Owners.count(M))
    return false;
  F = {M, Name, false};
  return true;
}

bool DriverImages::find(const void *Handle, DriverFunction &F) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = Functions.find(Handle);
  if (I == Functions.end()) {
    Function Found;
    if (!askDriver(Handle, Found))
      return false;
    I = Functions.emplace(Handle, std::move(Found)).first;
  }
  auto O = Owners.find(I->second.Owner);
  if (O == Owners.end())
    return false;
  F = {O->second.Image, I->second.Name, O->second.Owner, I->second.IsKernel};
  return true;
}

CUresult DriverImages::findVariable(const DriverFunction &F,
                                    const std::string &Name,
                                    CUdeviceptr &Address, size_t &Size) const {
  if (CUmodule M = F.Owner.Module)
    return Driver->ModuleGetGlobal(&Address, &Size, M, Name.c_str());
  return Driver->LibraryGetGlobal(&Address, &Size, F.Owner.Library,
                                  Name.c_str());
}
