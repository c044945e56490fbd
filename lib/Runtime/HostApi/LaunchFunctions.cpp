//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches, streams, events and errors of the CUDA runtime on the host device.
/// Work in streams runs immediately.
///
//===----------------------------------------------------------------------===//

#include "Clock.h"
#include "CudaApi.h"
#include "Graph.h"
#include "Shortage.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <utility>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

namespace mneme {
struct CudaStream {
  unsigned Flags;
  int Priority;
  unsigned long long Id;
};

struct CudaEvent {
  unsigned Flags;
  bool Recorded;
  uint64_t Nanoseconds;
};
} // namespace mneme

namespace {
/// Live streams and events: a stale handle is an error and must not crash.
template <typename T> class Handles {
public:
  /// \returns false if memory is short.
  bool add(const T &Value, T *&H) {
    std::lock_guard<std::mutex> Guard(Lock);
    return attempt([&] {
      auto New = std::make_unique<T>(Value);
      Live.insert(New.get());
      H = New.release();
    });
  }
  bool remove(T *H) {
    std::lock_guard<std::mutex> Guard(Lock);
    return Live.erase(H);
  }
  bool contains(T *H) {
    std::lock_guard<std::mutex> Guard(Lock);
    return Live.count(H);
  }

private:
  std::mutex Lock;
  std::set<T *> Live;
};
} // namespace

// Never destroyed, because applications may use it while they exit.
template <typename T> static Handles<T> &handles() {
  alignas(Handles<T>) static char Storage[sizeof(Handles<T>)];
  static auto &H = *new (Storage) Handles<T>;
  return H;
}

static Handles<CudaStream> &streams() { return handles<CudaStream>(); }
static Handles<CudaEvent> &events() { return handles<CudaEvent>(); }

static bool isDefaultStream(CudaStream *S) {
  // Null, cudaStreamLegacy, cudaStreamPerThread.
  return reinterpret_cast<uintptr_t>(S) <= 2;
}

bool mneme::isStream(CudaStream *S) {
  return isDefaultStream(S) || streams().contains(S);
}

static constexpr int GreatestPriority = -5; // As on current GPUs.

MNEME_API rt_cudaStreamCreateWithPriority(CudaStream **S, unsigned Flags,
                                          int Priority) {
  static std::atomic<unsigned long long> LastId{2}; // Ids 1 and 2 are those of
                                                    // the default streams.
  if (!S || Flags > 1)
    return done(cudaErrorInvalidValue);
  if (Priority > 0)
    Priority = 0;
  if (Priority < GreatestPriority)
    Priority = GreatestPriority;
  return done(streams().add({Flags, Priority, ++LastId}, *S)
                  ? cudaSuccess
                  : cudaErrorMemoryAllocation);
}

MNEME_API rt_cudaStreamCreateWithFlags(CudaStream **S, unsigned Flags) {
  return rt_cudaStreamCreateWithPriority(S, Flags, 0);
}

MNEME_API rt_cudaStreamCreate(CudaStream **S) {
  return rt_cudaStreamCreateWithPriority(S, 0, 0);
}

MNEME_API rt_cudaStreamDestroy(CudaStream *S) {
  leaveCapture(S);
  if (!streams().remove(S))
    return done(cudaErrorInvalidResourceHandle);
  delete S;
  return done(cudaSuccess);
}

/// All work in a stream has run already.
MNEME_API rt_cudaStreamSynchronize(CudaStream *S) {
  if (CudaError E = breakCapture(S))
    return done(E);
  return done(isStream(S) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

MNEME_API rt_cudaStreamGetFlags(CudaStream *S, unsigned *Flags) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (!Flags)
    return done(cudaErrorInvalidValue);
  *Flags = isDefaultStream(S) ? 0 : S->Flags;
  return done(cudaSuccess);
}

MNEME_API rt_cudaStreamGetPriority(CudaStream *S, int *Priority) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (!Priority)
    return done(cudaErrorInvalidValue);
  *Priority = isDefaultStream(S) ? 0 : S->Priority;
  return done(cudaSuccess);
}

MNEME_API rt_cudaStreamGetId(CudaStream *S, unsigned long long *Id) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (!Id)
    return done(cudaErrorInvalidValue);
  *Id = isDefaultStream(S) ? 1 + (reinterpret_cast<uintptr_t>(S) == 2) : S->Id;
  return done(cudaSuccess);
}

