// For -fgpu-rdc in one step, clang's old driver compiles the host's side of HIP first: a warning says what to do.
//
// REQUIRES: clang, amdgpu-registered-target
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %hip_cc --offload-arch=gfx90a -fgpu-rdc %s -o %t/app -L%t -Wl,--unresolved-symbols=ignore-all 2>&1 | FileCheck %s
// CHECK: warning: mneme: found no device code for 1 kernel of '{{.*}}hip-old-driver.cpp', which cannot be recorded; both sides must be compiled by one command, the device first (with -fgpu-rdc, add --offload-new-driver)
// RUN: %hip_cc --offload-arch=gfx90a -fgpu-rdc --offload-new-driver %s -o %t/app -L%t -Wl,--unresolved-symbols=ignore-all 2>&1 | count 0
// RUN: llvm-mneme-record list-kernels %t/app | FileCheck %s --check-prefix=KERNEL
// KERNEL: touch(int*)
__global__ void touch(int *P) { *P = 1; }
int main() {
  int *P;
  hipMalloc((void **)&P, 4);
  touch<<<1, 1>>>(P);
}
