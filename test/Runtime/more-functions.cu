// Functions that few programs call: those of memory, pools, streams and peers.
//
// REQUIRES: cuda-toolkit
// RUN: %cuda_cc %s -o %t
// RUN: env LD_PRELOAD=%mneme_rt %t | FileCheck %s
// RUN: %cuda_cc -DCUDA_API_PER_THREAD_DEFAULT_STREAM %s -o %t.ptds
// RUN: env LD_PRELOAD=%mneme_rt %t.ptds | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>

static void hostMemory() {
  unsigned Flags = 0;
  char *P;
  OK(cudaHostAlloc((void **)&P, 100, cudaHostAllocMapped | cudaHostAllocWriteCombined));
  P[99] = 1;
  OK(cudaHostGetFlags(&Flags, P));
  CHECK(Flags & cudaHostAllocMapped);
  void *Device;
  OK(cudaHostGetDevicePointer(&Device, P, 0));
  CHECK(Device == P);
  OK(cudaFreeHost(P));
  EXPECT(cudaErrorInvalidValue, cudaHostGetFlags(&Flags, P));
  EXPECT(cudaErrorInvalidValue, cudaHostGetDevicePointer(&Device, P, 0));
  // What malloc gave is nobody's here, and that is all that happens.
  void *Foreign = malloc(16);
  EXPECT(cudaErrorInvalidValue, cudaFree(Foreign));
  EXPECT(cudaErrorInvalidValue, cudaFreeHost(Foreign));
  EXPECT(cudaErrorInvalidValue, cudaFreeAsync(Foreign, 0));
  free(Foreign);
  EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(&Flags));
  cudaGetLastError();
}