MNEME_API rt_cudaStreamGetDevice(CudaStream *S, int *Id) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (!Id)
    return done(cudaErrorInvalidValue);
  *Id = 0;
  return done(cudaSuccess);
}

MNEME_API rt_cudaStreamAttachMemAsync(CudaStream *S, void *Ptr, size_t,
                                      unsigned) {
  Arena::Allocation A;
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  return done(Device::get().find(Ptr, A) && A.Kind == KindManaged
                  ? cudaSuccess
                  : cudaErrorInvalidValue);
}

/// Ignored: attributes are hints about caches and priorities.
MNEME_API rt_cudaStreamSetAttribute(CudaStream *S, int, const void *Value) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  return done(Value ? cudaSuccess : cudaErrorInvalidValue);
}

MNEME_API rt_cudaStreamGetAttribute(CudaStream *S, int, void *Value) {
  constexpr size_t Size = 64; // Of each attribute's union.
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (!Value)
    return done(cudaErrorInvalidValue);
  memset(Value, 0, Size);
  return done(cudaSuccess);
}

MNEME_API rt_cudaStreamCopyAttributes(CudaStream *To, CudaStream *From) {
  return done(isStream(To) && isStream(From) ? cudaSuccess
                                             : cudaErrorInvalidResourceHandle);
}

MNEME_API rt_cudaThreadExchangeStreamCaptureMode(int *Mode) {
  static thread_local int Current = 0; // cudaStreamCaptureModeGlobal
  if (!Mode || *Mode < 0 || *Mode > 2)
    return answered(cudaErrorInvalidValue);
  std::swap(*Mode, Current);
  return cudaSuccess;
}

MNEME_API rt_cudaDeviceGetStreamPriorityRange(int *Least, int *Greatest) {
  if (Least)
    *Least = 0;
  if (Greatest)
    *Greatest = GreatestPriority;
  return done(cudaSuccess);
}

MNEME_API rt_cudaLaunchHostFunc(CudaStream *S, void (*Fn)(void *), void *Data) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (!Fn)
    return done(cudaErrorInvalidValue);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      W.Type = CudaGraphNodeHost;
      W.Host = {Fn, Data};
      return cudaSuccess;
    });
  if (!Device::get().sticky())
    Fn(Data);
  return done(cudaSuccess);
}

MNEME_API rt_cudaStreamAddCallback(CudaStream *S,
                                   void (*Fn)(CudaStream *, int, void *),
                                   void *Data, unsigned Flags) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (!Fn || Flags)
    return done(cudaErrorInvalidValue);
  if (CudaError E = breakCapture(S))
    return done(E);
  Fn(S, Device::get().sticky(), Data);
  return done(cudaSuccess);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static constexpr unsigned EventDisableTiming = 2;

MNEME_API rt_cudaEventCreateWithFlags(CudaEvent **E, unsigned Flags) {
  if (!E || Flags > 7)
    return done(cudaErrorInvalidValue);
  return done(events().add({Flags, false, 0}, *E) ? cudaSuccess
                                                  : cudaErrorMemoryAllocation);
}

MNEME_API rt_cudaEventCreate(CudaEvent **E) {
  return rt_cudaEventCreateWithFlags(E, 0);
}

MNEME_API rt_cudaEventDestroy(CudaEvent *E) {
  if (!events().remove(E))
    return done(cudaErrorInvalidResourceHandle);
  forgetEvent(E);
  delete E;
  return done(cudaSuccess);
}

bool mneme::isEvent(CudaEvent *E) { return events().contains(E); }

void mneme::reachEvent(CudaEvent *E) {
  if (!isEvent(E))
    return;
  E->Recorded = true;
  E->Nanoseconds = now();
}

MNEME_API rt_cudaEventRecordWithFlags(CudaEvent *E, CudaStream *S,
                                      unsigned Flags) {
  constexpr unsigned External = 1; // At each launch of the graph.
  if (!isEvent(E) || !isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S) && Flags == External)
    return addToCapture(S, [&](GraphWork &W) {
      W.Type = CudaGraphNodeEventRecord;
      W.Event = E;
      return cudaSuccess;
    });
  if (isCapturing(S))
    return captureEvent(E, S);
  forgetEvent(E);
  reachEvent(E);
  return done(cudaSuccess);
}

MNEME_API rt_cudaEventRecord(CudaEvent *E, CudaStream *S) {
  return rt_cudaEventRecordWithFlags(E, S, 0);
}

