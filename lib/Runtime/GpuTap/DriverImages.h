//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The images that the program loads through the driver, and their kernels.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_DRIVERIMAGES_H
#define MNEME_LIB_RUNTIME_GPUTAP_DRIVERIMAGES_H

#include "CudaRuntime.h"
#include "ImageBytes.h"
#include "SessionDriver.h"
#include "TapState.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace mneme {

/// A cubin, PTX text or fat binary.
class LoadedImage {
public:
  /// A copy, as the program may free its image. May throw.
  explicit LoadedImage(std::string Copy)
      : Copy(std::move(Copy)), Data(this->Copy.data()),
        Size(this->Copy.size()) {}
  /// An image that the program keeps while it is loaded.
  LoadedImage(const char *Data, size_t Size) : Data(Data), Size(Size) {}
  LoadedImage(const LoadedImage &) = delete;
  LoadedImage &operator=(const LoadedImage &) = delete;

  const char *data() const { return Data; }
  size_t size() const { return Size; }
  /// XXH3-128, 16 bytes.
  const std::string &digest();

private:
  std::string Copy;
  const char *Data;
  size_t Size;
  std::once_flag Hashed;
  std::string Digest;
};

/// A module or a library of the driver.
struct CodeOwner {
  CodeOwner() = default;
  CodeOwner(CUmodule M) : Module(M) {}
  CodeOwner(CUlibrary L) : Library(L) {}
  const void *handle() const {
    return Module ? static_cast<const void *>(Module) : Library;
  }

  CUmodule Module = nullptr; ///< One of these two is not null.
  CUlibrary Library = nullptr;
};

/// A kernel of a loaded image.
struct DriverFunction {
  std::shared_ptr<LoadedImage> Image;
  std::string Name;
  CodeOwner Owner;
  bool IsKernel = false; ///< The handle is a CUkernel.
};

/// A kernel of the program itself.
struct FunctionStub {
  const CudaRuntime *Runtime;
  const void *Stub;
};

/// Has a lock of its own, which is taken under the session's: the driver loads
/// images while a launch is recorded. Thread-safe. Functions that note
/// something throw nothing; what they cannot note is unknown later.
class DriverImages {
public:
  explicit DriverImages(SessionDriver &Driver) : Driver(Driver) {}

  /// \p IsKept: the program keeps the image while the owner is loaded.
  void noteImage(CodeOwner O, const void *Image, bool IsKept);
  void noteFile(CodeOwner O, const char *Path);
  void noteModuleOfLibrary(CUmodule M, CUlibrary L);
  void noteFunction(CUfunction F, CUmodule M, const char *Name) {
    addFunction(F, M, Name, /*IsKernel=*/false);
  }
  void noteFunction(CUkernel K, CUlibrary L, const char *Name) {
    addFunction(K, L, Name, /*IsKernel=*/true);
  }
  void noteFunctionOfKernel(CUfunction F, CUkernel K);
  /// Before \p Owner, a module or a library, is unloaded.
  void forget(const void *Owner);
  /// The runtime has given \p F to the program for the launch stub of a kernel.
  void noteStub(CUfunction F, const CudaRuntime &R, const void *Stub);
  /// Before a context is destroyed, with the functions of stubs.
  void forgetStubs();
  /// \returns whether \p F is the function of a launch stub.
  bool findStub(const void *F, FunctionStub &S);

  /// Looks up a handle of a function or kernel. \returns false if its image is
  /// not known. May throw.
  bool find(const void *Handle, DriverFunction &F);
  /// The address and size of a variable on the current context's device.
  /// \returns the driver's error.
  CUresult findVariable(const DriverFunction &F, const std::string &Name,
                        CUdeviceptr &Address, size_t &Size) const;
  /// Changes whenever earlier results of find() may be outdated.
  unsigned generation() const { return Generation; }

private:
  struct LoadedCode {
    std::shared_ptr<LoadedImage> Image;
    CodeOwner Owner;
  };
  struct Function {
    const void *Owner;
    std::string Name;
    bool IsKernel;
  };

  void add(CodeOwner O, std::shared_ptr<LoadedImage> Image);
  void addFunction(const void *Handle, const void *Owner, const char *Name,
                   bool IsKernel);
  void addFunction(const void *Handle, Function F);
  bool askDriver(const void *Handle, Function &F);

  SessionDriver &Driver;
  std::mutex Lock;
  std::map<const void *, LoadedCode> Owners;
  std::map<const void *, Function> Functions;
  std::map<const void *, FunctionStub> Stubs;
  std::atomic<bool> HasStubs{false};
  std::atomic<unsigned> Generation{1};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_DRIVERIMAGES_H
