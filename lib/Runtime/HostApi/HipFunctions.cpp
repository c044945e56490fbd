//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Functions of the HIP runtime without a counterpart in the CUDA runtime.
///
//===----------------------------------------------------------------------===//

#include "CudaApi.h"

using namespace mneme;

MNEME_API rt_cudaMemcpyAsync(void *, const void *, size_t, int, CudaStream *);
MNEME_API rt_cudaEventRecord(struct CudaEvent *, CudaStream *);
MNEME_API rt_cudaLaunchKernel(const void *, Dim3, Dim3, void **, size_t,
                              CudaStream *);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

#define COPY(Name, Kind)                                                       \
  MNEME_API rt_hipMemcpy##Name##Async(void *Dst, const void *Src, size_t Size, \
                                      CudaStream *S) {                         \
    return rt_cudaMemcpyAsync(Dst, Src, Size, Kind, S);                        \
  }                                                                            \
  MNEME_API rt_hipMemcpy##Name(void *Dst, const void *Src, size_t Size) {      \
    return rt_cudaMemcpyAsync(Dst, Src, Size, Kind, nullptr);                  \
  }
COPY(HtoD, cudaMemcpyHostToDevice)
COPY(DtoH, cudaMemcpyDeviceToHost)
COPY(DtoD, cudaMemcpyDeviceToDevice)
#undef COPY

/// Sets \p Count values of type T.
template <typename T>
static int setValues(void *Dst, T Value, size_t Count, CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  constexpr size_t Most = 4096;
  T Values[Most];
  for (size_t I = 0; I != Most && I != Count; ++I)
    Values[I] = Value;
  char *To = static_cast<char *>(Dst);
  for (size_t N; Count; Count -= N, To += N * sizeof(T)) {
    N = Count < Most ? Count : Most;
    if (CudaError E = Device::get().copy(To, Values, N * sizeof(T),
                                         cudaMemcpyHostToDevice))
      return done(E);
  }
  return done(cudaSuccess);
}

#define SET(Name, Type)                                                        \
  MNEME_API rt_hipMemset##Name##Async(void *Dst, Type Value, size_t Count,     \
                                      CudaStream *S) {                         \
    return setValues<Type>(Dst, Value, Count, S);                              \
  }                                                                            \
  MNEME_API rt_hipMemset##Name(void *Dst, Type Value, size_t Count) {          \
    return setValues<Type>(Dst, Value, Count, nullptr);                        \
  }
SET(D8, unsigned char)
SET(D16, unsigned short)
SET(D32, int)
#undef SET

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

MNEME_API rt_hipExtLaunchKernel(const void *Stub, Dim3 Grid, Dim3 Block,
                                void **Args, size_t DynamicShared,
                                CudaStream *S, struct CudaEvent *Start,
                                struct CudaEvent *Stop, int) {
  if (Start)
    if (int E = rt_cudaEventRecord(Start, S))
      return E;
  if (int E = rt_cudaLaunchKernel(Stub, Grid, Block, Args, DynamicShared, S))
    return E;
  return Stop ? rt_cudaEventRecord(Stop, S) : 0;
}

MNEME_API rt_hipOccupancyMaxPotentialBlockSize(int *Grid, int *Block,
                                               const void *Stub,
                                               size_t DynamicShared,
                                               int Limit) {
  HostKernel *K;
  if (CudaError E = Device::get().findKernel(Stub, K))
    return done(E);
  if (!Grid || !Block)
    return done(cudaErrorInvalidValue);
  int Most = DeviceLimits::MaxThreadsPerBlock;
  *Block = Limit > 0 && Limit < Most ? Limit : Most;
  *Grid = Device::get().multiprocessors() *
          Device::get().maxActiveBlocks(*K, *Block, DynamicShared);
  return done(cudaSuccess);
}
