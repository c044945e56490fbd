// Attributes of a launch pass through if their meaning is known. Clusters of blocks
// keep their launch shape.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{variant} = variant=%t/tuned.cubin entry=tuned
// RUN: mneme-package %t/same %t/app kernel=_Z4fillPi %{variant}
// RUN: mneme-package %t/cover %t/app kernel=_Z4fillPi %{variant} launch=cover block=8 grade=proven
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED_REPORT=- MNEME_EMULATED_LOG=%t/log
// RUN: %{run} MNEME_TUNED=%t/same %t/app 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: cluster: tuned
// SAME: programmatic: tuned
// SAME: updatable: plain
// SAME: 1 fell back: launched with an attribute that Mneme does not know
// RUN: FileCheck %s --check-prefix=LOG < %t/log
// LOG: launch attribute 4: 2
// LOG: launch attribute 6: 1
// LOG-NOT: launch attribute 13
// RUN: %{run} MNEME_TUNED=%t/cover %t/app 2>&1 | FileCheck %s --check-prefix=COVER
// COVER: cluster: plain
// COVER: programmatic: tuned
// COVER: 1 fell back: changes a launch with clusters

#ifdef TUNED
extern "C" __global__ void tuned(int *P) { *P = 1; }
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

__global__ void fill(int *P) { *P = 2; }

int main() {
  int *D, H;
  setvbuf(stdout, nullptr, _IONBF, 0);
  OK(cudaMalloc(&D, 4));
  cudaLaunchAttribute A[3] = {};
  A[0].id = cudaLaunchAttributeClusterDimension;
  A[0].val.clusterDim.x = 2;
  A[0].val.clusterDim.y = A[0].val.clusterDim.z = 1;
  A[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  A[1].val.programmaticStreamSerializationAllowed = 1;
  A[2].id = cudaLaunchAttributeDeviceUpdatableKernelNode;
  const char *Names[] = {"cluster", "programmatic", "updatable"};
  for (int I = 0; I != 3; ++I) {
    cudaLaunchConfig_t C = {};
    C.gridDim = 2;
    C.blockDim = 4;
    C.attrs = &A[I];
    C.numAttrs = 1;
    OK(cudaLaunchKernelEx(&C, fill, D));
    OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
    printf("%s: %s\n", Names[I], H == 1 ? "tuned" : "plain");
  }
}
#endif
