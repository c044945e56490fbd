// Payloads, index and hooks are in the linked object whatever the linker and what it
// does; two files have kernels of the same name.
// REQUIRES: cuda-toolkit, nvptx-registered-target
// DEFINE: %{flags} =
// DEFINE: %{link} =
// DEFINE: %{compile} = %cuda_cc_plain -fpass-plugin=%mneme_pass -Wno-unused-command-line-argument %{flags} -c
// DEFINE: %{build} = %clangxx %t/a.o %t/b.o -L%cuda_path/lib64 -Wl,-rpath,%cuda_path/lib64 -lcudart -o %t/app %{link}
// DEFINE: %{check} = %t/app 2>&1 | diff %t/plain.txt - && env LD_PRELOAD=%t/attach.so %t/app > %t/out.txt && FileCheck %s < %t/out.txt \
// DEFINE:   && llvm-mneme-record list-kernels %t/app | FileCheck %s --check-prefix=LIST
// RUN: rm -rf %t && split-file %s %t
// RUN: %clangxx -shared -fPIC -I%mneme_src/include %S/Inputs/attach.cpp -o %t/attach.so
// RUN: %cuda_cc_plain %t/a.cu %t/b.cu -lcudart -o %t/plain
// RUN: %t/plain > %t/plain.txt 2>&1

// Position independent, which is the default.
// REDEFINE: %{flags} = -O2 -ffunction-sections -fdata-sections
// RUN: %{compile} %t/a.cu -o %t/a.o
// RUN: %{compile} %t/b.cu -o %t/b.o
// REDEFINE: %{link} = -fuse-ld=bfd
// RUN: %{build}
// RUN: %{check}
// REDEFINE: %{link} = -fuse-ld=bfd -Wl,--gc-sections -s
// RUN: %{build}
// RUN: %{check}
// REDEFINE: %{link} = -fuse-ld=lld
// RUN: %{build}
// RUN: %{check}
// REDEFINE: %{link} = -fuse-ld=lld -Wl,--gc-sections -Wl,--icf=safe -s
// RUN: %{build}
// RUN: %{check}

// Two runs of the linker.
// RUN: ld -r %t/a.o %t/b.o -o %t/both.o
// RUN: %clangxx -c -x c++ /dev/null -o %t/a.o
// RUN: cp %t/both.o %t/b.o
// RUN: %{build}
// RUN: %{check}

// Not position independent.
// REDEFINE: %{flags} = -O0 -fno-pie
// RUN: %{compile} %t/a.cu -o %t/a.o
// RUN: %{compile} %t/b.cu -o %t/b.o
// REDEFINE: %{link} = -no-pie -fuse-ld=bfd -Wl,--gc-sections
// RUN: %{build}
// RUN: %{check}
// REDEFINE: %{link} = -no-pie -fuse-ld=lld -Wl,--gc-sections
// RUN: %{build}
// RUN: %{check}

// With link-time optimization of the host.
// REDEFINE: %{flags} = -O2 -Xarch_host -flto
// RUN: %{compile} %t/a.cu -o %t/a.o
// RUN: %{compile} %t/b.cu -o %t/b.o
// REDEFINE: %{link} = -fuse-ld=lld -flto -O2
// RUN: %{build}
// RUN: %{check}

// One command for both files, and all at once.
// RUN: %cuda_cc_plain -fpass-plugin=%mneme_pass %t/a.cu %t/b.cu -lcudart -o %t/app
// RUN: %{check}

// CHECK:     attach
// CHECK-DAG: index kernel _ZL6kernelPf for sm_90 from a.cu
// CHECK-DAG: index kernel _ZL6kernelPf for sm_90 from b.cu
// CHECK-DAG: index variable counter for sm_90 from a.cu
// CHECK:     hook cudaMalloc
// CHECK-NOT: attach
// CHECK:     fake malloc 16

// LIST:      3 kernels
// LIST-DAG:  source: a.cu
// LIST-DAG:  source: b.cu

//--- a.cu
#include <cstdio>
__device__ int counter;
static __global__ void kernel(float *P) {
  P[0] = 1;
  counter = 2;
}
void other(float *D);
int main() {
  float *D = nullptr;
  printf("%s\n", cudaGetErrorString(cudaMalloc(&D, 16)));
  kernel<<<1, 1>>>(D);
  printf("%d\n", cudaGetLastError());
  other(D);
  cudaFree(D);
}
//--- b.cu
#include <cstdio>
template <typename T> static __global__ void more(T *P) { P[1] = 2; }
static __global__ void kernel(float *P) { P[0] = 3; }
void other(float *D) {
  kernel<<<1, 1>>>(D);
  more<<<1, 1>>>(D);
  printf("%d\n", cudaGetLastError());
}
