// HIP: the index goes by handle, not by stub; managed variables; two architectures.
// REQUIRES: clang, amdgpu-registered-target
// DEFINE: %{arch} = --offload-arch=gfx942
// DEFINE: %{mode} =
// DEFINE: %{hip} = %clangxx -x hip -nogpuinc -nogpulib -fdeclspec -include %S/Inputs/minihip.h %{arch} %{mode} -L%t -Wl,-rpath,%t %s
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %clangxx -shared -fPIC -I%mneme_src/include %S/Inputs/attach.cpp -o %t/attach.so

// RUN: %{hip} -O2 -o %t/plain
// RUN: %t/plain > %t/plain.txt

// RUN: %{hip} -O2 -fpass-plugin=%mneme_pass -o %t/app
// RUN: %t/app | diff %t/plain.txt -
// RUN: env LD_PRELOAD=%t/attach.so %t/app | FileCheck %s
// RUN: llvm-mneme-record list-kernels %t/app | FileCheck %s --check-prefix=LIST

// REDEFINE: %{mode} = -O0 --offload-new-driver
// RUN: %{hip} -fpass-plugin=%mneme_pass -o %t/new
// RUN: %t/new | diff %t/plain.txt -
// RUN: env LD_PRELOAD=%t/attach.so %t/new | FileCheck %s

// REDEFINE: %{mode} = -O1 --offload-new-driver -fgpu-rdc
// RUN: %{hip} -fpass-plugin=%mneme_pass -o %t/rdc
// RUN: %t/rdc | sort > %t/rdc.txt
// RUN: sort %t/plain.txt | diff - %t/rdc.txt
// RUN: env LD_PRELOAD=%t/attach.so %t/rdc | FileCheck %s

// REDEFINE: %{mode} = -O3
// REDEFINE: %{arch} = --offload-arch=gfx90a --offload-arch=gfx942
// RUN: %{hip} -fpass-plugin=%mneme_pass -o %t/two
// RUN: %t/two | diff %t/plain.txt -
// RUN: env LD_PRELOAD=%t/attach.so %t/two | FileCheck %s
// RUN: env LD_PRELOAD=%t/attach.so %t/two | FileCheck %s --check-prefix=TWO
// RUN: llvm-mneme-record list-kernels %t/two | FileCheck %s --check-prefix=LIST-TWO

// The old driver of HIP, when it links too, compiles the host first: we must say that
// nothing can be embedded.
// REDEFINE: %{mode} = -O2 --no-offload-new-driver -fgpu-rdc
// REDEFINE: %{arch} = --offload-arch=gfx942
// RUN: %{hip} -fpass-plugin=%mneme_pass -o %t/old 2>&1 | FileCheck %s --check-prefix=OLD

// CHECK:     attach
// CHECK-DAG: index kernel scale for gfx942 from hip.cpp: size 0 flags 0 host set
// CHECK-DAG: index kernel _Z4fillIiEvPT_S0_ for gfx942
// CHECK-DAG: index variable factor for gfx942 from hip.cpp: size 4 flags 1 host set
// CHECK-DAG: index variable total for gfx942 from hip.cpp: size 8 flags 0 host set
// CHECK-DAG: index variable shared for gfx942 from hip.cpp: size 12 flags 2 host set
// CHECK-DAG: hook hipMalloc
// CHECK-DAG: hook hipLaunchKernel
// CHECK:     fake malloc 256
// CHECK-DAG: launch scale grid 4 block 64
// CHECK-DAG: launch _Z4fillIiEvPT_S0_ grid 1 block 2
// CHECK:     fake free

// TWO-DAG: index kernel scale for gfx90a from
// TWO-DAG: index kernel scale for gfx942 from

// LIST:      2 kernels
// LIST-DAG:  target: gfx942 (amdgcn-amd-amdhsa)
// LIST-DAG:  arguments: 8 (pointer), 4, 12

// LIST-TWO: 4 kernels

// OLD: warning: mneme: found no device code for 2 kernels of '{{.*}}hip.cpp'

__constant__ float factor;
__device__ double total;
__managed__ int shared[3];

struct Shift {
  int X, Y, Z;
};

extern "C" __global__ __launch_bounds__(64) void scale(float *P, int N,
                                                       Shift S) {
  __shared__ float Tile[64];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Tile[threadIdx.x] = I < N ? P[I] : 0;
  __syncthreads();
  if (I < N)
    P[I] = Tile[63 - threadIdx.x] * factor + S.Y + shared[1];
  total = 1;
}

template <typename T> __global__ void fill(T *P, T Value) {
  P[threadIdx.x] = Value;
}

int main() {
  void *P;
  if (hipMalloc(&P, 256) != hipSuccess)
    return 1;
  scale<<<dim3(4), dim3(64)>>>(static_cast<float *>(P), 64, Shift{1, 2, 3});
  fill<<<1, 2>>>(static_cast<int *>(P), 7);
  return hipFree(P);
}
