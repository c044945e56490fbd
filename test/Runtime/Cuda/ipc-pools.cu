// Memory of pools that processes share stays the runtime's. Imported memory is another process's, in arguments and in memory.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// RUN: %{gpu} %t/app | FileCheck %s
// RUN: %{gpu} llvm-mneme-record --device=cuda -o %t/rec -- %t/app 2>&1 | FileCheck %s --check-prefixes=CHECK,RECORD
// RECORD-DAG: warning: kernel '_Z3addPi' is not recorded: an argument points to memory of another process
// RECORD-DAG: warning: kernel '_Z7throughPPi' is not recorded: memory points to memory of another process
// CHECK: as it should be
// RECORD: 2 launches seen, 0 recorded, 2 skipped

#include "../Inputs/child.h"
#include <cuda_runtime.h>

__global__ void add(int *P) { *P += 10; }
__global__ void through(int **P) { **P += 100; }

static int at(const int *P) {
  int V;
  OK(cudaMemcpy(&V, P, sizeof(V), cudaMemcpyDeviceToHost));
  return V;
}

static int child() {
  cudaMemPoolPtrExportData Data;
  cudaMemPoolProps Props = {};
  cudaMemPool_t Pool;
  int *P, **Box;
  CHECK(read(0, &Data, sizeof(Data)) == sizeof(Data));
  // A stand-in for an imported pool.
  OK(cudaMemPoolCreate(&Pool, &Props));
  OK(cudaMemPoolImportPointer((void **)&P, Pool, &Data));
  CHECK(at(P) == 1);
  add<<<1, 1>>>(P);
  OK(cudaMalloc((void **)&Box, sizeof(P)));
  OK(cudaMemcpy(Box, &P, sizeof(P), cudaMemcpyHostToDevice));
  through<<<1, 1>>>(Box);
  OK(cudaFreeAsync(P, 0));
  OK(cudaDeviceSynchronize());
  return 0;
}

int main(int Argc, char **Argv) {
  if (Argc > 1)
    return child();
  cudaMemPoolProps Props = {};
  cudaMemPoolPtrExportData Data;
  cudaMemPool_t Pool;
  int *P, One = 1;
  Props.allocType = cudaMemAllocationTypePinned;
  Props.location.type = cudaMemLocationTypeDevice;
  Props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  OK(cudaMemPoolCreate(&Pool, &Props));
  OK(cudaMallocFromPoolAsync((void **)&P, sizeof(*P), Pool, 0));
  OK(cudaMemcpy(P, &One, sizeof(One), cudaMemcpyHostToDevice));
  OK(cudaMemPoolExportPointer(&Data, P));
  runChild(Argv[0], &Data, sizeof(Data));
  CHECK(at(P) == 111);
  OK(cudaFreeAsync(P, 0));
  OK(cudaDeviceSynchronize());
  printf("as it should be\n");
}