static void copies() {
  int *A, *B, H[16], Back[16];
  for (int I = 0; I < 16; ++I)
    H[I] = I;
  OK(cudaMalloc(&A, sizeof(H)));
  OK(cudaMalloc(&B, sizeof(H)));
  const void *Sources[] = {H, H + 8};
  void *Targets[] = {A + 8, A};
  size_t Sizes[] = {32, 32}, Zero = 0;
  cudaMemcpyAttributes How = {};
  How.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  cudaStream_t S;
  OK(cudaStreamCreateWithFlags(&S, cudaStreamNonBlocking));
  OK(cudaMemcpyBatchAsync(Targets, Sources, Sizes, 2, &How, &Zero, 1, S));
  OK(cudaMemcpyPeerAsync(B, 0, A, 0, sizeof(H), S));
  OK(cudaMemcpy(Back, B, sizeof(H), cudaMemcpyDeviceToHost));
  for (int I = 0; I < 16; ++I)
    CHECK(Back[I] == (I + 8) % 16);
  EXPECT(cudaErrorInvalidValue, cudaMemcpyBatchAsync(Targets, Sources, Sizes, 0, &How, &Zero, 1, S));
  EXPECT(cudaErrorInvalidDevice, cudaMemcpyPeerAsync(B, 1, A, 0, 4, S));

  // 3 columns of 2 rows, by way of the device.
  OK(cudaMemset2DAsync(A, 16, 0xff, 12, 2, S));
  OK(cudaMemcpy2DAsync(Back, 12, A, 16, 12, 2, cudaMemcpyDeviceToHost, S));
  CHECK(Back[0] == -1 && Back[5] == -1 && Back[6] == 14);
  cudaPitchedPtr From = make_cudaPitchedPtr(A, 16, 16, 2);
  OK(cudaMemset3DAsync(From, 0, make_cudaExtent(4, 2, 2), S));
  cudaMemcpy3DPeerParms Box = {};
  Box.srcPtr = From;
  Box.dstPtr = make_cudaPitchedPtr(B, 16, 16, 2);
  Box.extent = make_cudaExtent(8, 2, 2);
  OK(cudaMemcpy3DPeer(&Box));
  OK(cudaMemcpy3DPeerAsync(&Box, S));
  OK(cudaMemcpy(Back, B, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(!Back[0] && Back[1] == -1 && Back[2] == 10 && !Back[4] && !Back[12]);
  OK(cudaStreamDestroy(S));
  OK(cudaFree(A));
  OK(cudaFree(B));
  cudaGetLastError();
}

static void pools() {
  cudaMemPool_t Default, Current, Own;
  OK(cudaDeviceGetDefaultMemPool(&Default, 0));
  OK(cudaDeviceGetMemPool(&Current, 0));
  CHECK(Default == Current);
  cudaMemPoolProps Props = {};
  Props.allocType = cudaMemAllocationTypePinned;
  Props.location = {cudaMemLocationTypeDevice, {0}};
  OK(cudaMemPoolCreate(&Own, &Props));
  OK(cudaDeviceSetMemPool(0, Own));
  cudaMemAccessDesc Access = {Props.location, cudaMemAccessFlagsProtReadWrite};
  OK(cudaMemPoolSetAccess(Own, &Access, 1));
  cudaMemAccessFlags Flags;
  OK(cudaMemPoolGetAccess(&Flags, Own, &Props.location));
  CHECK(Flags == cudaMemAccessFlagsProtReadWrite);
#if CUDART_VERSION >= 13000
  OK(cudaMemGetDefaultMemPool(&Current, &Props.location, Props.allocType));
  CHECK(Current == Default);
  OK(cudaMemSetMemPool(&Props.location, Props.allocType, Own));
  void *Ptrs[1];
  size_t Sizes[1] = {64}, Zero = 0;
  OK(cudaMallocManaged(&Ptrs[0], 64));
  OK(cudaMemPrefetchBatchAsync(Ptrs, Sizes, 1, &Props.location, &Zero, 1, 0, 0));
  OK(cudaFree(Ptrs[0]));
#endif
  char *P;
  OK(cudaMallocFromPoolAsync((void **)&P, 64, Own, 0));
  OK(cudaMemsetAsync(P, 0, 64, 0));
  OK(cudaFreeAsync(P, 0));
  OK(cudaMemPoolDestroy(Own));
}

static void streams() {
  cudaStream_t S, Other;
  OK(cudaStreamCreate(&S));
  OK(cudaStreamCreate(&Other));
  cudaStreamAttrValue Value = {};
  Value.accessPolicyWindow.hitRatio = 1;
  OK(cudaStreamSetAttribute(S, cudaStreamAttributeAccessPolicyWindow, &Value));
  OK(cudaStreamGetAttribute(S, cudaStreamAttributeAccessPolicyWindow, &Value));
  CHECK(Value.accessPolicyWindow.num_bytes == 0);
  OK(cudaStreamCopyAttributes(Other, S));
  int Id = 5;
  OK(cudaStreamGetDevice(S, &Id));
  CHECK(Id == 0);
  cudaStreamCaptureMode Mode = cudaStreamCaptureModeRelaxed;
  OK(cudaThreadExchangeStreamCaptureMode(&Mode));
  CHECK(Mode == cudaStreamCaptureModeGlobal);
  OK(cudaThreadExchangeStreamCaptureMode(&Mode));
  CHECK(Mode == cudaStreamCaptureModeRelaxed);
  void *M;
  OK(cudaMallocManaged(&M, 8));
  OK(cudaStreamAttachMemAsync(S, M, 0, cudaMemAttachSingle));
  EXPECT(cudaErrorInvalidValue, cudaStreamAttachMemAsync(S, &Id, 0, cudaMemAttachSingle));
  OK(cudaFree(M));
  OK(cudaStreamDestroy(S));
  EXPECT(cudaErrorInvalidResourceHandle, cudaStreamCopyAttributes(Other, S));
  OK(cudaStreamDestroy(Other));
  cudaGetLastError();
}

/// There is one device.
static void devices() {
  int Count, Id, Value;
  OK(cudaGetDeviceCount(&Count));
  CHECK(Count == 1);
  EXPECT(cudaErrorInvalidDevice, cudaSetDevice(1));
  OK(cudaInitDevice(0, 0, 0));
  int Valid[] = {0};
  OK(cudaSetValidDevices(Valid, 1));
  cudaDeviceProp P;
  OK(cudaGetDeviceProperties(&P, 0));
  OK(cudaChooseDevice(&Id, &P));
  CHECK(Id == 0);
  EXPECT(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&Value, 0, 1));
  EXPECT(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(1, 0));
  EXPECT(cudaErrorInvalidDevice, cudaDeviceDisablePeerAccess(1));
  EXPECT(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&Value, cudaDevP2PAttrAccessSupported, 0, 1));
  OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  cudaFuncCache Cache;
  OK(cudaDeviceGetCacheConfig(&Cache));
  EXPECT(cudaErrorInvalidDevice, cudaPeekAtLastError());
  EXPECT(cudaErrorInvalidDevice, cudaGetLastError());
  OK(cudaPeekAtLastError());
}

int main() {
  hostMemory();
  copies();
  pools();
  streams();
  devices();
  // CHECK: all as it should be
  printf("all as it should be\n");
}
