//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels on a CUDA device: loading, launching, timing.
///
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "Cupti.h"
#include "PCSampler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Runtime/PackageFormat.h"
#include "llvm/Mneme/Support/AMDSettings.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Triple.h"
#include <list>

using namespace llvm;
using namespace llvm::mneme;
using namespace ::mneme;

// CU_FUNC_ATTRIBUTE_*
enum {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  ConstSizeBytes = 2,
  LocalSizeBytes = 3,
  NumRegs = 4,
  MaxDynamicSharedSizeBytes = 8,
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

CudaKernel::~CudaKernel() {
  RestoreOwn.reset();
  if (!Device.enterToFree())
    return;
  if (OwnContents)
    consumeError(Device.release(OwnContents));
  if (Program)
    consumeError(Device.Backend->unload(Program));
}

/// The driver does not know the size of an image and trusts its contents, so
/// damaged images are rejected here.
static Error checkComplete(ArrayRef<char> Object) {
  using Elf = object::ELF64LEFile;
  Expected<Elf> File = Elf::create({Object.data(), Object.size()});
  if (!File)
    return createStringError("its image is not an ELF file: " +
                             toString(File.takeError()));
  if (File->getHeader().e_type == ELF::ET_REL)
    return createStringError(
        "its image is not linked: install ld.lld of LLVM " +
        Twine(LLVM_VERSION_MAJOR));
  auto Sections = File->sections();
  if (!Sections)
    return createStringError("its image is damaged: " +
                             toString(Sections.takeError()));
  for (const Elf::Elf_Shdr &S : *Sections) {
    if (S.sh_type == ELF::SHT_NOBITS)
      continue; // shared memory: a size, but no bytes in the file
    if (Error E = File->getSectionContents(S).takeError())
      return createStringError("its image is damaged: " +
                               toString(std::move(E)));
  }
  if (Error E = File->program_headers().takeError())
    return createStringError("its image is damaged: " + toString(std::move(E)));
  return Error::success();
}

/// \returns the variables of a cubin, and whether they are in constant memory.
static Expected<StringMap<bool>> findVariables(ArrayRef<char> Object) {
  StringMap<bool> Variables;
  MemoryBufferRef Buffer(StringRef(Object.data(), Object.size()), "image");
  Expected<std::unique_ptr<object::ObjectFile>> File =
      object::ObjectFile::createELFObjectFile(Buffer);
  if (!File)
    return File.takeError();
  for (const object::ELFSymbolRef Symbol :
       cast<object::ELFObjectFileBase>(**File).symbols()) {
    if (Symbol.getELFType() != ELF::STT_OBJECT)
      continue;
    Expected<StringRef> Name = Symbol.getName();
    if (!Name)
      return Name.takeError();
    Expected<object::section_iterator> Section = Symbol.getSection();
    if (!Section)
      return Section.takeError();
    if (*Section == (*File)->section_end())
      continue;
    Expected<StringRef> SectionName = (*Section)->getName();
    if (!SectionName)
      return SectionName.takeError();
    Variables[*Name] = SectionName->starts_with(".nv.constant");
  }
  return Variables;
}

Expected<std::unique_ptr<DeviceKernel>>
CudaDevice::load(const DeviceImage &Image, ArrayRef<KernelGlobal> Globals) {
  if (Error E = enter())
    return E;
  auto Fail = [&](const Twine &Text) {
    return createStringError("cannot load kernel '" + Image.KernelName +
                             "': " + Text);
  };
  Triple Target(Image.Triple);
  if (Driver.IsHip ? !Target.isAMDGPU() : !Target.isNVPTX())
    return Fail("its image for '" + Image.Triple + "' is not for device '" +
                Name + "'");
  std::string Arch = Image.Arch;
  if (Driver.IsHip && !StringRef(Arch).contains(':'))
    Arch += readAMDSettings(Image.Object);
  if (!isArchCompatible(Arch, Info.Arch))
    return Fail("it is compiled for " + Arch + ", and device '" + Name +
                "' is " + Info.Arch);
  if (Error E = checkComplete(Image.Object))
    return Fail(toString(std::move(E)));
  auto K = std::make_unique<CudaKernel>(*this);
  K->Name = Image.KernelName;
  K->Layout = Image.Args;
  Expected<GPUBackend::Program> Program = Backend->load(Image.Object);
  if (!Program)
    return Fail(toString(Program.takeError()) +
                (Driver.IsHip ? "; the runtime is HIP "
                              : "; the driver supports CUDA ") +
                Info.Driver);
  K->Program = *Program;
  if (Error E = findFunction(*K))
    return Fail(toString(std::move(E)));
  if (Error E = findGlobals(*K, Image, Globals))
    return Fail(toString(std::move(E)));
  if (Error E = findSlots(*K, Image, Globals))
    return Fail(toString(std::move(E)));
  if (Error E = keepOwnVariables(*K, Image))
    return Fail(toString(std::move(E)));
  return K;
}

/// Finds the kernel's function in the loaded program.
Error CudaDevice::findFunction(CudaKernel &K) {
  Expected<GPUBackend::Kernel> Kernel = Backend->getKernel(K.Program, K.Name);
  if (!Kernel)
    return Kernel.takeError();
  K.Kernel = *Kernel;
  K.Function = Backend->getFunction(K.Kernel);
  int Shared = 0;
  if (CUresult R =
          Driver.FuncGetAttribute(&Shared, SharedSizeBytes, K.Function))
    return createStringError(Driver.describe(R));
  K.StaticShared = Shared;
  // The limit for every function, which includes its static shared memory.
  constexpr uint64_t Default = 48 << 10;
  K.AllowedShared = Default - std::min(K.StaticShared, Default);
  return Error::success();
}

Error CudaDevice::findGlobals(CudaKernel &K, const DeviceImage &Image,
                              ArrayRef<KernelGlobal> Globals) {
  if (Globals.empty())
    return Error::success();
  Expected<StringMap<bool>> Variables = findVariables(Image.Object);
  if (!Variables)
    return Variables.takeError();
  for (const KernelGlobal &G : Globals) {
    if (!G.Address || !G.Size)
      continue;
    uint64_t Place = 0, Size = 0;
    auto Variable = Variables->find(G.Name);
    if (!Backend->getGlobal(K.Program, G.Name, Place, Size)) {
      if (Variable != Variables->end())
        return createStringError("the driver cannot find its variable '" +
                                 G.Name + "'");
      continue; // optimized away
    }
    if (Size != G.Size)
      return createStringError("its variable '" + G.Name + "' has " +
                               Twine(Size) + " bytes, and the recording's " +
                               Twine(G.Size));
    bool Constant = Variable != Variables->end() && Variable->second;
    K.Globals.push_back({G.Name, G.Address, Place, Size, Constant});
  }
  return Error::success();
}

/// Lets the image use the recorded variables where they are.
Error CudaDevice::findSlots(CudaKernel &K, const DeviceImage &Image,
                            ArrayRef<KernelGlobal> Globals) {
  for (const std::string &Name : Image.Slots) {
    const KernelGlobal *G =
        find_if(Globals, [&](const KernelGlobal &G) { return G.Name == Name; });
    if (G == Globals.end() || !G->Address)
      return createStringError("the recording does not have its variable '" +
                               Name + "'");
    K.Slots.push_back(G->Address);
  }
  return fillSlots(K);
}

Error CudaDevice::fillSlots(CudaKernel &K) {
  uint64_t Place = 0, Size = 0;
  // The image does not have them if it uses none.
  if (K.Slots.empty() ||
      !Backend->getGlobal(K.Program, MNEME_VARIABLE_SLOTS, Place, Size))
    return Error::success();
  ArrayRef<char> Bytes(reinterpret_cast<const char *>(K.Slots.data()),
                       K.Slots.size() * sizeof(uint64_t));
  if (Size != Bytes.size())
    return createStringError("its array '" MNEME_VARIABLE_SLOTS "' has " +
                             Twine(Size) + " bytes instead of " +
                             Twine(Bytes.size()));
  return write(Place, Bytes);
}

/// Keeps a copy of the variables that only this image has.
Error CudaDevice::keepOwnVariables(CudaKernel &K, const DeviceImage &Image) {
  std::vector<MnemeCopyPart> Parts;
  uint64_t Bytes = 0;
  for (const std::string &Variable : Image.OwnVariables) {
    MnemeCopyPart P = {};
    if (!Backend->getGlobal(K.Program, Variable, P.To, P.Size)) {
      // Optimized away, or local to the image.
      K.Reloaded = Image.Object;
      return Error::success();
    }
    P.From = Bytes;
    Bytes = alignTo(Bytes + P.Size, 16);
    Parts.push_back(P);
  }
  if (Parts.empty())
    return Error::success();
  if (Error E = allocate(Bytes).moveInto(K.OwnContents))
    return E;
  for (MnemeCopyPart &P : Parts) {
    P.From += K.OwnContents;
    if (Error E = copy(P.From, P.To, P.Size))
      return E;
  }
  return planCopies(Parts).moveInto(K.RestoreOwn);
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

Error CudaDevice::resetState(CudaKernel &K, const LaunchConfig &Config) {
  if (K.StaticShared || Config.DynamicShared)
    if (Error E = enqueueClearShared())
      return E;
  if (K.RestoreOwn)
    return copy(*K.RestoreOwn);
  if (K.Reloaded.empty())
    return Error::success();
  if (Error E = synchronize()) // it may be running
    return E;
  if (Error E = Backend->unload(K.Program))
    return E;
  K.Program = nullptr;
  Expected<GPUBackend::Program> Program = Backend->load(K.Reloaded);
  if (!Program)
    return Program.takeError();
  K.Program = *Program;
  for (GlobalPlace &G : K.Globals)
    Backend->getGlobal(K.Program, G.Name, G.Image, G.Size);
  if (Error E = fillSlots(K))
    return E;
  return findFunction(K);
}

/// \param Launched The device reported \p R, rather than refusing the launch.
static LaunchStatus toLaunchStatus(CUresult R, bool Launched) {
  switch (R) {
  case CUDA_SUCCESS:
    return LaunchStatus::Ok;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return LaunchStatus::OutOfMemory;
  case CUDA_ERROR_NOT_READY:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
    return LaunchStatus::Timeout;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    return LaunchStatus::IllegalAddress;
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    return LaunchStatus::IllegalInstruction;
  case CUDA_ERROR_ASSERT:
    return LaunchStatus::Assert;
  case CUDA_ERROR_NOT_SUPPORTED:
    return LaunchStatus::Unsupported;
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
  case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
  case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    return LaunchStatus::InvalidConfiguration;
  default:
    return Launched ? LaunchStatus::Trap : LaunchStatus::InvalidConfiguration;
  }
}

CUresult CudaDevice::allowShared(CudaKernel &K, uint64_t DynamicShared) {
  if (DynamicShared <= K.AllowedShared)
    return CUDA_SUCCESS;
  if (DynamicShared > INT_MAX)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult R = Driver.FuncSetAttribute(K.Function, MaxDynamicSharedSizeBytes,
                                       static_cast<int>(DynamicShared));
  if (!R)
    K.AllowedShared = DynamicShared;
  return R;
}

bool CudaDevice::exceedsThreads(const CudaKernel &K, const LaunchConfig &Config,
                                int &MaxThreads) {
  return !Driver.FuncGetAttribute(&MaxThreads, MaxThreadsPerBlock,
                                  K.Function) &&
         Config.Block.count() > unsigned(MaxThreads);
}

std::string CudaDevice::explainRefusal(const CudaKernel &K,
                                       const LaunchConfig &Config,
                                       const GPUResult &R) {
  uint64_t Shared = K.StaticShared + Config.DynamicShared;
  if (Info.SharedPerBlock && Shared > Info.SharedPerBlock)
    return (Twine(Shared) + " bytes of shared memory; the device has " +
            Twine(Info.SharedPerBlock) + " for a block")
        .str();
  int MaxThreads = 0;
  if (exceedsThreads(K, Config, MaxThreads))
    return ("a block of " + Twine(Config.Block.count()) +
            " threads; the kernel can have " + Twine(MaxThreads))
        .str();
  if (R.Code == CUDA_ERROR_INVALID_CLUSTER_SIZE) {
    std::string Size = formatDims(Config.Cluster);
    for (unsigned Axis = 0; Axis != 3; ++Axis)
      if (Config.Grid[Axis] % Config.Cluster[Axis])
        return "a grid of " + formatDims(Config.Grid) +
               " blocks, which is not a multiple of its clusters of " + Size;
    return "clusters of " + Size + " blocks: " + describe(R);
  }
  return describe(R);
}

Error CudaDevice::openEvents(size_t Count) {
  while (Events.size() < Count) {
    EventPair &E = Events.emplace_back();
    for (CUevent *Event : {&E.Start, &E.Stop})
      if (Error Failed = check(Driver.EventCreate(Event, 0), "create an event"))
        return Failed;
  }
  return Error::success();
}

Expected<double> CudaDevice::readNanoseconds(ArrayRef<EventPair> Pairs) {
  double Sum = 0;
  for (const EventPair &E : Pairs) {
    float Milliseconds = 0;
    if (Error Failed =
            check(Driver.EventElapsedTime(&Milliseconds, E.Start, E.Stop),
                  "measure a launch"))
      return Failed;
    Sum += Milliseconds * 1e6;
  }
  return Sum;
}

LaunchOutcome CudaDevice::failLaunch(const GPUResult &R, std::string Message) {
  LaunchOutcome Outcome;
  Outcome.Status = toLaunchStatus(R.Code, /*Launched=*/true);
  Outcome.Message = std::move(Message);
  lose(Outcome.Message);
  return Outcome;
}

LaunchOutcome CudaDevice::failLate(const CudaKernel &K,
                                   const LaunchConfig &Config) {
  return failLaunch(CUDA_ERROR_NOT_READY,
                    formatv("kernel '{0}' ran longer than {1} s", K.Name,
                            format("%g", Config.TimeoutSeconds)));
}

/// Time for which the device is kept busy while the host prepares a launch, so
/// that it executes the events and the kernel without gaps.
static constexpr uint64_t SpinNanoseconds = 10000;

namespace {
/// The arguments of a launch, with the device's handles in place of recorded
/// ones.
class KnownArguments {
public:
  KnownArguments(const CudaKernel &K,
                 const std::map<uint64_t, CudaObject> &Objects,
                 ArrayRef<void *> Args)
      : Pointers(Args) {
    for (size_t I = 0; !Objects.empty() && I != Args.size(); ++I)
      for (uint32_t At = 0; At + 8 <= K.Layout[I].Size; At += 8) {
        auto *From = static_cast<char *>(Pointers[I]);
        auto O = Objects.find(support::endian::read64le(From + At));
        if (O == Objects.end())
          continue;
        if (Pointers[I] == Args[I]) {
          Bytes.emplace_back(From, From + K.Layout[I].Size);
          From = Bytes.back().data();
          Pointers[I] = From;
        }
        support::endian::write64le(From + At, O->second.Object);
      }
  }
  ArrayRef<void *> pointers() const { return Pointers; }

private:
  SmallVector<void *, 16> Pointers;
  std::list<std::vector<char>> Bytes;
};
} // namespace

Expected<LaunchOutcome> CudaDevice::enqueueLaunch(CudaKernel &K,
                                                  const LaunchConfig &Config,
                                                  ArrayRef<void *> Args,
                                                  ArrayRef<EventPair> Pairs) {
  auto Refuse = [&](const GPUResult &R) {
    LaunchOutcome Outcome;
    Outcome.Status = toLaunchStatus(R.Code, /*Launched=*/false);
    Outcome.Message = explainRefusal(K, Config, R);
    return Outcome;
  };
  if (Error Failed = resetState(K, Config))
    return Failed;
  if (CUresult R = allowShared(K, Config.DynamicShared))
    return Refuse(R);

  // HIP's answer would be that of a kernel that failed.
  int MaxThreads = 0;
  if (Driver.IsHip && exceedsThreads(K, Config, MaxThreads))
    return Refuse(CUDA_ERROR_INVALID_VALUE);

  for (const GlobalPlace &G : K.Globals)
    if (Error Failed = copy(G.Image, G.Home, G.Size))
      return Failed;
  if (CUresult R = copyArrays(/*IsBack=*/false))
    return failLaunch(R, "cannot fill the arrays of textures: " +
                             Driver.describe(R));
  KnownArguments Known(K, Objects, Args);
  if (!std::exchange(Occupied, false) && !Watching)
    if (Error Failed = enqueueSpin(SpinNanoseconds))
      return Failed;
  GPULaunch L;
  L.Grid = Config.Grid;
  L.Block = Config.Block;
  L.DynamicShared = Config.DynamicShared;
  L.Cooperative = Config.Cooperative;
  L.Cluster = Config.Cluster;
  L.Repeat = std::max(1u, Config.Repeat);
  L.TimeoutSeconds = Config.TimeoutSeconds;
  L.Args = Known.pointers();
  L.Layout = K.Layout;
  if (Timer == GPUTimer::Dispatch) {
    L.OfDispatches = Pairs;
  } else {
    L.Start = Pairs.front().Start;
    L.Stop = Pairs.front().Stop;
  }
  if (GPUResult R =
          Watching ? launchInPass(K, L) : Backend->launch(K.Kernel, L)) {
    if (R.Code == CUDA_ERROR_NOT_READY)
      return failLate(K, Config);
    if (!isFatal(R.Code))
      return Refuse(R);
    // An earlier launch may have failed.
    return failLaunch(R, describe(R));
  }
  for (const GlobalPlace &G : K.Globals) {
    if (G.Constant)
      continue;
    // The kernel itself may have failed by now.
    if (GPUResult R = Backend->copy(G.Home, G.Image, G.Size))
      return failLaunch(R, describe(R));
  }
  if (CUresult R = copyArrays(/*IsBack=*/true))
    return failLaunch(R, Driver.describe(R));
  return LaunchOutcome();
}

LaunchOutcome CudaDevice::finishLaunches(const CudaKernel &K,
                                         const LaunchConfig &Config) {
  GPUResult R = Backend->synchronize(Config.TimeoutSeconds);
  if (!R)
    return LaunchOutcome();
  if (R.Code != CUDA_ERROR_NOT_READY)
    return failLaunch(R, describe(R));
  return failLate(K, Config);
}

Expected<LaunchOutcome>
CudaDevice::launchMany(DeviceKernel &TheKernel, const LaunchConfig &Config,
                       ArrayRef<void *> Args, unsigned Count,
                       function_ref<Error()> Prepare,
                       std::vector<double> &Nanoseconds) {
  // The times of kernels alone are read for one launch at a time.
  if (Timer != GPUTimer::Events && Count > 1)
    return GPUDevice::launchMany(TheKernel, Config, Args, Count, Prepare,
                                 Nanoseconds);
  if (Error E = enter())
    return E;
  auto &K = static_cast<CudaKernel &>(TheKernel);
  if (Args.size() != K.Layout.size())
    return createStringError("kernel '" + K.Name + "' takes " +
                             Twine(K.Layout.size()) + " arguments, not " +
                             Twine(Args.size()));
  // HIP times no cooperative launches.
  if (Timer == GPUTimer::Dispatch && Config.Cooperative)
    if (Error E = setTimer(GPUTimer::Events))
      return E;
  unsigned Repeat = std::max(1u, Config.Repeat);
  unsigned PairsPerLaunch = Timer == GPUTimer::Dispatch ? Repeat : 1;
  if (Error E = openEvents(Count * PairsPerLaunch))
    return E;
  auto PairsOf = [&](unsigned I) {
    return ArrayRef(Events).slice(I * PairsPerLaunch, PairsPerLaunch);
  };
  Nanoseconds.clear();
  // Gives the host a lead over the device.
  if (Count > 1)
    if (Error E = enqueueSpin(SpinNanoseconds))
      return E;
  for (unsigned I = 0; I != Count; ++I) {
    // An earlier launch may have failed.
    auto Explain = [&](Error E) -> Expected<LaunchOutcome> {
      LaunchOutcome Outcome;
      if (I != 0)
        Outcome = finishLaunches(K, Config);
      if (Outcome.Status == LaunchStatus::Ok)
        return std::move(E);
      consumeError(std::move(E));
      return Outcome;
    };
    if (Error E = Prepare())
      return Explain(std::move(E));
    // The device is idle when the host begins.
    if (I == 0)
      Occupied = false;
    Expected<LaunchOutcome> Outcome =
        enqueueLaunch(K, Config, Args, PairsOf(I));
    if (!Outcome)
      return Explain(Outcome.takeError());
    if (Outcome->Status != LaunchStatus::Ok)
      return Outcome;
  }
  LaunchOutcome Outcome = finishLaunches(K, Config);
  if (Outcome.Status != LaunchStatus::Ok)
    return Outcome;
  for (unsigned I = 0; I != Count; ++I) {
    Expected<double> Time = readNanoseconds(PairsOf(I));
    if (!Time)
      return Time.takeError();
    Nanoseconds.push_back(*Time / Repeat);
  }
  return Outcome;
}

Expected<LaunchOutcome> CudaDevice::launch(DeviceKernel &TheKernel,
                                           const LaunchConfig &Config,
                                           ArrayRef<void *> Args) {
  std::vector<double> Nanoseconds;
  Expected<LaunchOutcome> Outcome = launchMany(
      TheKernel, Config, Args, /*Count=*/1, [] { return Error::success(); },
      Nanoseconds);
  if (!Outcome || Outcome->Status != LaunchStatus::Ok)
    return Outcome;
  Outcome->Nanoseconds = Nanoseconds.front();
  if (Timer != GPUTimer::CUPTI)
    return Outcome;
  auto &K = static_cast<CudaKernel &>(TheKernel);
  unsigned Repeat = std::max(1u, Config.Repeat);
  if (std::optional<double> Time = takeCuptiTime(Ordinal, K.Name, Repeat))
    Outcome->Nanoseconds = *Time / Repeat;
  else if (Error E = setTimer(GPUTimer::Events))
    return E;
  return Outcome;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Expected<GPUKernelInfo> CudaDevice::describe(DeviceKernel &TheKernel) {
  if (Error E = enter())
    return E;
  auto &K = static_cast<CudaKernel &>(TheKernel);
  int Values[5] = {};
  for (int Attribute : {MaxThreadsPerBlock, SharedSizeBytes, ConstSizeBytes,
                        LocalSizeBytes, NumRegs})
    if (Error E = check(
            Driver.FuncGetAttribute(&Values[Attribute], Attribute, K.Function),
            "describe kernel '" + K.Name + "'"))
      return E;
  GPUKernelInfo I;
  I.Registers = Values[NumRegs];
  I.LocalBytes = Values[LocalSizeBytes];
  I.SharedBytes = Values[SharedSizeBytes];
  I.ConstantBytes = Values[ConstSizeBytes];
  I.MaxThreads = Values[MaxThreadsPerBlock];
  return I;
}

Expected<unsigned> CudaDevice::getOccupancy(DeviceKernel &TheKernel,
                                            unsigned BlockThreads,
                                            uint64_t DynamicShared) {
  if (Error E = enter())
    return E;
  auto &K = static_cast<CudaKernel &>(TheKernel);
  // The occupancy of a kernel that cannot be launched is 0.
  if (allowShared(K, DynamicShared))
    return 0u;
  int Blocks = 0;
  CUresult R = Driver.OccupancyMaxActiveBlocksPerMultiprocessor(
      &Blocks, K.Function, BlockThreads, DynamicShared);
  if (R == CUDA_ERROR_INVALID_VALUE)
    return 0u;
  if (Error E = check(R, "ask for the occupancy of kernel '" + K.Name + "'"))
    return E;
  return Blocks;
}

//===----------------------------------------------------------------------===//
// Timers
//===----------------------------------------------------------------------===//

Error CudaDevice::setTimer(GPUTimer Wanted) {
  if (Error E = enter())
    return E;
  if (Wanted == GPUTimer::Events) {
    if (Timer == GPUTimer::CUPTI)
      disableCupti();
    Timer = Wanted;
    return Error::success();
  }
  bool IsOwn = Timer != GPUTimer::Events;
  if (Timer == Wanted || (Wanted == GPUTimer::Auto && IsOwn))
    return Error::success();
  bool ByDispatch = Wanted == GPUTimer::Dispatch ||
                    (Wanted == GPUTimer::Auto && Driver.IsHip);
  Error E = ByDispatch ? startDispatchTimes() : startCupti();
  if (!E || Wanted != GPUTimer::Auto)
    return E;
  consumeError(std::move(E));
  return Lost.empty() ? Error::success() : enter();
}

Error CudaDevice::startCupti() {
  if (Driver.IsHip)
    return createStringError(
        "CUPTI reports kernels of NVIDIA GPUs only: use --timer=dispatch");
  if (Error E = enableCupti())
    return E;
  // CUPTI may start, but not see the kernels of this machine.
  if (Error E = enqueueSpin(/*Nanoseconds=*/1000))
    return E;
  if (Error E = synchronize())
    return E;
  if (!takeCuptiTime(Ordinal, MNEME_KERNEL_CLOCK, 1)) {
    disableCupti();
    return createStringError("CUPTI does not report kernels on device '" +
                             Name + "'");
  }
  Timer = GPUTimer::CUPTI;
  return Error::success();
}

Error CudaDevice::startDispatchTimes() {
  auto Fail = [&] {
    return createStringError("device '" + Name +
                             "' does not report the times of dispatches: use "
                             "--timer=events");
  };
  if (!Backend->timesDispatches())
    return Fail();
  // HIP may have the function, but not the time. Used events have one.
  if (Error E = openEvents(Events.size() + 1))
    return E;
  EventPair Unused = Events.back();
  if (Error E = enqueueSpin(/*Nanoseconds=*/1000, Unused))
    return E;
  if (Error E = synchronize())
    return E;
  Expected<double> Time = readNanoseconds(Unused);
  if (Time && *Time > 0) {
    Timer = GPUTimer::Dispatch;
    return Error::success();
  }
  consumeError(Time.takeError());
  return Fail();
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

/// Only the kernel is in the pass, not the work before and after it.
GPUResult CudaDevice::launchInPass(CudaKernel &K, const GPULaunch &L) {
  if (GPUResult R = Backend->synchronize(0))
    return R;
  auto IsGood = [&](Error E) {
    if (E)
      PassProblem = toString(std::move(E));
    return PassProblem.empty();
  };
  bool Begun = IsGood(Watching->beginPass());
  if (GPUResult R = Backend->launch(K.Kernel, L))
    return R;
  if (GPUResult R = Backend->synchronize(L.TimeoutSeconds))
    return R;
  if (Begun)
    IsGood(Watching->endPass());
  return CUDA_SUCCESS;
}

Error CudaDevice::openProfiler(ArrayRef<const CounterInfo *> Counters) {
  if (Driver.IsHip)
    return createStringError("counters are not available through ROCm yet");
  if (!Profiler)
    if (Error E = CounterProfiler::create(Context, Ordinal).moveInto(Profiler))
      return E;
  return Profiler->select(Counters);
}

static std::string describeMissing(ArrayRef<const CounterInfo *> Missing) {
  return Missing.empty()
             ? ""
             : "this GPU has no " + join(map_range(Missing,
                                                   [](const CounterInfo *C) {
                                                     return C->Name.str();
                                                   }),
                                         ", ");
}

/// Returns the counters that CUPTI reads.
static std::vector<const CounterInfo *> getCuptiCounters(const CounterSet &S) {
  std::vector<const CounterInfo *> List;
  copy_if(S.list(), std::back_inserter(List), [](const CounterInfo *C) {
    return C->Group != CounterGroup::Energy;
  });
  return List;
}

Error CudaDevice::checkCounters(const CounterSet &Counters) {
  if (Error E = enter())
    return E;
  std::vector<const CounterInfo *> List = getCuptiCounters(Counters);
  if (List.size() != Counters.list().size() && !readEnergy())
    return createStringError("NVML does not report the energy of this GPU");
  if (List.empty())
    return Error::success();
  // The timer may use CUPTI, which has one user at a time.
  GPUTimer Before = Timer;
  if (Error E = setTimer(GPUTimer::Events))
    return E;
  if (Error E = openProfiler(List))
    return E;
  std::string Missing = describeMissing(Profiler->missing());
  if (Before == GPUTimer::CUPTI) {
    Profiler.reset();
    if (Error E = setTimer(Before))
      return E;
  }
  return Missing.empty() ? Error::success() : createStringError(Missing);
}

Expected<bool> CudaDevice::launchInPass(LaunchProfiler &P, DeviceKernel &Kernel,
                                        const LaunchConfig &Config,
                                        ArrayRef<void *> Args,
                                        function_ref<Error()> Prepare,
                                        LaunchOutcome &Outcome) {
  if (Error E = Prepare())
    return std::move(E);
  PassProblem.clear();
  Watching = &P;
  Error Failed = launch(Kernel, Config, Args).moveInto(Outcome);
  Watching = nullptr;
  if (Failed)
    return std::move(Failed);
  if (Outcome.Status == LaunchStatus::Ok && !PassProblem.empty())
    return createStringError(PassProblem);
  return Outcome.Status == LaunchStatus::Ok;
}

Expected<LaunchOutcome>
CudaDevice::profile(function_ref<Error(LaunchOutcome &)> Body,
                    std::string &Problem) {
  if (Error E = enter())
    return E;
  GPUTimer Before = Timer;
  if (Error E = setTimer(GPUTimer::Events))
    return E;
  LaunchOutcome Outcome;
  if (Error E = Body(Outcome)) {
    if (!Lost.empty())
      return E;
    Problem = toString(std::move(E));
    Profiler.reset();
  }
  if (Before != GPUTimer::CUPTI || !Lost.empty())
    return Outcome;
  // CUPTI has one user at a time. Without its timer, events remain.
  Profiler.reset();
  consumeError(setTimer(Before));
  return Outcome;
}

Expected<LaunchOutcome>
CudaDevice::count(DeviceKernel &Kernel, const LaunchConfig &Config,
                  ArrayRef<void *> Args, const CounterSet &Counters,
                  function_ref<Error()> Prepare, CounterReading &Reading) {
  auto Run = [&](LaunchOutcome &Outcome) -> Error {
    if (Error E = openProfiler(getCuptiCounters(Counters)))
      return E;
    Reading.Problem = describeMissing(Profiler->missing());
    if (Error E = Profiler->restart())
      return E;
    while (!Profiler->isDone()) {
      Expected<bool> Good =
          launchInPass(*Profiler, Kernel, Config, Args, Prepare, Outcome);
      if (!Good || !*Good)
        return Good.takeError();
      ++Reading.Passes;
    }
    return Profiler->evaluate(Reading.Values);
  };
  return profile(Run, Reading.Problem);
}

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

/// Returns the logarithm of the period with which a launch has enough samples,
/// and not more than the buffers hold.
static unsigned choosePeriod(const GPUInfo &Info, double Nanoseconds) {
  constexpr double PerLaunch = 16384, DefaultMHz = 1500;
  double Cycles =
      Nanoseconds * 1e-3 * (Info.ClockMHz ? Info.ClockMHz : DefaultMHz);
  double Period = std::max(1.0, Info.Multiprocessors * Cycles / PerLaunch);
  return std::clamp(Log2_64(static_cast<uint64_t>(Period)),
                    PCSampler::MinLogPeriod, PCSampler::MaxLogPeriod);
}

Expected<LaunchOutcome>
CudaDevice::sample(DeviceKernel &Kernel, const LaunchConfig &Config,
                   ArrayRef<void *> Args, ArrayRef<char> Image,
                   double Nanoseconds, function_ref<Error()> Prepare,
                   PCReading &Reading) {
  constexpr uint64_t Enough = 32768;
  constexpr unsigned MaxLaunches = 32;
  constexpr double MaxSeconds = 3;
  auto Run = [&](LaunchOutcome &Outcome) -> Error {
    if (Driver.IsHip)
      return createStringError(
          "program counters are not sampled through ROCm yet");
    // Both use CUPTI.
    Profiler.reset();
    unsigned LogPeriod = choosePeriod(Info, Nanoseconds);
    Reading.PeriodCycles = uint64_t(1) << LogPeriod;
    Expected<std::unique_ptr<PCSampler>> Sampler =
        PCSampler::create(Context, Image, LogPeriod);
    if (!Sampler)
      return Sampler.takeError();
    auto Begin = std::chrono::steady_clock::now();
    do {
      Expected<bool> Good =
          launchInPass(**Sampler, Kernel, Config, Args, Prepare, Outcome);
      if (!Good || !*Good)
        return Good.takeError();
      ++Reading.Launches;
    } while ((*Sampler)->numSamples() < Enough &&
             Reading.Launches < MaxLaunches &&
             secondsSince(Begin) < MaxSeconds);
    return (*Sampler)->finish(Reading);
  };
  return profile(Run, Reading.Problem);
}