/// A recorded event has been reached already.
MNEME_API rt_cudaEventSynchronize(CudaEvent *E) {
  if (!isEvent(E))
    return done(cudaErrorInvalidResourceHandle);
  return done(isCaptured(E) ? cudaErrorCapturedEvent : cudaSuccess);
}

MNEME_API rt_cudaEventElapsedTime(float *Milliseconds, CudaEvent *Start,
                                  CudaEvent *End) {
  if (!Milliseconds)
    return done(cudaErrorInvalidValue);
  for (CudaEvent *E : {Start, End})
    if (!events().contains(E) || !E->Recorded || E->Flags & EventDisableTiming)
      return done(cudaErrorInvalidResourceHandle);
  *Milliseconds =
      float(double(int64_t(End->Nanoseconds - Start->Nanoseconds)) * 1e-6);
  return done(cudaSuccess);
}

MNEME_API rt_cudaStreamWaitEvent(CudaStream *S, CudaEvent *E, unsigned Flags) {
  constexpr unsigned External = 1; // At each launch of the graph.
  if (!isStream(S) || !isEvent(E))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S) && Flags == External)
    return addToCapture(S, [&](GraphWork &W) {
      W.Type = CudaGraphNodeWaitEvent;
      W.Event = E;
      return cudaSuccess;
    });
  return isCapturing(S) || isCaptured(E) ? captureWait(S, E)
                                         : done(cudaSuccess);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static int launch(const void *Stub, const LaunchShape &Shape, void **Args,
                  CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      CudaKernelNodeParams P = {Stub,        Shape.Grid,
                                Shape.Block, unsigned(Shape.DynamicShared),
                                Args,        nullptr};
      W.Shape = Shape;
      return describeKernel(W, &P);
    });
  CudaError E = Device::get().launch(Stub, Shape, Args);
  // As on a GPU, the next call returns errors of the kernel.
  return Device::get().setError(E);
}

MNEME_API rt_cudaLaunchKernel(const void *Stub, Dim3 Grid, Dim3 Block,
                              void **Args, size_t DynamicShared,
                              CudaStream *S) {
  return launch(Stub, {Grid, Block, DynamicShared, false}, Args, S);
}

MNEME_API rt_cudaLaunchCooperativeKernel(const void *Stub, Dim3 Grid,
                                         Dim3 Block, void **Args,
                                         size_t DynamicShared, CudaStream *S) {
  return launch(Stub, {Grid, Block, DynamicShared, true}, Args, S);
}

/// \returns false if \p Config is invalid.
static bool readShape(const CudaLaunchConfig *Config, LaunchShape &Shape) {
  if (!Config || (Config->NumAttributes && !Config->Attributes))
    return false;
  Shape = {Config->Grid, Config->Block, Config->DynamicShared, false};
  for (uint32_t I = 0; I != Config->NumAttributes; ++I)
    setShapeAttribute(Shape, Config->Attributes[I].Id,
                      Config->Attributes[I].Words);
  return true;
}

MNEME_API rt_cudaLaunchKernelExC(const CudaLaunchConfig *Config,
                                 const void *Stub, void **Args) {
  LaunchShape Shape;
  if (!readShape(Config, Shape))
    return done(cudaErrorInvalidValue);
  return launch(Stub, Shape, Args, Config->Stream);
}

namespace {
struct CallConfiguration {
  Dim3 Grid, Block;
  size_t DynamicShared;
  CudaStream *Stream;
  CallConfiguration *Outer;
};
} // namespace

/// The configuration that <<<...>>> pushes for the launch stub, which pops it.
/// Nested, because arguments of a launch may launch. Without destructor:
/// destructors of the program's static objects run later and may launch.
static thread_local CallConfiguration *InnermostConfiguration;

MNEME_API rt___cudaPushCallConfiguration(Dim3 Grid, Dim3 Block,
                                         size_t DynamicShared,
                                         CudaStream *Stream) {
  auto *C = new (std::nothrow) CallConfiguration{
      Grid, Block, DynamicShared, Stream, InnermostConfiguration};
  // On an error, the caller does not launch.
  if (!C)
    return answered(cudaErrorMemoryAllocation);
  InnermostConfiguration = C;
  return 0;
}

MNEME_API rt___cudaPopCallConfiguration(Dim3 *Grid, Dim3 *Block,
                                        size_t *DynamicShared,
                                        CudaStream **Stream) {
  std::unique_ptr<CallConfiguration> C(InnermostConfiguration);
  if (!C)
    return answered(cudaErrorMissingConfiguration);
  InnermostConfiguration = C->Outer;
  *Grid = C->Grid;
  *Block = C->Block;
  *DynamicShared = C->DynamicShared;
  *Stream = C->Stream;
  return cudaSuccess;
}

