//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Libraries of the CUDA runtime on the host device. The launcher compiles
/// their kernels from LLVM IR: registered for the image, or the image itself.
///
//===----------------------------------------------------------------------===//

#include "CudaApi.h"
#include "ImageBytes.h"
#include "Message.h"
#include "Shortage.h"

#include <algorithm>
#include <unistd.h>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Adds the kernels and variables of one IR. Prints why that is impossible. May
/// throw.
CudaError Device::addLibraryCode(Library &L, const RegisteredIR *IR) {
  static const std::string None;
  const std::string &Text = IR ? IR->IR : None;
  const std::string &Options = IR ? IR->Options : None;
  std::string Digests = L.Digest + digestOfImage(Text.data(), Text.size()) +
                        digestOfImage(Options.data(), Options.size());
  std::string Hash = digestOfImage(Digests.data(), Digests.size());
  DeviceModule::Key Key = {Hash, L.Number};
  // The same IR may be registered for several kernels.
  if (std::any_of(L.Codes.begin(), L.Codes.end(),
                  [&](const LibraryCode &C) { return C.Key == Key; }))
    return cudaSuccess;
  LibraryFacts Facts;
  std::string Error = bringLibrary({Hash, &L.Image, &Text, &Options}, Facts);
  if (!Error.empty()) {
    tell("mneme: error: cannot load an image: %s\n", Error.c_str());
    return cudaErrorNoKernelImageForDevice;
  }
  L.Codes.push_back({IR, Key, Facts.Payload, nullptr});
  Module *M = addModule(Key, "", Facts.Variables);
  L.Codes.back().Loaded = M;
  if (!M->Error.empty()) {
    tell("mneme: error: cannot load an image: %s\n", M->Error.c_str());
    return cudaErrorInitializationError;
  }
  // A kernel has the IR that is registered for its name.
  for (std::string &Name : Facts.Kernels)
    if (!IR || RegisteredIRs::get().find(L.Digest, Name) == IR)
      L.Kernels.push_back({&L.Codes.back(), std::move(Name)});
  return cudaSuccess;
}

CudaError Device::loadLibrary(std::string Image, Library *&Result) {
  if (sticky())
    return sticky();
  if (Forked)
    return cudaErrorInitializationError;
  CudaError E = cudaErrorMemoryAllocation;
  std::unique_ptr<Library> L;
  bool IsDone = attempt([&] {
    L = std::make_unique<Library>();
    L->Image = std::move(Image);
    L->Digest = digestOfImage(L->Image.data(), L->Image.size());
    std::vector<const RegisteredIR *> All =
        RegisteredIRs::get().findAll(L->Digest);
    if (All.empty())
      All = {nullptr};
    std::lock_guard<std::mutex> Guard(LaunchLock);
    L->Number = ++NumLibraries;
    Library *Handle = L.get();
    for (const RegisteredIR *IR : All)
      if ((E = addLibraryCode(*L, IR)))
        return;
    Libraries[Handle] = std::move(L);
    Result = Handle;
  });
  if (!IsDone)
    E = cudaErrorMemoryAllocation;
  if (L)
    forgetCode(*L);
  return E;
}

/// Unloads the code of a library that nothing refers to.
void Device::forgetCode(const Library &L) {
  std::lock_guard<std::mutex> Guard(LaunchLock);
  for (const LibraryKernel &K : L.Kernels) {
    KernelsByStub.erase(&K);
    Kernels.erase({K.Code->Key.first, K.Code->Key.second, K.Name});
  }
  for (const LibraryCode &C : L.Codes) {
    if (C.Loaded)
      releaseVariables(*C.Loaded);
    Modules.erase(C.Key);
  }
}

