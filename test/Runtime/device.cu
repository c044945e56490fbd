// REQUIRES: cuda-toolkit
// RUN: %cuda_cc %s -o %t
// RUN: env LD_PRELOAD=%mneme_rt %t | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <sched.h>

// The architecture that the device reports is the payload's.
__global__ void kernel() {}

int main() {
  int N, Id;
  cudaDeviceProp P;
  OK(cudaGetDeviceCount(&N));
  CHECK(N == 1);
  OK(cudaSetDevice(0));
  EXPECT(cudaErrorInvalidDevice, cudaSetDevice(1));
  EXPECT(cudaErrorInvalidDevice, cudaGetDeviceProperties(&P, 1));
  EXPECT(cudaErrorInvalidDevice, cudaGetLastError());
  OK(cudaGetDevice(&Id));
  CHECK(Id == 0);
  // CHECK: name Mneme host device (x86-64)
  OK(cudaGetDeviceProperties(&P, 0));
  printf("name %s\n", P.name);
  // CHECK: compute capability 9.0, warps of 32
  printf("compute capability %d.%d, warps of %d\n", P.major, P.minor, P.warpSize);

  cpu_set_t Set;
  CHECK(!sched_getaffinity(0, sizeof(Set), &Set));
  CHECK(P.multiProcessorCount == CPU_COUNT(&Set));
  CHECK(P.maxThreadsPerBlock == 1024 && P.sharedMemPerBlock == 48 << 10);
  CHECK(P.totalGlobalMem > 1 << 20 && P.managedMemory && P.clusterLaunch);

  // Attributes say what properties say.
  struct { cudaDeviceAttr Attr; long long Want; } Table[] = {
      {cudaDevAttrMaxThreadsPerBlock, P.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimZ, P.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, P.maxGridSize[0]},
      {cudaDevAttrMaxGridDimZ, P.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, (int)P.sharedMemPerBlock},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)P.sharedMemPerBlockOptin},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)P.sharedMemPerMultiprocessor},
      {cudaDevAttrWarpSize, P.warpSize},
      {cudaDevAttrMultiProcessorCount, P.multiProcessorCount},
      {cudaDevAttrComputeCapabilityMajor, P.major},
      {cudaDevAttrComputeCapabilityMinor, P.minor},
      {cudaDevAttrMaxThreadsPerMultiProcessor, P.maxThreadsPerMultiProcessor},
      {cudaDevAttrL2CacheSize, P.l2CacheSize},
      {cudaDevAttrUnifiedAddressing, P.unifiedAddressing},
      {cudaDevAttrConcurrentManagedAccess, P.concurrentManagedAccess},
      {cudaDevAttrCooperativeLaunch, P.cooperativeLaunch},
      {cudaDevAttrMemoryPoolsSupported, P.memoryPoolsSupported},
      {cudaDevAttrClusterLaunch, P.clusterLaunch}};
  for (auto &Row : Table) {
    int V = -1;
    OK(cudaDeviceGetAttribute(&V, Row.Attr, 0));
    CHECK(V == Row.Want);
  }
  int V;
  EXPECT(cudaErrorInvalidValue, cudaDeviceGetAttribute(&V, (cudaDeviceAttr)9999, 0));
  EXPECT(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&V, cudaDevAttrWarpSize, 3));

  size_t Limit;
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  OK(cudaDeviceGetLimit(&Limit, cudaLimitMallocHeapSize));
  CHECK(Limit == 64 << 20);
  EXPECT(cudaErrorUnsupportedLimit, cudaDeviceSetLimit((cudaLimit)99, 1));
  EXPECT(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(1, 0));
  char Bus[16];
  OK(cudaDeviceGetPCIBusId(Bus, sizeof(Bus), 0));
  OK(cudaDeviceGetByPCIBusId(&Id, Bus));
  CHECK(Id == 0);
  OK(cudaRuntimeGetVersion(&V));
  CHECK(V >= 12000);
  OK(cudaDriverGetVersion(&V));
  OK(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  unsigned Flags;
  OK(cudaGetDeviceFlags(&Flags));
  CHECK(Flags & cudaDeviceScheduleSpin);

  // There is no driver behind the runtime.
  void *Fn = &V;
  cudaDriverEntryPointQueryResult Found;
  EXPECT(cudaErrorNotSupported, cudaGetDriverEntryPointByVersion("cuMemAlloc", &Fn, 12000, 0, &Found));
  CHECK(!Fn && Found == cudaDriverEntryPointSymbolNotFound);
  cudaGetLastError();
  OK(cudaDeviceSynchronize());
  OK(cudaDeviceReset());
  // CHECK: all as it should be
  printf("all as it should be\n");
}
