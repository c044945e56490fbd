//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds and opens GPUs.
///
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace ::mneme;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Parses "cuda:1" or "offload". \returns false if \p Name is neither.
static bool parseDeviceName(StringRef Name, StringRef &Kind,
                            unsigned &Ordinal) {
  auto [Before, After] = Name.split(':');
  Kind = Before;
  Ordinal = 0;
  if (Kind != "cuda" && Kind != "offload")
    return false;
  return !Name.contains(':') || !After.getAsInteger(10, Ordinal);
}

bool llvm::mneme::isGPUDeviceName(StringRef Name) {
  StringRef Kind;
  unsigned Ordinal;
  return parseDeviceName(Name, Kind, Ordinal);
}

namespace {
struct CudaArch {
  unsigned Major, Minor;
  char Suffix; ///< 'a', 'f' or 0.
};
} // namespace

static std::optional<CudaArch> parseArch(StringRef Arch) {
  CudaArch A = {0, 0, 0};
  unsigned Number = 0;
  if (!Arch.consume_front("sm_") || Arch.consumeInteger(10, Number))
    return std::nullopt;
  if (Arch == "a" || Arch == "f")
    A.Suffix = Arch[0];
  else if (!Arch.empty())
    return std::nullopt;
  A.Major = Number / 10;
  A.Minor = Number % 10;
  return A;
}

bool llvm::mneme::isArchCompatible(StringRef CodeArch, StringRef DeviceArch) {
  std::optional<CudaArch> Code = parseArch(CodeArch);
  std::optional<CudaArch> Device = parseArch(DeviceArch);
  if (!Code || !Device)
    return !CodeArch.empty() && CodeArch == DeviceArch;
  if (Code->Major != Device->Major)
    return false;
  // Code for a single architecture (sm_90a) does not run on its successors;
  // code for a family (sm_100f) does.
  return Code->Suffix == 'a' ? Code->Minor == Device->Minor
                             : Code->Minor <= Device->Minor;
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

/// Formats 13000 as "13.0".
static std::string formatVersion(int Version) {
  return (Twine(Version / 1000) + "." + Twine(Version % 1000 / 10)).str();
}

Expected<const CudaDriver *>
llvm::mneme::startCudaDriver(unsigned &NumDevices) {
  // Older drivers reject the machine code of the assemblers that LLVM 22 works
  // with.
  constexpr int OldestVersion = 12000;
  std::string Text;
  const CudaDriver *Driver = CudaDriver::load(Text);
  if (!Driver)
    return createStringError(Text);
  int Version = 0;
  if (!Driver->DriverGetVersion(&Version) && Version < OldestVersion)
    return createStringError("the CUDA driver is too old: it supports CUDA " +
                             formatVersion(Version) + ", and " +
                             formatVersion(OldestVersion) + " is needed");
  int Count = 0;
  CUresult R = Driver->Init(0);
  if (!R)
    R = Driver->DeviceGetCount(&Count);
  if (R == CUDA_ERROR_NO_DEVICE || (!R && Count <= 0))
    return createStringError("the CUDA driver finds no device");
  if (R)
    return createStringError("the CUDA driver cannot be initialized: " +
                             Driver->describe(R));
  NumDevices = Count;
  return Driver;
}

/// Formats as nvidia-smi does: "GPU-01234567-89ab-...".
static std::string formatUUID(ArrayRef<uint8_t> Bytes) {
  std::string Text = "GPU-";
  for (size_t I = 0; I != Bytes.size(); ++I) {
    if (I == 4 || I == 6 || I == 8 || I == 10)
      Text += '-';
    Text += toHex(Bytes.slice(I, 1), /*LowerCase=*/true);
  }
  return Text;
}

Expected<GPUInfo> llvm::mneme::queryGPU(const CudaDriver &Driver,
                                        unsigned Ordinal) {
  // CU_DEVICE_ATTRIBUTE_*
  enum {
    ClockRate = 13,
    MultiprocessorCount = 16,
    L2CacheSize = 38,
    MaxThreadsPerMultiprocessor = 39,
    ComputeCapabilityMajor = 75,
    ComputeCapabilityMinor = 76,
    MaxSharedMemoryPerBlockOptin = 97,
    MaxBlocksPerMultiprocessor = 106,
  };
  CUdevice Device = 0;
  if (CUresult R = Driver.DeviceGet(&Device, Ordinal))
    return createStringError("there is no CUDA device " + Twine(Ordinal) +
                             ": " + Driver.describe(R));
  auto Attribute = [&](int Which) -> unsigned {
    int Value = 0;
    return Driver.DeviceGetAttribute(&Value, Which, Device) || Value < 0
               ? 0
               : Value;
  };
  GPUInfo Info;
  char Name[256] = "";
  if (!Driver.DeviceGetName(Name, sizeof(Name) - 1, Device))
    Info.Name = Name;
  unsigned Major = Attribute(ComputeCapabilityMajor);
  if (!Major)
    return createStringError(
        "the CUDA driver does not report the architecture of device " +
        Twine(Ordinal));
  Info.Arch =
      ("sm_" + Twine(Major) + Twine(Attribute(ComputeCapabilityMinor))).str();
  int Version = 0;
  if (!Driver.DriverGetVersion(&Version))
    Info.Driver = formatVersion(Version);
  uint8_t UUID[16] = {};
  if (!Driver.DeviceGetUuid(UUID, Device))
    Info.UUID = formatUUID(UUID);
  size_t Bytes = 0;
  if (!Driver.DeviceTotalMem(&Bytes, Device))
    Info.MemoryBytes = Bytes;
  Info.CacheBytes = Attribute(L2CacheSize);
  Info.Multiprocessors = Attribute(MultiprocessorCount);
  Info.ThreadsPerMultiprocessor = Attribute(MaxThreadsPerMultiprocessor);
  Info.BlocksPerMultiprocessor = Attribute(MaxBlocksPerMultiprocessor);
  Info.SharedPerBlock = Attribute(MaxSharedMemoryPerBlockOptin);
  Info.ClockMHz = Attribute(ClockRate) / 1000; // of kHz
  return Info;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

Expected<std::vector<GPUDescription>> llvm::mneme::findGPUs() {
  unsigned Count = 0;
  Expected<const CudaDriver *> Driver = startCudaDriver(Count);
  if (!Driver)
    return Driver.takeError();
  std::vector<GPUDescription> Found;
  Error Unusable = Error::success();
  for (unsigned I = 0; I != Count; ++I) {
    Expected<GPUInfo> Info = queryGPU(**Driver, I);
    if (Info)
      Found.push_back({("cuda:" + Twine(I)).str(), std::move(*Info)});
    else
      Unusable = joinErrors(std::move(Unusable), Info.takeError());
  }
  // A broken GPU does not prevent the use of others.
  if (Found.empty())
    return Unusable;
  consumeError(std::move(Unusable));
  return Found;
}

Expected<std::unique_ptr<GPUDevice>>
llvm::mneme::createGPUDevice(StringRef Name) {
  StringRef Kind;
  unsigned Ordinal;
  if (!parseDeviceName(Name, Kind, Ordinal))
    return createStringError("'" + Name + "' is not the name of a GPU");
  unsigned Count = 0;
  Expected<const CudaDriver *> Driver = startCudaDriver(Count);
  if (!Driver)
    return Driver.takeError();
  if (Ordinal >= Count)
    return createStringError("there is no device '" + Name + "': the CUDA " +
                             "driver finds " + Twine(Count));
  return CudaDevice::create(**Driver, Ordinal,
                            (Kind + ":" + Twine(Ordinal)).str());
}