/// Kernel handles are launch stubs.
MNEME_API rt_cudaGetKernel(const void **Handle, const void *Stub) {
  if (!Handle || !Stub)
    return answered(cudaErrorInvalidValue);
  *Handle = Stub;
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// The host device has no registers. Programs that divide by this number obtain
// the maximum number of threads per multiprocessor.
static constexpr int NominalRegisters =
    DeviceLimits::Registers / DeviceLimits::ThreadsPerMultiprocessor;

MNEME_API rt_cudaFuncGetAttributes(CudaFuncAttributes *Attributes,
                                   const void *Stub) {
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  if (!Attributes)
    return done(cudaErrorInvalidValue);
  int Major, Minor;
  Device::get().computeCapability(Major, Minor);
  *Attributes = {};
  Attributes->SharedSizeBytes = K->Host.StaticShared;
  Attributes->MaxThreadsPerBlock = DeviceLimits::MaxThreadsPerBlock;
  Attributes->NumRegs = NominalRegisters;
  Attributes->PtxVersion = Attributes->BinaryVersion = Major * 10 + Minor;
  Attributes->MaxDynamicSharedSizeBytes = K->MaxDynamicShared;
  Attributes->PreferredShmemCarveout = -1;
  Attributes->NonPortableClusterSizeAllowed = K->AllowsLargeClusters;
  Attributes->ClusterDimMustBeSet = K->Host.ClusterDim[0] != 0;
  const uint32_t *Cluster =
      Attributes->ClusterDimMustBeSet ? K->Host.ClusterDim : K->Cluster;
  Attributes->RequiredClusterWidth = Cluster[0];
  Attributes->RequiredClusterHeight = Cluster[1];
  Attributes->RequiredClusterDepth = Cluster[2];
  return done(cudaSuccess);
}

MNEME_API rt_hipFuncGetAttributes(HipFuncAttributes *Attributes,
                                  const void *Stub) {
  if (!Attributes)
    return done(cudaErrorInvalidValue);
  CudaFuncAttributes A;
  if (int E = rt_cudaFuncGetAttributes(&A, Stub))
    return E;
  *Attributes = {A.BinaryVersion,
                 A.CacheModeCA,
                 A.ConstSizeBytes,
                 A.LocalSizeBytes,
                 A.MaxDynamicSharedSizeBytes,
                 A.MaxThreadsPerBlock,
                 A.NumRegs,
                 A.PreferredShmemCarveout,
                 A.PtxVersion,
                 A.SharedSizeBytes};
  return cudaSuccess;
}

MNEME_API rt_cudaFuncSetAttribute(const void *Stub, int Attribute, int Value) {
  constexpr int LastAttribute = 15;
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  if (Attribute < CudaFunctionMaxDynamicShared || Attribute > LastAttribute)
    return done(cudaErrorInvalidValue);
  if (Attribute == CudaFunctionMaxDynamicShared)
    return done(Device::get().setMaxDynamicShared(Stub, Value));
  if (Attribute == CudaFunctionNonPortableCluster)
    K->AllowsLargeClusters = Value != 0;
  if (Attribute >= CudaFunctionClusterWidth &&
      Attribute <= CudaFunctionClusterDepth) {
    if (K->Host.ClusterDim[0] || Value < 0)
      return done(cudaErrorInvalidValue);
    K->Cluster[Attribute - CudaFunctionClusterWidth] = Value;
  }
  return done(cudaSuccess); // The others are hints.
}

MNEME_API rt_cudaFuncSetCacheConfig(const void *Stub, int) {
  HostKernel *K;
  return done(Device::get().findKernel(Stub, K));
}

MNEME_API rt_cudaFuncGetName(const char **Name, const void *Stub) {
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  if (!Name)
    return done(cudaErrorInvalidValue);
  *Name = K->Name.c_str();
  return done(cudaSuccess);
}

MNEME_API rt_cudaFuncGetParamInfo(const void *Stub, size_t Index,
                                  size_t *Offset, size_t *Size) {
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  if (Index >= K->Args.size() || !Offset)
    return done(cudaErrorInvalidValue);
  *Offset = K->Args[Index].Offset;
  if (Size)
    *Size = K->Args[Index].Size;
  return done(cudaSuccess);
}

MNEME_API rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *Blocks, const void *Stub, int BlockSize, size_t DynamicShared) {
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  if (!Blocks || BlockSize <= 0)
    return done(cudaErrorInvalidValue);
  *Blocks = Device::get().maxActiveBlocks(*K, BlockSize, DynamicShared);
  return done(cudaSuccess);
}

