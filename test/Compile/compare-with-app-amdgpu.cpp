// The machine code of a replay is that of the application for AMD's GPUs, too: code, descriptor, metadata.
// Variables and functions are elsewhere there, as it has more of them.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// DEFINE: %{more} = --offload-arch=gfx90a
// DEFINE: %{build} = %clangxx -x hip -std=c++17 -O2 -nogpuinc -nogpulib -fdeclspec %{more} -fpass-plugin=%mneme_pass \
// DEFINE:   -include %S/../Instrument/Inputs/minihip.h %s -o %t/app -L%t -Wl,-rpath,%t
// DEFINE: %{record} = rm -rf %t/rec && llvm-mneme-record --device=host -o %t/rec -- %t/app
// DEFINE: %{compare} = llvm-mneme-replay %t/rec --no-execute --compare-with-app=%t/app --format=text
// RUN: %{build} && %{record} && %{compare} | FileCheck %s --check-prefix=SAME
// SAME: machine code    identical to {{.*}}app except for the addresses of variables
//
// RUN: not %{compare} --passes='clang<O0>' | FileCheck %s --check-prefix=OTHER
// OTHER: machine code    differs from {{.*}}app
// RUN: llvm-mneme-replay %t/rec --no-execute --compare-with-app=%t/app | FileCheck %s --check-prefix=JSON
// JSON:      "difference": null
// JSON-NEXT: "first_difference": null
// JSON-NEXT: "identical": true
// JSON:      "relocations": "equal"
// JSON:      "registers": [[REGS:[0-9]+]]
// JSON:      "reg_usage": [[REGS]]
//
// Another architecture, and one that the application does not have.
// REDEFINE: %{more} = --offload-arch=gfx942 --offload-arch=gfx1100 --offload-compress
// RUN: %{build} && %{record} && %{compare} | FileCheck %s --check-prefix=SAME
// RUN: not %{compare} --arch=gfx90a 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: error: '{{.*}}app': no machine code of kernel '{{.*}}' for gfx90a, only for gfx{{942|1100}}, gfx{{942|1100}}

__device__ int Before[100];
__device__ int Counter;
__device__ int Table[4] = {1, 2, 3, 4};

__global__ void other(int *P) { Before[threadIdx.x] = *P; }

__attribute__((noinline)) __device__ int pick(int I) {
  switch (I) {
  case 0: return Counter;
  case 1: return Table[1];
  default: return Table[I & 3];
  }
}

__global__ void add(int *P, int N) {
  __shared__ int Sums[64];
  Sums[threadIdx.x] = P[threadIdx.x];
  __syncthreads();
  P[threadIdx.x] = Sums[threadIdx.x ^ 1] + pick(N);
  if (threadIdx.x == 0)
    Counter += N;
}

int main() {
  int *D;
  hipMalloc((void **)&D, 64 * sizeof(int));
  add<<<1, 64>>>(D, 3);
  if (!D)
    other<<<1, 1>>>(D);
}