CudaError Device::unloadLibrary(Library *L) {
  std::unique_ptr<Library> Owned;
  {
    std::lock_guard<std::mutex> Guard(LaunchLock);
    auto I = Libraries.find(L);
    if (I == Libraries.end())
      return cudaErrorInvalidResourceHandle;
    Owned = std::move(I->second);
    Libraries.erase(I);
  }
  forgetCode(*Owned);
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Kernels and variables
//===----------------------------------------------------------------------===//

/// Returns the kernel with this handle, compiled if it can be; null if \p
/// Handle is none of a library. With LaunchLock held. May throw.
HostKernel *Device::lookUpLibraryKernel(const void *Handle) {
  const LibraryKernel *Found = nullptr;
  for (const auto &[Key, L] : Libraries)
    for (const LibraryKernel &K : L->Kernels)
      if (&K == Handle)
        Found = &K;
  if (!Found)
    return nullptr;
  const LibraryCode &Code = *Found->Code;
  std::unique_ptr<HostKernel> &K =
      Kernels[{Code.Key.first, Code.Key.second, Found->Name}];
  if (!K) {
    auto New = std::make_unique<HostKernel>();
    New->Name = Found->Name;
    New->Error =
        loadCode({Code.Key, Code.Payload, Found->Name}, *Code.Loaded, *New);
    K = std::move(New);
  }
  return K.get();
}

/// Calls \p F for a loaded library, with LaunchLock held.
template <typename Fn> CudaError Device::withLibrary(Library *L, Fn F) {
  std::lock_guard<std::mutex> Guard(LaunchLock);
  if (!Libraries.count(L))
    return cudaErrorInvalidResourceHandle;
  CudaError E = cudaErrorMemoryAllocation;
  attempt([&] { E = F(*L); });
  return E;
}

CudaError Device::findLibraryKernel(Library *L, const char *Name,
                                    const void *&Handle) {
  return withLibrary(L, [&](Library &L) {
    auto I = std::find_if(L.Kernels.begin(), L.Kernels.end(),
                          [&](const auto &K) { return K.Name == Name; });
    if (I == L.Kernels.end()) {
      // Its machine code may define the kernel.
      if (L.Codes.front().IR)
        tell("mneme: error: kernel '%s': the IR that is registered for its "
             "image does not define it\n",
             Name);
      return cudaErrorSymbolNotFound;
    }
    Handle = &*I;
    return cudaSuccess;
  });
}

CudaError Device::listLibraryKernels(Library *L,
                                     std::vector<const void *> &Handles) {
  return withLibrary(L, [&](Library &L) {
    for (const LibraryKernel &K : L.Kernels)
      Handles.push_back(&K);
    return cudaSuccess;
  });
}

CudaError Device::findLibraryVariable(Library *L, const char *Name,
                                      Variable &V) {
  return withLibrary(L, [&](Library &L) {
    if (CudaError E = renewModules())
      return E;
    for (const LibraryCode &C : L.Codes) {
      auto I = C.Loaded->Variables.find(Name);
      if (I == C.Loaded->Variables.end())
        continue;
      V = I->second;
      return cudaSuccess;
    }
    return cudaErrorSymbolNotFound;
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Options of the vendor's compiler and loader have no meaning here.
#define LIBRARY_OPTIONS int *, void **, unsigned, int *, void **, unsigned

MNEME_API rt_cudaLibraryLoadData(Library **L, const void *Image,
                                 LIBRARY_OPTIONS) {
  if (!L || !Image)
    return done(cudaErrorInvalidValue);
  const void *Data = unwrapImage(Image);
  size_t Size = sizeOfImage(Data);
  if (!Size)
    return done(cudaErrorInvalidKernelImage);
  std::string Copy;
  if (!attempt([&] { Copy.assign(static_cast<const char *>(Data), Size); }))
    return done(cudaErrorMemoryAllocation);
  return done(Device::get().loadLibrary(std::move(Copy), *L));
}

MNEME_API rt_cudaLibraryLoadFromFile(Library **L, const char *Path,
                                     LIBRARY_OPTIONS) {
  if (!L || !Path)
    return done(cudaErrorInvalidValue);
  std::string Image;
  if (!attempt([&] { Image = readImageFile(Path); }))
    return done(cudaErrorMemoryAllocation);
  if (Image.empty())
    return done(access(Path, R_OK) ? cudaErrorFileNotFound
                                   : cudaErrorInvalidKernelImage);
  return done(Device::get().loadLibrary(std::move(Image), *L));
}

MNEME_API rt_cudaLibraryUnload(Library *L) {
  return done(Device::get().unloadLibrary(L));
}

MNEME_API rt_cudaLibraryGetKernel(const void **Handle, Library *L,
                                  const char *Name) {
  if (!Handle || !Name)
    return done(cudaErrorInvalidValue);
  return done(Device::get().findLibraryKernel(L, Name, *Handle));
}

MNEME_API rt_cudaLibraryGetGlobal(void **Address, size_t *Size, Library *L,
                                  const char *Name) {
  if (!Name)
    return done(cudaErrorInvalidValue);
  Variable V;
  if (CudaError E = Device::get().findLibraryVariable(L, Name, V))
    return done(E);
  if (Address)
    *Address = reinterpret_cast<void *>(V.Address);
  if (Size)
    *Size = V.Size;
  return done(cudaSuccess);
}

MNEME_API rt_cudaLibraryGetKernelCount(unsigned *Count, Library *L) {
  std::vector<const void *> Handles;
  if (!Count)
    return done(cudaErrorInvalidValue);
  CudaError E = Device::get().listLibraryKernels(L, Handles);
  if (!E)
    *Count = Handles.size();
  return done(E);
}

MNEME_API rt_cudaLibraryEnumerateKernels(const void **To, unsigned Count,
                                         Library *L) {
  std::vector<const void *> Handles;
  if (!To || !Count)
    return done(cudaErrorInvalidValue);
  CudaError E = Device::get().listLibraryKernels(L, Handles);
  std::copy_n(Handles.begin(), std::min<size_t>(Count, Handles.size()), To);
  return done(E);
}

//===----------------------------------------------------------------------===//
// Registered IR
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"))) int
__mneme_register_ir(const void *Image, size_t ImageSize, const char *Symbol,
                    const void *IR, size_t IRSize, const char *Options) {
  return registerIR(Image, ImageSize, Symbol, IR, IRSize, Options);
}