MNEME_API rt_cudaOccupancyMaxPotentialClusterSize(int *Blocks, const void *Stub,
                                                  const CudaLaunchConfig *C) {
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  if (!Blocks || !C)
    return done(cudaErrorInvalidValue);
  *Blocks = Device::maxCluster(*K);
  return done(cudaSuccess);
}

MNEME_API rt_cudaOccupancyMaxActiveClusters(int *Clusters, const void *Stub,
                                            const CudaLaunchConfig *C) {
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  LaunchShape Shape;
  if (!Clusters || !readShape(C, Shape))
    return done(cudaErrorInvalidValue);
  if (CudaError E = Device::validCluster(*K, Shape))
    return done(E);
  *Clusters = Device::get().maxActiveClusters(*K, Shape);
  return done(cudaSuccess);
}

MNEME_API rt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *Size,
                                                       const void *Stub,
                                                       int Blocks,
                                                       int BlockSize) {
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  if (!Size || Blocks <= 0 || BlockSize <= 0 ||
      Device::get().maxActiveBlocks(*K, BlockSize, 0) < unsigned(Blocks))
    return done(cudaErrorInvalidValue);
  uint64_t Share = DeviceLimits::SharedPerMultiprocessor / unsigned(Blocks);
  uint64_t Used = DeviceLimits::ReservedShared + K->Host.StaticShared;
  uint64_t Most = DeviceLimits::SharedPerBlockOptin - K->Host.StaticShared;
  *Size = Share < Used ? 0 : Share - Used < Most ? Share - Used : Most;
  return done(cudaSuccess);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

MNEME_API rt_cudaGetLastError() { return Device::get().takeLastError(); }

MNEME_API rt_cudaPeekAtLastError() { return Device::get().peekLastError(); }

#undef MNEME_API
#define MNEME_API_STRING                                                       \
  extern "C" __attribute__((visibility("hidden"), used)) const char *

MNEME_API_STRING rt_cudaGetErrorName(int Error) {
  switch (Error) {
#define CUDA_ERROR(Code, Name, Text)                                           \
  case Code:                                                                   \
    return #Name;
#include "CudaErrors.def"
  default:
    return "unrecognized error code";
  }
}

MNEME_API_STRING rt_cudaGetErrorString(int Error) {
  switch (Error) {
#define CUDA_ERROR(Code, Name, Text)                                           \
  case Code:                                                                   \
    return Text;
#include "CudaErrors.def"
  default:
    return "unrecognized error code";
  }
}

namespace {
/// "cudaError..." with the prefix of HIP.
template <size_t N> struct HipName {
  char Chars[N] = {'h', 'i', 'p'};
  constexpr explicit HipName(const char (&CudaName)[N]) {
    for (size_t I = 4; I != N; ++I)
      Chars[I - 1] = CudaName[I];
  }
};
} // namespace

MNEME_API_STRING rt_hipGetErrorName(int Error) {
  // HIP's names that differ from CUDA's by more than the prefix.
  switch (Error) {
  case cudaErrorMemoryAllocation:
    return "hipErrorOutOfMemory";
  case cudaErrorInitializationError:
    return "hipErrorNotInitialized";
  case cudaErrorCudartUnloading:
    return "hipErrorDeinitialized";
  case cudaErrorInvalidKernelImage:
    return "hipErrorInvalidImage";
  case cudaErrorDeviceUninitialized:
    return "hipErrorInvalidContext";
  case cudaErrorNoKernelImageForDevice:
    return "hipErrorNoBinaryForGpu";
  case cudaErrorInvalidResourceHandle:
    return "hipErrorInvalidHandle";
  case cudaErrorSymbolNotFound:
    return "hipErrorNotFound";
  case cudaErrorLaunchTimeout:
    return "hipErrorLaunchTimeOut";
  }
  switch (Error) {
#define CUDA_ERROR(Code, Name, Text)                                           \
  case Code: {                                                                 \
    static constexpr HipName<sizeof(#Name)> Hip(#Name);                        \
    return Hip.Chars;                                                          \
  }
#include "CudaErrors.def"
  }
  return "hipErrorUnknown";
}
