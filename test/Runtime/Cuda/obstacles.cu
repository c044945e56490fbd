// Launches that cannot be recorded: each has its reason, and happens all the same.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_DEVICES=2 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// ERR-DAG: warning: kernel '_Z7clusterPi' is not recorded: launched with a preferred size of clusters
// ERR-DAG: warning: kernel '_Z8private_Pi' is not recorded: variable '_ZL7Private' exists only in device code
// ERR-DAG: warning: kernel '_Z8indirectPPi' is not recorded: memory points to memory of another device
// ERR-DAG: warning: kernel '_Z8pageablePi' is not recorded: an argument points to host memory that is unknown to CUDA
// ERR: 9 launches seen, 5 recorded, 4 skipped
// ERR-DAG: 1 skipped: memory points to memory of another device
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// SHOW: together(int*)
// SHOW: grid 2x1x1, block 1x1x1, dynamic shared memory 0, launches 1, cooperative
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: captured grid 1: Match
// REPLAY-NEXT: elsewhere grid 1: Match
// REPLAY-NEXT: foreign grid 1: Match
// REPLAY-NEXT: inside grid 1: Match
// REPLAY-NEXT: together grid 2 cooperative: Match

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <dlfcn.h>

struct Pair {
  int *A, *B;
};

static __device__ int Private;

__global__ void captured(int *P) { ++*P; }
__global__ void foreign(int *P) { ++*P; }
__global__ void inside(Pair P) { ++*P.B; }
__global__ void indirect(int **P) { ++**P; }
__global__ void pageable(int *P) { ++*P; }
__global__ void cluster(int *P) { ++*P; }
__global__ void together(int *P) { ++P[blockIdx.x]; }
__global__ void elsewhere(int *P) { ++*P; }
__global__ void private_(int *P) { *P += ++Private; }

int main() {
  int *D, *Foreign, *Second;
  OK(cudaMalloc(&D, 100));
  OK(cudaMemset(D, 0, 100));
  // By the driver, past the runtime: recorded like the runtime's.
  void *Driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto Alloc = reinterpret_cast<int (*)(int **, size_t)>(
      dlsym(Driver, "cuMemAlloc_v2"));
  auto Free = reinterpret_cast<int (*)(int *)>(dlsym(Driver, "cuMemFree_v2"));
  CHECK(!Alloc(&Foreign, 4));
  OK(cudaMemset(Foreign, 0, 4));

  cudaStream_t S;
  cudaGraph_t G;
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  captured<<<1, 1, 0, S>>>(D);
  OK(cudaStreamEndCapture(S, &G));
  // It is recorded where it runs.
  captured<<<1, 1, 0, S>>>(D);
  OK(cudaStreamSynchronize(S));

  foreign<<<1, 1>>>(Foreign);
  inside<<<1, 1>>>(Pair{D, Foreign});

  cudaLaunchConfig_t C = {};
  cudaLaunchAttribute A = {};
  C.gridDim = C.blockDim = {1, 1, 1};
  C.attrs = &A;
  C.numAttrs = 1;
  A.id = cudaLaunchAttributePreferredClusterDimension;
  A.val.clusterDim.x = 2;
  A.val.clusterDim.y = A.val.clusterDim.z = 1;
  OK(cudaLaunchKernelEx(&C, cluster, D));
  A.id = cudaLaunchAttributeCooperative;
  A.val.cooperative = 1;
  C.gridDim.x = 2;
  OK(cudaLaunchKernelEx(&C, together, D));

  private_<<<1, 1>>>(D);
  static int OnHost;
  pageable<<<1, 1>>>(&OnHost);
  OK(cudaDeviceSynchronize());
  CHECK(OnHost == 1);

  OK(cudaSetDevice(1));
  OK(cudaMalloc(&Second, 4));
  OK(cudaMemset(Second, 0, 4));
  // The emulated devices may see each other's memory.
  OK(cudaSetDevice(0));
  int **Place;
  OK(cudaMalloc(&Place, sizeof(Second)));
  OK(cudaMemcpy(Place, &Second, sizeof(Second), cudaMemcpyHostToDevice));
  indirect<<<1, 1>>>(Place);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(Place));
  OK(cudaSetDevice(1));
  elsewhere<<<1, 1>>>(Second);
  int There;
  OK(cudaMemcpy(&There, Second, 4, cudaMemcpyDeviceToHost));
  OK(cudaFree(Second));
  OK(cudaSetDevice(0));

  int H[2], F;
  OK(cudaMemcpy(H, D, 8, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(&F, Foreign, 4, cudaMemcpyDeviceToHost));
  OK(cudaFree(D));
  CHECK(!Free(Foreign));
  // CHECK: 4 1, 2, 2
  printf("%d %d, %d, %d\n", H[0], H[1], F, There);
}
