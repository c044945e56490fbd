// With -ffast-math, clang's code generator fuses multiplications and additions that the source keeps apart, which HIP's
// default does not do. The IR does not say so, except by the flags of other instructions.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// DEFINE: %{more} =
// DEFINE: %{build} = %clangxx -x hip -std=c++17 -O3 %{more} -nogpuinc -nogpulib -fdeclspec --offload-arch=gfx90a -fpass-plugin=%mneme_pass \
// DEFINE:   -include %S/../Instrument/Inputs/minihip.h %s -o %t/app -L%t -Wl,-rpath,%t
// DEFINE: %{record} = rm -rf %t/rec && llvm-mneme-record --device=host -o %t/rec -- %t/app
// DEFINE: %{compare} = llvm-mneme-replay %t/rec --no-execute --compare-with-app=%t/app --format=text
// RUN: %{build} && %{record} && %{compare} | FileCheck %s --check-prefix=SAME
// RUN: not %{compare} --fp-fusion=fast | FileCheck %s --check-prefix=OTHER
// REDEFINE: %{more} = -ffast-math
// RUN: %{build} && %{record} && %{compare} | FileCheck %s --check-prefix=SAME
// RUN: not %{compare} --fp-fusion=standard | FileCheck %s --check-prefix=OTHER
// SAME: machine code    identical to {{.*}}app
// OTHER: machine code    differs from {{.*}}app

__device__ float apart(float A, float B, float C) {
#pragma clang fp contract(off) reassociate(off) reciprocal(off)
  return A * B + C;
}

__global__ void both(float *P, float A) {
  unsigned I = threadIdx.x;
  P[I] = apart(P[I], A, 1) / A - P[I + 64];
}

int main() {
  float *D;
  hipMalloc((void **)&D, 128 * sizeof(float));
  both<<<1, 64>>>(D, 2);
}
