//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Images that use variables of the application. Objects with the same code
/// have separate variables, so each object has an image of its own.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDADEPLOY_BOUNDIMAGE_H
#define MNEME_LIB_RUNTIME_CUDADEPLOY_BOUNDIMAGE_H

#include "TunedKernels.h"
#include "VariableWrites.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mneme {

/// Returns the address of a variable on the current device, from the CUDA
/// runtime of the object with the slots \p Object; null if that does not know
/// it. The runtime's last error stays as it was.
void *findVariable(const MnemeHook *Object, const void *Shadow);

/// A variable of the application that an image uses.
struct ImageVariable {
  std::string Name;
  uint64_t Size; ///< Bytes.
  uint64_t Slot; ///< In MNEME_VARIABLE_SLOTS, or MNEME_VARIABLE_COPY.
};

/// An image for the variables of one loaded object. Lives as long as the
/// process.
class BoundImage {
public:
  static constexpr int MaxDevices = 64;

  BoundImage(std::vector<ImageVariable> Variables, DeviceModule Module)
      : Variables(std::move(Variables)), Module(std::move(Module)) {}

  /// Returns the variables that guards list. May throw.
  static std::vector<ImageVariable> listVariables(const TunedVariant &V);
  /// Returns the image of \p V for the object of \p Stub; null if there is
  /// none.
  static BoundImage *find(const TunedVariant &V, const TunedStub &Stub);
  /// Visits all images of \p V.
  template <typename Fn> static void forEach(const TunedVariant &V, Fn Visit) {
    auto *I = static_cast<BoundImage *>(V.Bound.load());
    for (; I; I = I->Next)
      Visit(*I);
  }
  CUkernel code() const { return Code; }
  bool isPrepared(int Device) const {
    return On[Device].load(std::memory_order_acquire);
  }
  bool hasCopies() const { return !Copied.empty(); }

  // By one thread at a time. These may throw, with nothing done.

  /// Adds the image to those of its variant.
  static void add(TunedVariant &V, std::unique_ptr<BoundImage> New);
  /// Finds the variables on the current device. \returns an error message;
  /// empty on success.
  std::string prepare(const CudaDriver &Driver, int Device);
  /// After \p Device was reset.
  void forget(int Device) { On[Device] = nullptr; }

  /// Before a launch in \p S: brings the image's copies, and the addresses that
  /// it has, up to date for that launch. \p IsCaptured: for each launch of a
  /// graph.
  CUresult refresh(const CudaDriver &Driver, int Device, CUstream S,
                   bool IsCaptured);
  /// Returns true if nothing is left to do before a launch on \p Device.
  bool isFresh(int Device) const;
  /// Returns true if \p Address is that of a byte of the application's
  /// variables. The image is prepared.
  bool hasVariableAt(CUdeviceptr Address, int Device) const;
  /// The variables that a kernel may write. May throw.
  void addMemory(int Device, std::vector<MemoryRange> &Memory) const;

  void setLibrary(CUlibrary L, CUkernel K) {
    Library = L;
    Code = K;
  }

private:
  struct Part {
    CUdeviceptr Own;  ///< In the image.
    CUdeviceptr Apps; ///< In the application.
    uint64_t Size;
    std::string Name;
  };
  struct DeviceState {
    std::vector<Part> Slots; ///< Own is that of the slot.
    std::vector<Part> Copies;
    /// All of the application's variables: addresses and sizes.
    std::vector<std::pair<CUdeviceptr, uint64_t>> Apps;
    std::mutex Lock;
    CUevent Done = nullptr; ///< After a refresh that began at DoneAt.
    uint64_t DoneAt = 0;
    bool IsPending = false;
    /// The generation that all streams see.
    std::atomic<uint64_t> FreshAt{0};
  };
  uint64_t generation() const;
  CUresult update(const CudaDriver &Driver, const DeviceState &State,
                  CUstream S) const;

  const std::vector<ImageVariable> Variables;
  const DeviceModule Module; ///< Of the application's kernel.
  CUlibrary Library = nullptr;
  CUkernel Code = nullptr;
  BoundImage *Next = nullptr;
  bool IsBound = false; ///< Copied is known.
  std::vector<WrittenVariable *> Copied;
  std::array<std::atomic<DeviceState *>, MaxDevices> On{};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CUDADEPLOY_BOUNDIMAGE_H
