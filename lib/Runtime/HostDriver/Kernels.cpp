//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels of the CUDA driver on the host device: attributes and launches.
///
//===----------------------------------------------------------------------===//

#include "HostDriver.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

using namespace mneme;

extern "C" {
int cudaFuncGetAttributes(CudaFuncAttributes *Attributes, const void *Func);
int cudaFuncGetParamInfo(const void *Func, size_t Index, size_t *Offset,
                         size_t *Size);
int cudaFuncSetAttribute(const void *Func, int Attribute, int Value);
int cudaGraphKernelNodeGetParams(CudaGraphNode *Node, CudaKernelNodeParams *P);
int cudaLaunchKernelExC(const CudaLaunchConfig *Config, const void *Func,
                        void **Args);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *Blocks, const void *Func,
                                                  int BlockSize,
                                                  size_t DynamicShared);
int cudaOccupancyMaxPotentialClusterSize(int *Blocks, const void *Func,
                                         const CudaLaunchConfig *Config);
int cudaOccupancyMaxActiveClusters(int *Clusters, const void *Func,
                                   const CudaLaunchConfig *Config);
int cudaDeviceGetAttribute(int *Value, int Attribute, int Id);
}

namespace {
/// CUlaunchConfig.
struct DriverLaunchConfig {
  Dim3 Grid, Block;
  unsigned DynamicShared;
  CudaStream *Stream;
  const CudaLaunchAttribute *Attributes;
  unsigned NumAttributes;

