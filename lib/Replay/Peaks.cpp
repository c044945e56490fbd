//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the peaks of a device with the probe kernels, or reads them.
//
//===----------------------------------------------------------------------===//

#include "Peaks.h"
#include "InstrumentedKernel.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Runtime/ProbeKernels.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"
#include <cstring>
#include <limits>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Part of the names of files: change it with the probes.
static constexpr unsigned ProbeVersion = 1;

/// Launches of each probe; the fastest counts.
static constexpr unsigned NumLaunches = 7;

/// A launch that repeats its work takes at least as long.
static constexpr double LaunchNanoseconds = 3e6;

/// Bytes of a probe's memory: more than any cache, but of a small part of the
/// device's memory.
static constexpr uint64_t MaxMemory = uint64_t(2) << 30,
                          HostMemory = uint64_t(128) << 20;

namespace {
class Prober {
public:
  Prober(Device &D, const ReplayOptions &O, function_ref<void()> Report)
      : D(D), GPU(D.asGPU()), O(O), Report(Report) {}

  Expected<DevicePeaks> run(DevicePeaks P);

private:
  Device &D;
  GPUDevice *GPU;
  const ReplayOptions &O;
  function_ref<void()> Report;
  std::vector<char> GPUImage;
  uint64_t In = 0, Out = 0;

  bool isAMD() const { return GPU && GPU->info().IsAMD; }
  unsigned multiprocessors() const {
    return GPU ? std::max(1u, GPU->info().Multiprocessors)
               : std::max(1u, std::thread::hardware_concurrency());
  }
  std::unique_ptr<Module> readModule(LLVMContext &Context) const;
  Error compileForGPU();
  Expected<std::unique_ptr<DeviceKernel>> load(StringRef Name);

  /// The parameters of a probe, and its grid.
  struct Launch {
    unsigned Blocks;
    uint64_t Count = 0, Rounds = 1, Stride = 0;
    bool Cold = false;
  };
  Expected<double> time(DeviceKernel &Kernel, const Launch &L);
  Expected<double> fastest(DeviceKernel &Kernel, const Launch &L);
  Expected<double> timeMemory(StringRef Name, uint64_t Bytes, bool Cold);
  Expected<double> timeRounds(StringRef Name, Launch L);
  Error probeMemory(DevicePeaks &P, uint64_t Bytes);
  Error probeCache(DevicePeaks &P);
  Error probeWork(DevicePeaks &P);
};
} // namespace

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

std::unique_ptr<Module> Prober::readModule(LLVMContext &Context) const {
  StringRef Bitcode(isAMD() ? mneme_probe_kernels_amdgcn_bc
                            : mneme_probe_kernels_nvptx64_bc,
                    isAMD() ? mneme_probe_kernels_amdgcn_bc_size
                            : mneme_probe_kernels_nvptx64_bc_size);
  return cantFail(
      parseBitcodeFile(MemoryBufferRef(Bitcode, "probe kernels"), Context));
}

Error Prober::compileForGPU() {
  LLVMContext Context;
  std::unique_ptr<Module> M = readModule(Context);
  CompileOptions CO;
  CO.Kernel = "mneme_probe_empty";
  CO.OptLevel = "3";
  CO.Arch = StringRef(D.getArch()).split(':').first.str(); // Not its settings.
  CO.Assembler = O.Assembler;
  CO.CudaPath = O.CudaPath;
  CO.Ptxas = O.Ptxas;
  CO.ToolSeconds = O.Timeout;
  Expected<KernelCompiler> Compiler = KernelCompiler::create(*M, CO);
  if (!Compiler)
    return Compiler.takeError();
  CompileResult Result;
  if (Error E = Compiler->optimize(*M, Result))
    return E;
  if (Error E = Compiler->emitImage(*M, Result))
    return E;
  GPUImage.assign(Result.Image.begin(), Result.Image.end());
  return Error::success();
}

