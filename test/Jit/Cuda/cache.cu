// Images for GPUs are in the cache, too. The architecture and ptxas are in their keys. Images that the driver refuses are not used.
//
// RUN: rm -rf %t && mkdir -p %t/cuda/bin %servers/gpu
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{env} = MNEME_CUDA_PATH=%cuda_path
// DEFINE: %{run} = %jit_gpu XDG_RUNTIME_DIR=%servers/gpu MNEME_EMULATED_KERNELS=%t/plain.bc MNEME_JIT_CACHE=%t/cache \
// DEFINE:   MNEME_JIT_REPORT=%t/report %{env} %t/app && %jit_report %t/report | FileCheck %s --check-prefix
// DEFINE: %{new} = %{run}=NEW && %{run}=OLD
// NEW: served=1 fell_back=0 compiled=1 from_cache=0 shared=0
// OLD: served=1 fell_back=0 compiled=0 from_cache=1 shared=0
// RUN: %{new}
// REDEFINE: %{env} = MNEME_CUDA_PATH=%cuda_path MNEME_EMULATED_ARCH=sm_100
// RUN: %{new}
// RUN: cp %cuda_path/bin/ptxas %t/cuda/bin && echo >> %t/cuda/bin/ptxas
// REDEFINE: %{env} = MNEME_CUDA_PATH=%t/cuda
// RUN: %{new}
// REDEFINE: %{env} = MNEME_CUDA_PATH=%cuda_path MNEME_JIT_SPECIALIZE=
// RUN: %{new}
// REDEFINE: %{env} = MNEME_CUDA_PATH=%cuda_path
// RUN: %{run}=OLD
//
// A ptxas that makes images for other GPUs, and one that fails.
// RUN: printf '#!/bin/sh\nexec %cuda_path/bin/ptxas $(echo "$@" | sed s/sm_90/sm_100/)\n' > %t/cuda/bin/ptxas
// REDEFINE: %{env} = MNEME_CUDA_PATH=%t/cuda
// RUN: %{run}=NONE
// NONE: served=0 fell_back=1 compiled=0 from_cache=0 shared=0
// RUN: %jit_report %t/report fill | FileCheck %s --check-prefix=IMAGE
// IMAGE: 1 ran as compiled: the code cannot be loaded
// RUN: printf '#!/bin/sh\necho broken >&2; exit 1\n' > %t/cuda/bin/ptxas
// RUN: %{run}=NONE
// RUN: %jit_report %t/report fill | FileCheck %s --check-prefix=PTXAS
// PTXAS: 1 ran as compiled: does not compile
// PTXAS: broken

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__attribute__((annotate("jit", 1))) __global__ void fill(int N, int *P) {
  P[threadIdx.x] = N;
}

int main() {
  int *P, H[32];
  OK(cudaMalloc(&P, sizeof(H)));
  fill<<<1, 32>>>(5, P);
  OK(cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost));
  return H[0] != 5 || H[31] != 5;
}
