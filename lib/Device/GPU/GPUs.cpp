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
#include "OffloadBackend.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Runtime/AMDProcessors.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace ::mneme;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Parses "cuda:1", "hip" or "offload". \returns false if \p Name is none.
static bool parseDeviceName(StringRef Name, StringRef &Kind,
                            unsigned &Ordinal) {
  auto [Before, After] = Name.split(':');
  Kind = Before;
  Ordinal = 0;
  if (Kind != "cuda" && Kind != "hip" && Kind != "offload")
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
  if (CodeArch.starts_with("gfx") && DeviceArch.starts_with("gfx"))
    return isForAMDDevice(CodeArch, DeviceArch);
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

Expected<const CudaDriver *>
llvm::mneme::startCudaDriver(bool IsHip, unsigned &NumDevices) {
  // Older drivers reject the machine code of the assemblers that LLVM 22 works
  // with.
  constexpr int OldestVersion = 12000;
  std::string Text, Name = IsHip ? "the HIP runtime" : "the CUDA driver";
  const CudaDriver *Driver =
      IsHip ? CudaDriver::loadHip(Text) : CudaDriver::load(Text);
  if (!Driver)
    return createStringError(Text);
  int Version = 0;
  if (!IsHip && !Driver->DriverGetVersion(&Version) && Version < OldestVersion)
    return createStringError("the CUDA driver is too old: it supports CUDA " +
                             Driver->describeVersion(Version) + ", and " +
                             Driver->describeVersion(OldestVersion) +
                             " is needed");
  int Count = 0;
  CUresult R = Driver->Init(0);
  if (!R)
    R = Driver->DeviceGetCount(&Count);
  // Without a GPU, HIP 5 knows of no device 0.
  if (R == CUDA_ERROR_NO_DEVICE || (!R && Count <= 0) ||
      (IsHip && R == CUDA_ERROR_INVALID_DEVICE))
    return createStringError(Name + " finds no device");
  if (R)
    return createStringError(Name +
                             " cannot be initialized: " + Driver->describe(R));
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
    MaxSharedMemoryPerBlock = 8,
    WarpSize = 10,
    ClockRate = 13,
    MultiprocessorCount = 16,
    L2CacheSize = 38,
    MaxThreadsPerMultiprocessor = 39,
    MaxSharedMemoryPerBlockOptin = 97,
    MaxBlocksPerMultiprocessor = 106,
  };
  CUdevice Device = 0;
  if (CUresult R = Driver.DeviceGet(&Device, Ordinal))
    return createStringError(Twine("there is no ") +
                             (Driver.IsHip ? "HIP" : "CUDA") + " device " +
                             Twine(Ordinal) + ": " + Driver.describe(R));
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
  Info.IsAMD = Driver.IsHip;
  Info.Arch = Driver.archOf(Device);
  if (Info.Arch.empty())
    return createStringError(
        Twine(Driver.IsHip ? "the HIP runtime" : "the CUDA driver") +
        " does not report the architecture of device " + Twine(Ordinal));
  int Version = 0;
  if (!Driver.DriverGetVersion(&Version))
    Info.Driver = Driver.describeVersion(Version);
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
  if (!Info.SharedPerBlock)
    Info.SharedPerBlock = Attribute(MaxSharedMemoryPerBlock);
  if (unsigned Lanes = Attribute(WarpSize))
    Info.WaveSize = Lanes;
  Info.ClockMHz = Attribute(ClockRate) / 1000; // of kHz
  return Info;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

/// \returns whether \p Problem of startCudaDriver() is a driver that does not
/// work, whose GPUs cannot be counted, rather than the lack of one.
static bool isBroken(StringRef Problem) {
  return !Problem.empty() && !Problem.starts_with("no CUDA driver") &&
         !Problem.starts_with("no HIP runtime") &&
         !Problem.ends_with("finds no device");
}

/// Adds the devices of one driver. liboffload numbers them from \p FirstOffload
/// on, which becomes that of the next driver. \returns why there is none.
static std::string findGPUsOf(bool IsHip, std::optional<unsigned> &FirstOffload,
                              std::vector<GPUDescription> &Found) {
  unsigned Count = 0;
  Expected<const CudaDriver *> Driver = startCudaDriver(IsHip, Count);
  if (!Driver) {
    std::string Problem = toString(Driver.takeError());
    if (isBroken(Problem))
      FirstOffload = std::nullopt;
    return Problem;
  }
  size_t Before = Found.size();
  Error Unusable = Error::success();
  for (unsigned I = 0; I != Count; ++I) {
    Expected<GPUInfo> Info = queryGPU(**Driver, I);
    if (!Info) {
      Unusable = joinErrors(std::move(Unusable), Info.takeError());
      continue;
    }
    Found.push_back({((IsHip ? "hip:" : "cuda:") + Twine(I)).str(),
                     FirstOffload && hasOffload()
                         ? ("offload:" + Twine(*FirstOffload + I)).str()
                         : "",
                     std::move(*Info)});
  }
  if (FirstOffload)
    *FirstOffload += Count;
  // A broken GPU does not prevent the use of others.
  if (Found.size() == Before)
    return toString(std::move(Unusable));
  consumeError(std::move(Unusable));
  return "";
}

/// \returns why neither driver has a device.
static Error noGPU(StringRef OfCuda, StringRef OfHip) {
  // Most machines have no HIP runtime, or one without a GPU for it, which is
  // not worth a word where CUDA has a problem.
  bool HasCuda = !OfCuda.starts_with("no CUDA driver");
  if (OfHip.starts_with("no HIP runtime") ||
      (HasCuda && OfHip.ends_with("finds no device")))
    return createStringError(OfCuda);
  return createStringError(OfCuda + "; " + OfHip);
}

Expected<std::vector<GPUDescription>> llvm::mneme::findGPUs(StringRef Kind) {
  std::vector<GPUDescription> Found;
  std::optional<unsigned> FirstOffload;
  if (!Kind.empty()) {
    std::string Problem = findGPUsOf(Kind == "hip", FirstOffload, Found);
    if (Found.empty())
      return createStringError(Problem);
    return Found;
  }
  FirstOffload = 0;
  std::string OfCuda = findGPUsOf(/*IsHip=*/false, FirstOffload, Found);
  std::string OfHip = findGPUsOf(/*IsHip=*/true, FirstOffload, Found);
  if (Found.empty())
    return noGPU(OfCuda, OfHip);
  return Found;
}

/// \returns "1", or "1 (offload:0)" for \p Count devices that liboffload
/// numbers from \p First on.
static std::string describeCount(bool IsOffload, unsigned First,
                                 unsigned Count) {
  std::string Text = std::to_string(Count);
  if (!IsOffload)
    return Text;
  Text += " (offload:" + std::to_string(First);
  if (Count > 1)
    Text += " to offload:" + std::to_string(First + Count - 1);
  return Text + ")";
}

Expected<std::unique_ptr<GPUDevice>>
llvm::mneme::createGPUDevice(StringRef Name) {
  StringRef Kind;
  unsigned Ordinal;
  if (!parseDeviceName(Name, Kind, Ordinal))
    return createStringError("'" + Name + "' is not the name of a GPU");
  std::string FullName = (Kind + ":" + Twine(Ordinal)).str();
  bool IsOffload = Kind == "offload";
  std::string Missing[2], Counts;
  unsigned First = 0;
  // liboffload's devices are CUDA's and then HIP's.
  for (bool IsHip : {false, true}) {
    if (Kind == (IsHip ? "cuda" : "hip"))
      continue;
    unsigned Count = 0;
    Expected<const CudaDriver *> Driver = startCudaDriver(IsHip, Count);
    if (!Driver) {
      Missing[IsHip] = toString(Driver.takeError());
      continue;
    }
    if (isBroken(Missing[0]))
      return createStringError("cannot tell which GPU '" + Name + "' is: " +
                               Missing[0] + "; name an AMD GPU 'hip:<n>'");
    if (Ordinal - First < Count)
      return CudaDevice::create(**Driver, Ordinal - First, FullName);
    Counts += (Counts.empty() ? "" : ", and ") +
              std::string(IsHip ? "the HIP runtime" : "the CUDA driver") +
              " finds " + describeCount(IsOffload, First, Count);
    First += Count;
  }
  if (!Counts.empty())
    return createStringError("there is no device '" + Name + "': " + Counts +
                             (isBroken(Missing[1]) ? "; " + Missing[1] : ""));
  if (IsOffload)
    return noGPU(Missing[0], Missing[1]);
  return createStringError(Missing[Kind == "hip"]);
}
