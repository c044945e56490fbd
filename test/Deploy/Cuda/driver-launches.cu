// Launches through the driver are not served, but counted.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 %s -o %t/app -L%cuda_path/lib64/stubs -lcuda
// RUN: mneme-package %t/app.mneme %t/app kernel=add variant=%t/tuned.cubin entry=tuned
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED=%t/app.mneme
// RUN: %{run} MNEME_TUNED_REPORT=- %t/app 2>&1 | FileCheck %s
// CHECK: mneme: launches: 1 served by tuned kernels, 0 fell back
// CHECK-NEXT: mneme: launches through the driver, which are not served: 2
// CHECK: 109, invalid handle 400
// RUN: %{run} MNEME_TUNED_REPORT=%t/report %t/app
// RUN: FileCheck %s --check-prefix=JSON < %t/report
// JSON: "through_driver": 2,

#ifdef TUNED
extern "C" __global__ void tuned(int *P, int N) { *P += N + 100; }
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda.h>
#include <cuda_runtime.h>

extern "C" __global__ void add(int *P, int N) { *P += N; }

// As much of a fat binary as the emulated driver looks at.
static const unsigned Image[4] = {0xba55ed50};

int main() {
  int *D, H = 0, Four = 4;
  OK(cudaMalloc(&D, 4));
  OK(cudaMemset(D, 0, 4));
  add<<<1, 1>>>(D, 1);

  CUmodule Module;
  CUfunction Function;
  CHECK(cuModuleLoadData(&Module, Image) == CUDA_SUCCESS);
  CHECK(cuModuleGetFunction(&Function, Module, "add") == CUDA_SUCCESS);
  void *Args[] = {&D, &Four};
  CHECK(cuLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr) ==
        CUDA_SUCCESS);
  CHECK(cuLaunchCooperativeKernel(Function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                  Args) == CUDA_SUCCESS);
  int Wrong =
      cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  printf("%d, invalid handle %d\n", H, Wrong);
}
#endif