  CudaLaunchConfig toRuntime() const {
    return {Grid, Block, DynamicShared, Stream, Attributes, NumAttributes};
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

/// Kernels of a library are in each context.
DRIVER_API cuLibraryGetModule(void **Module, void *Library) {
  if (!Module || !Library)
    return cudaErrorInvalidValue;
  *Module = Library;
  return cudaSuccess;
}

DRIVER_API cuKernelGetFunction(void **Function, void *Kernel) {
  if (!Function || !Kernel)
    return cudaErrorInvalidValue;
  *Function = Kernel;
  return cudaSuccess;
}

DRIVER_API cuModuleGetLoadingMode(int *Mode) {
  constexpr int Lazy = 2;
  if (!Mode)
    return cudaErrorInvalidValue;
  *Mode = Lazy;
  return cudaSuccess;
}

DRIVER_API cuFuncLoad(const void *Func) {
  KeepLastError Keep;
  CudaFuncAttributes A;
  return toDriver(cudaFuncGetAttributes(&A, Func));
}

DRIVER_API cuFuncIsLoaded(int *State, const void *Func) {
  constexpr int Loaded = 1;
  if (!State)
    return cudaErrorInvalidValue;
  *State = Loaded;
  return cuFuncLoad(Func);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

DRIVER_API cuFuncGetAttribute(int *Value, int Attribute, const void *Func) {
  KeepLastError Keep;
  CudaFuncAttributes A;
  if (!Value)
    return cudaErrorInvalidValue;
  if (int E = cudaFuncGetAttributes(&A, Func))
    return toDriver(E);
  // In the order of CUfunction_attribute.
  const int Values[] = {A.MaxThreadsPerBlock,
                        int(A.SharedSizeBytes),
                        int(A.ConstSizeBytes),
                        int(A.LocalSizeBytes),
                        A.NumRegs,
                        A.PtxVersion,
                        A.BinaryVersion,
                        A.CacheModeCA,
                        A.MaxDynamicSharedSizeBytes,
                        A.PreferredShmemCarveout,
                        A.ClusterDimMustBeSet,
                        A.RequiredClusterWidth,
                        A.RequiredClusterHeight,
                        A.RequiredClusterDepth,
                        A.NonPortableClusterSizeAllowed,
                        A.ClusterSchedulingPolicyPreference};
  if (Attribute < 0 || Attribute >= int(std::size(Values)))
    return cudaErrorInvalidValue;
  *Value = Values[Attribute];
  return cudaSuccess;
}

DRIVER_API cuKernelGetAttribute(int *Value, int Attribute, const void *Kernel,
                                int Device) {
  return Device ? cudaErrorInvalidDevice
                : cuFuncGetAttribute(Value, Attribute, Kernel);
}

DRIVER_API cuKernelSetAttribute(int Attribute, int Value, const void *Kernel,
                                int Device) {
  KeepLastError Keep;
  return Device ? cudaErrorInvalidDevice
                : toDriver(cudaFuncSetAttribute(Kernel, Attribute, Value));
}

/// Finds the block size with the most resident threads. \p SharedOf returns
/// the dynamic shared memory of a block size; if null, \p Shared holds.
DRIVER_API cuOccupancyMaxPotentialBlockSize(int *Blocks, int *BlockSize,
                                            const void *Func,
                                            size_t (*SharedOf)(int),
                                            size_t Shared, int Limit) {
  constexpr int WarpSize = 32, MultiprocessorCount = 16;
  KeepLastError Keep;
  CudaFuncAttributes A;
  int Multiprocessors;
  if (!Blocks || !BlockSize || Limit < 0)
    return cudaErrorInvalidValue;
  if (int E = cudaFuncGetAttributes(&A, Func))
    return toDriver(E);
  if (int E = cudaDeviceGetAttribute(&Multiprocessors, MultiprocessorCount, 0))
    return toDriver(E);
  int Most = 0;
  int Largest =
      Limit ? std::min(Limit, A.MaxThreadsPerBlock) : A.MaxThreadsPerBlock;
  for (int Size = Largest; Size > 0; Size = (Size - 1) / WarpSize * WarpSize) {
    int Resident;
    if (int E = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &Resident, Func, Size, SharedOf ? SharedOf(Size) : Shared))
      return toDriver(E);
    if (Resident * Size <= Most)
      continue;
    Most = Resident * Size;
    *Blocks = Resident * Multiprocessors;
    *BlockSize = Size;
  }
  return Most ? cudaSuccess : cudaErrorInvalidValue;
}

DRIVER_API cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *Blocks, int *BlockSize, const void *Func, size_t (*SharedOf)(int),
    size_t Shared, int Limit, unsigned) {
  return cuOccupancyMaxPotentialBlockSize(Blocks, BlockSize, Func, SharedOf,
                                          Shared, Limit);
}

DRIVER_API cuOccupancyMaxPotentialClusterSize(int *Blocks, const void *Func,
                                              const DriverLaunchConfig *C) {
  KeepLastError Keep;
  if (!C)
    return cudaErrorInvalidValue;
  CudaLaunchConfig Config = C->toRuntime();
  return toDriver(cudaOccupancyMaxPotentialClusterSize(Blocks, Func, &Config));
}

DRIVER_API cuOccupancyMaxActiveClusters(int *Clusters, const void *Func,
                                        const DriverLaunchConfig *C) {
  KeepLastError Keep;
  if (!C)
    return cudaErrorInvalidValue;
  CudaLaunchConfig Config = C->toRuntime();
  return toDriver(cudaOccupancyMaxActiveClusters(Clusters, Func, &Config));
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Points \p Args into the buffer of arguments that \p Extra names. May throw.
static int readBuffer(const void *Func, void **Extra,
                      std::vector<void *> &Args) {
  size_t Size = 0, At = 0, ParamSize = 0;
  char *Buffer = findBuffer(Extra, Size);
  for (size_t I = 0; !cudaFuncGetParamInfo(Func, I, &At, &ParamSize); ++I) {
    if (!Buffer || At > Size || ParamSize > Size - At)
      return cudaErrorInvalidValue;
    Args.push_back(Buffer + At);
  }
  return cudaSuccess;
}

static int launch(const CudaLaunchConfig &Config, const void *Func, void **Args,
                  void **Extra) {
  KeepLastError Keep;
  std::vector<void *> Pointers;
  if (Args && Extra)
    return cudaErrorInvalidValue;
  if (Extra) {
    try {
      if (int E = readBuffer(Func, Extra, Pointers))
        return E;
    } catch (const std::bad_alloc &) {
      return cudaErrorMemoryAllocation;
    }
    Args = Pointers.data();
  }
  return toDriver(cudaLaunchKernelExC(&Config, Func, Args));
}

#define SHAPE                                                                  \
  unsigned GridX, unsigned GridY, unsigned GridZ, unsigned BlockX,             \
      unsigned BlockY, unsigned BlockZ, unsigned Shared

DRIVER_API cuLaunchKernel(const void *Func, SHAPE, CudaStream *Stream,
                          void **Args, void **Extra) {
  return launch({{GridX, GridY, GridZ},
                 {BlockX, BlockY, BlockZ},
                 Shared,
                 Stream,
                 nullptr,
                 0},
                Func, Args, Extra);
}
DRIVER_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

DRIVER_API cuLaunchCooperativeKernel(const void *Func, SHAPE,
                                     CudaStream *Stream, void **Args) {
  CudaLaunchAttribute Cooperative = {};
  Cooperative.Id = CudaLaunchAttributeCooperative;
  Cooperative.Words[0] = 1;
  return launch({{GridX, GridY, GridZ},
                 {BlockX, BlockY, BlockZ},
                 Shared,
                 Stream,
                 &Cooperative,
                 1},
                Func, Args, nullptr);
}
DRIVER_ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

DRIVER_API cuLaunchKernelEx(const DriverLaunchConfig *C, const void *Func,
                            void **Args, void **Extra) {
  if (!C)
    return cudaErrorInvalidValue;
  return launch(C->toRuntime(), Func, Args, Extra);
}
DRIVER_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

/// CUDA_KERNEL_NODE_PARAMS: the runtime's parameters, kernel and context.
DRIVER_API cuGraphKernelNodeGetParams_v2(CudaGraphNode *Node,
                                         CudaKernelNodeParams *P) {
  KeepLastError Keep;
  if (!P)
    return cudaErrorInvalidValue;
  const void *Rest[] = {nullptr, hostContext()};
  memcpy(P + 1, Rest, sizeof(Rest));
  return toDriver(cudaGraphKernelNodeGetParams(Node, P));
}
