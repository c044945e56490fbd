// --ipc leaves memory where the runtime allocates it, so that a process that is not recorded can open it. So it must where
// the driver exports no memory.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// DEFINE: %{record} = %{gpu} llvm-mneme-record --device=cuda
// RUN: %{record} -o %t/rec --ipc -- %t/app %t/handle env -u LD_PRELOAD %t/app 2>&1 | FileCheck %s
// CHECK: opened: 5
// CHECK-NOT: mneme: note
// CHECK: 1 launch seen, 1 recorded
// RUN: %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match

// RUN: not %{record} -o %t/without -- %t/app %t/handle env -u LD_PRELOAD %t/app 2>&1 | FileCheck %s --check-prefix=WITHOUT
// WITHOUT: note: device memory is shared with other processes: without --ipc, only processes that are recorded can open it
// WITHOUT: cudaIpcOpenMemHandle{{.*}} gave cudaErrorInvalidValue

// RUN: not env MNEME_EMULATED_NO_EXPORT=1 %{record} -o %t/none -- %t/app %t/handle %t/app 2>&1 | FileCheck %s --check-prefix=EXPORT
// EXPORT: error: device memory cannot be shared with other processes without --ipc: cannot export device memory: {{.*}} (CUDA_ERROR_INVALID_VALUE)
// EXPORT: cudaIpcGetMemHandle{{.*}} gave cudaErrorInvalidValue
// RUN: env MNEME_EMULATED_NO_EXPORT=1 %{record} -o %t/again --ipc -- %t/app %t/handle %t/app 2>&1 | FileCheck %s

// RUN: not llvm-mneme-record --ipc --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: --ipc and --device=host: it is for GPUs

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <fstream>
#include <string>

__global__ void add(int *P) { *P += 2; }

int main(int Argc, char **Argv) {
  cudaIpcMemHandle_t Handle;
  int *P, V = 3;
  if (Argc == 2) {
    std::ifstream(Argv[1]).read(reinterpret_cast<char *>(&Handle), sizeof(Handle));
    OK(cudaIpcOpenMemHandle((void **)&P, Handle, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaMemcpy(&V, P, sizeof(V), cudaMemcpyDeviceToHost));
    OK(cudaIpcCloseMemHandle(P));
    printf("opened: %d\n", V);
    return 0;
  }
  OK(cudaMalloc((void **)&P, sizeof(V)));
  OK(cudaMemcpy(P, &V, sizeof(V), cudaMemcpyHostToDevice));
  OK(cudaIpcGetMemHandle(&Handle, P));
  std::ofstream(Argv[1]).write(reinterpret_cast<const char *>(&Handle), sizeof(Handle));
  add<<<1, 1>>>(P);
  OK(cudaDeviceSynchronize());
  std::string Command;
  for (int I = 2; I != Argc; ++I)
    Command += std::string(Argv[I]) + " ";
  return system((Command + Argv[1]).c_str()) != 0;
}
