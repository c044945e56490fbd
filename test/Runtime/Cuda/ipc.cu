// Memory that processes share by handles: of the arena, too. Launches on memory of another process are not recorded.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cuda_cc_static -O2 %s -o %t/static %emulated_static_libs
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// RUN: %{gpu} %t/app | FileCheck %s
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind -o %t/rec -- %t/app > %t/out 2> %t/err
// RUN: FileCheck %s < %t/out
// RUN: FileCheck %s --check-prefix=ERR < %t/err
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind -o %t/static.rec -- %t/static 2>&1 | FileCheck %s --check-prefixes=CHECK,STATIC
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// CHECK: child: as it should be
// CHECK: parent: as it should be
// ERR: note: device memory is shared with other processes: without --ipc, only processes that are recorded can open it
// ERR-DAG: warning: kernel '_Z5addToPii' is not recorded: an argument points to memory of another process
// ERR-DAG: warning: kernel '_Z7throughPPi' is not recorded: memory points to memory of another process
// ERR: 4 launches seen, 2 recorded, 2 skipped
// STATIC: 4 launches seen, 2 recorded, 2 skipped
// REPLAY: addTo grid 2: Match
// REPLAY-NEXT: store grid 1: Match

#include "../Inputs/child.h"
#include <cuda_runtime.h>

__global__ void addTo(int *P, int N) { P[blockIdx.x] += N; }
__global__ void through(int **P) { **P += 100; }
__global__ void store(int *P) { *P = 7; }

struct Handles {
  cudaIpcMemHandle_t Small, Large;
};
static constexpr int LargeCount = (3 << 20) / sizeof(int) + 1;

static int at(const int *P) {
  int V;
  OK(cudaMemcpy(&V, P, sizeof(V), cudaMemcpyDeviceToHost));
  return V;
}

static int *opened(cudaIpcMemHandle_t Handle) {
  int *P;
  OK(cudaIpcOpenMemHandle((void **)&P, Handle, cudaIpcMemLazyEnablePeerAccess));
  return P;
}

static int child() {
  Handles H;
  CHECK(read(0, &H, sizeof(H)) == sizeof(H));
  int *Small = opened(H.Small), *Large = opened(H.Large), **Box, *Own;
  CHECK(at(Small) == 1 && at(Large + LargeCount - 1) == 5);
  addTo<<<1, 1>>>(Small, 10);
  OK(cudaMalloc((void **)&Box, sizeof(Large)));
  OK(cudaMemcpy(Box, &Large, sizeof(Large), cudaMemcpyHostToDevice));
  through<<<1, 1>>>(Box);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(Box));
  OK(cudaIpcCloseMemHandle(Small));
  OK(cudaIpcCloseMemHandle(Large));
  CHECK(cudaIpcCloseMemHandle(Large) != cudaSuccess);
  cudaGetLastError();
  // Once it is closed, it is in the way of no launch.
  OK(cudaMalloc((void **)&Own, sizeof(int)));
  store<<<1, 1>>>(Own);
  CHECK(at(Own) == 7);
  // Memory that is not there any more, and a handle of nobody.
  memset(&H.Large, 1, sizeof(H.Large));
  CHECK(cudaIpcOpenMemHandle((void **)&Small, H.Large, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess);
  CHECK(cudaGetLastError() != cudaSuccess);
  printf("child: as it should be\n");
  return 0;
}

int main(int Argc, char **Argv) {
  if (Argc > 1 && !strcmp(Argv[1], "child"))
    return child();
  int *Small, *Large, Ones[2] = {1, 2}, Five = 5;
  Handles H;
  OK(cudaMalloc((void **)&Small, sizeof(Ones)));
  OK(cudaMalloc((void **)&Large, LargeCount * sizeof(int)));
  OK(cudaMemcpy(Small, Ones, sizeof(Ones), cudaMemcpyHostToDevice));
  OK(cudaMemset(Large, 0, LargeCount * sizeof(int)));
  OK(cudaMemcpy(Large + LargeCount - 1, &Five, sizeof(Five), cudaMemcpyHostToDevice));
  OK(cudaIpcGetMemHandle(&H.Small, Small));
  OK(cudaIpcGetMemHandle(&H.Large, Large));
  // It is opened by others only.
  int *P;
  CHECK(cudaIpcOpenMemHandle((void **)&P, H.Small, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess);
  CHECK(cudaGetLastError() != cudaSuccess);
  runChild(Argv[0], &H, sizeof(H));
  CHECK(at(Small) == 11 && at(Large) == 100);
  addTo<<<2, 1>>>(Small, 1);
  CHECK(at(Small) == 12 && at(Small + 1) == 3);
  OK(cudaFree(Small));
  OK(cudaFree(Large));
  printf("parent: as it should be\n");
}