Expected<std::unique_ptr<DeviceKernel>> Prober::load(StringRef Name) {
  Report();
  std::string Symbol = ("mneme_probe_" + Name).str();
  LLVMContext Context;
  std::unique_ptr<Module> M = readModule(Context);
  if (!GPU) {
    Expected<DeviceImage> Image = compileKernelForHost(*M, Symbol, {});
    if (!Image)
      return Image.takeError();
    return D.load(*Image, {});
  }
  DeviceImage Image;
  Image.Triple = M->getTargetTriple().str();
  Image.Arch = D.getArch();
  Image.KernelName = Symbol;
  Image.Object.assign(GPUImage.begin(), GPUImage.end());
  constexpr unsigned NumArgs = 5;
  for (uint32_t I = 0; I != NumArgs; ++I)
    Image.Args.push_back({8, 8 * I, MNEME_ARG_VALUE, "", "i64"});
  return D.load(Image, {});
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Expected<double> Prober::time(DeviceKernel &Kernel, const Launch &L) {
  Report();
  if (GPU && L.Cold)
    if (Error E = GPU->flushCache())
      return std::move(E);
  LaunchConfig Config;
  Config.Grid.X = L.Blocks;
  Config.Block.X = MNEME_PROBE_BLOCK;
  Config.TimeoutSeconds = O.launchTimeout();
  uint64_t Values[] = {In, Out, L.Count, L.Rounds, L.Stride};
  void *Args[] = {&Values[0], &Values[1], &Values[2], &Values[3], &Values[4]};
  Expected<LaunchOutcome> Outcome = D.launch(Kernel, Config, Args);
  if (!Outcome)
    return Outcome.takeError();
  if (Outcome->Status != LaunchStatus::Ok)
    return createStringError("a probe kernel fails: " + Outcome->describe());
  if (!(Outcome->Nanoseconds > 0))
    return createStringError("the time of a probe kernel is not positive");
  return Outcome->Nanoseconds;
}

/// The first launches find a low clock and unmapped pages.
Expected<double> Prober::fastest(DeviceKernel &Kernel, const Launch &L) {
  double Best = std::numeric_limits<double>::infinity();
  for (unsigned I = 0; I != NumLaunches; ++I) {
    Expected<double> One = time(Kernel, L);
    if (!One)
      return One;
    Best = std::min(Best, *One);
  }
  return Best;
}

/// Returns the nanoseconds of one pass over \p Bytes.
Expected<double> Prober::timeMemory(StringRef Name, uint64_t Bytes, bool Cold) {
  Expected<std::unique_ptr<DeviceKernel>> Kernel = load(Name);
  if (!Kernel)
    return Kernel.takeError();
  constexpr uint64_t BytesOfBlock =
      MNEME_PROBE_VECTOR * MNEME_PROBE_PER_THREAD * MNEME_PROBE_BLOCK;
  Launch L{static_cast<unsigned>(Bytes / BytesOfBlock)};
  L.Stride = 1;
  L.Cold = Cold;
  return fastest(**Kernel, L);
}

/// Returns the nanoseconds of a round.
Expected<double> Prober::timeRounds(StringRef Name, Launch L) {
  Expected<std::unique_ptr<DeviceKernel>> Kernel = load(Name);
  if (!Kernel)
    return Kernel.takeError();
  // Long launches, so that their beginning and end do not count.
  for (L.Rounds = 16;; L.Rounds *= 2) {
    Expected<double> One = time(**Kernel, L);
    if (!One)
      return One;
    if (*One >= LaunchNanoseconds)
      break;
  }
  Expected<double> Best = fastest(**Kernel, L);
  if (Best)
    *Best /= L.Rounds;
  return Best;
}

//===----------------------------------------------------------------------===//
// Peaks
//===----------------------------------------------------------------------===//

/// Reading, writing and copying differ: the fastest is the peak.
Error Prober::probeMemory(DevicePeaks &P, uint64_t Bytes) {
  struct Probe {
    StringLiteral Name;
    uint64_t Pass, Moved;
    bool Cold;
  };
  std::vector<Probe> Probes = {{"read", Bytes, Bytes, false},
                               {"write", Bytes, Bytes, false},
                               {"copy", Bytes, 2 * Bytes, false}};
  // To overwrite a cache may leave some of its contents.
  if (GPU && P.CacheBytes)
    Probes.push_back({"read", P.CacheBytes / 2, P.CacheBytes / 2, true});
  for (const Probe &One : Probes) {
    Expected<double> Time = timeMemory(One.Name, One.Pass, One.Cold);
    if (!Time)
      return Time.takeError();
    P.DRAM = std::max(P.DRAM, One.Moved / *Time);
  }
  return Error::success();
}

/// Reads chunks again that fit into the caches: on a GPU, those of other
/// blocks, through the last-level cache; on the host, those of a core's own
/// cache.
Error Prober::probeCache(DevicePeaks &P) {
  constexpr uint64_t HostChunk = 16 << 10;
  Launch L{GPU ? 2 * multiprocessors() : multiprocessors()};
  uint64_t Chunk =
      GPU ? std::max<uint64_t>(P.CacheBytes, 4 << 20) / 4 / L.Blocks
          : HostChunk;
  L.Count = alignDown(Chunk / MNEME_PROBE_VECTOR, MNEME_PROBE_BLOCK);
  L.Count = std::max<uint64_t>(L.Count, MNEME_PROBE_BLOCK);
  L.Stride = GPU ? 1 : 0;
  Expected<double> Time = timeRounds("cache", L);
  if (!Time)
    return Time.takeError();
  P.Cache = L.Blocks * L.Count * MNEME_PROBE_VECTOR / *Time;
  return Error::success();
}

Error Prober::probeWork(DevicePeaks &P) {
  constexpr uint64_t Steps = MNEME_PROBE_STEPS,
                     All = Steps * MNEME_PROBE_CHAINS;
  // Of one thread in one round.
  static constexpr struct {
    StringLiteral Name;
    WorkKind Kind;
    uint64_t Amount;
  } Probes[] = {{"fp16", WorkKind::FP16, 4 * All},
                {"fp32", WorkKind::FP32, 2 * All},
                {"fp64", WorkKind::FP64, 2 * All},
                {"integer", WorkKind::Integer, 2 * All},
                {"special", WorkKind::Special, All},
                {"shared", WorkKind::Shared, 16 * Steps},
                {"tensor", WorkKind::Tensor, 2 * 16 * 16 * 16 / 32 * Steps}};
  constexpr unsigned BlocksPerMultiprocessor = 8;
  for (const auto &Probe : Probes) {
    if (Probe.Kind == WorkKind::Tensor && (!GPU || isAMD()))
      continue; // No unit, or no probe, for matrices.
    Launch L{multiprocessors() * (GPU ? BlocksPerMultiprocessor : 1)};
    L.Stride = MNEME_PROBE_BLOCK;
    Expected<double> Time = timeRounds(Probe.Name, L);
    if (!Time)
      return Time.takeError();
    P.Work[static_cast<size_t>(Probe.Kind)] =
        double(Probe.Amount) * L.Blocks * MNEME_PROBE_BLOCK / *Time;
  }
  return Error::success();
}

Expected<DevicePeaks> Prober::run(DevicePeaks P) {
  Report();
  uint64_t Bytes = HostMemory;
  if (GPU) {
    if (Error E = compileForGPU())
      return std::move(E);
    Expected<uint64_t> Available = GPU->availableMemory();
    if (!Available)
      return Available.takeError();
    Bytes = std::min(MaxMemory, alignDown(*Available / 4, HostMemory));
  }
  if (!Bytes)
    return createStringError("too little memory is free to measure peaks");
  ScratchMemory First(D, Bytes), Second(D, Bytes);
  for (ScratchMemory *M : {&First, &Second})
    if (Error E = M->allocate())
      return std::move(E);
  In = First.address();
  Out = Second.address();
  // Reads of new memory would all be of one page.
  if (!GPU)
    std::memset(reinterpret_cast<void *>(In), 1, Bytes);
  Expected<std::unique_ptr<DeviceKernel>> Empty = load("empty");
  if (!Empty)
    return Empty.takeError();
  if (Error E = fastest(**Empty, {1}).moveInto(P.LaunchNanoseconds))
    return std::move(E);
  if (Error E = probeMemory(P, Bytes))
    return std::move(E);
  if (Error E = probeCache(P))
    return std::move(E);
  if (Error E = probeWork(P))
    return std::move(E);
  P.IsMeasured = true;
  return P;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static uint64_t getHostCacheBytes() {
  long Cores = std::max(1u, std::thread::hardware_concurrency());
  long Shared = ::sysconf(_SC_LEVEL3_CACHE_SIZE),
       Own = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::max(Shared, 0l) + Cores * std::max(Own, 0l);
}

/// Returns the identity of a device, without peaks.
static DevicePeaks identify(Device &D) {
  DevicePeaks P;
  GPUDevice *GPU = D.asGPU();
  P.IsHost = !GPU;
  if (!GPU) {
    P.Device = formatv("{0}, {1} cores", sys::getHostCPUName(),
                       std::thread::hardware_concurrency())
                   .str();
    P.CacheBytes = getHostCacheBytes();
    return P;
  }
  const GPUInfo &Info = GPU->info();
  P.Device = Info.Name;
  P.Driver = Info.Driver;
  P.ClockMHz = Info.ClockMHz;
  P.CacheBytes = Info.CacheBytes;
  return P;
}

Expected<DevicePeaks> mneme::readPeaks(StringRef Path) {
  Expected<json::Value> V = readJSONFile(Path);
  if (!V)
    return V.takeError();
  DevicePeaks P;
  json::Path::Root Root("peaks");
  if (!fromJSON(*V, P, Root))
    return createFileError(Path, Root.getError());
  if (!(P.DRAM > 0 && P.Cache > 0))
    return createFileError(
        Path, createStringError("'dram' and 'l2' must be bytes per second "
                                "above 0"));
  P.File = Path.str();
  return P;
}

/// The peaks are kept by all that they depend on.
static std::string getPeaksPath(const DevicePeaks &P) {
  std::string Key = formatv("{0};{1};{2};{3};{4}", ProbeVersion, P.Device,
                            P.Driver, P.ClockMHz, P.CacheBytes)
                        .str();
  return pathIn(getDefaultCacheDir(),
                "peaks-" + toHexString(digest128(Key)) + ".json");
}

Expected<DevicePeaks> mneme::findPeaks(Device &D, const ReplayOptions &O,
                                       function_ref<void()> Report) {
  if (!O.Peaks.empty()) {
    Expected<DevicePeaks> P = readPeaks(O.Peaks);
    if (P) // Another machine may have measured them.
      P->IsMeasured = false;
    return P;
  }
  DevicePeaks Own = identify(D);
  Own.File = getPeaksPath(Own);
  // Of two measurements at the same time, both would be too slow. Peaks that
  // cannot be kept are still of use.
  LockedFile Lock;
  bool IsKept = true;
  if (Error E = makeOwnFolder(sys::path::parent_path(Own.File))) {
    consumeError(std::move(E));
    IsKept = false;
  }
  if (IsKept) {
    Expected<LockedFile> Waited = LockedFile::wait(Own.File + ".lock");
    if (Waited)
      Lock = std::move(*Waited);
    else
      consumeError(Waited.takeError());
    Expected<DevicePeaks> Known = readPeaks(Own.File);
    if (Known && Known->Device == Own.Device)
      return Known;
    if (!Known)
      consumeError(Known.takeError());
  }
  Expected<DevicePeaks> P = Prober(D, O, Report).run(Own);
  if (P && IsKept)
    consumeError(writeFileAtomically(
        Own.File, formatv("{0:2}\n", toJSON(*P)).str(), /*Sync=*/false));
  return P;
}
