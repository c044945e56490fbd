// HIP with -fgpu-rdc: kernels get functions and variables of other translation units.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// DEFINE: %{hip} = %clangxx -x hip -std=c++17 -O2 -nogpuinc -nogpulib -fdeclspec --offload-arch=gfx90a --offload-new-driver -fgpu-rdc \
// DEFINE:   -fpass-plugin=%mneme_pass -include %S/../Instrument/Inputs/minihip.h
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %{hip} -c %s -o %t/main.o
// RUN: %{hip} -c %s -o %t/other.o -DOTHER
// RUN: %clangxx --offload-link --hip-link -nogpulib --offload-new-driver %t/main.o %t/other.o -o %t/app -L%t -lamdhip64 -Wl,-rpath,%t \
// RUN:   -Wl,--unresolved-symbols=ignore-all
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// RUN: llvm-mneme-record list-kernels --static-hash --json %t/app > %t/kernels.json
// RUN: %python %S/../Instrument/Inputs/same-code.py %t/kernels.json %t/rec | FileCheck %s --check-prefix=AGREE
// RUN: %python %S/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// RUN: %python %S/Inputs/resources.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=RESOURCES
// CHECK: 1102, counter 6
// CHECK: 3 launches seen, 3 recorded, 0 skipped
// AGREE: 3 kernels, 3 with code, 3 recordings, all of them
// REPLAY-COUNT-3: Match
// RESOURCES-COUNT-3: vgpr {{[1-9]}}

__device__ int helper(int X);

#ifdef OTHER
__device__ int Counter = 5;
static __device__ int Hidden = 1000;
__device__ int helper(int X) { return X + 100; }
namespace {
__global__ void hidden(int *P) { *P += Hidden++; }
} // namespace
void other(int *P) { hidden<<<1, 1>>>(P); }
#else
extern "C" {
int printf(const char *, ...);
int hipMemcpy(void *, const void *, size_t, int);
int hipMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
}
extern __device__ int Counter;
static __device__ int Hidden = 1;
namespace {
__global__ void hidden(int *P) { *P += Hidden++; }
} // namespace
__global__ void kernel(int *P) {
  *P = helper(*P);
  ++Counter;
}
void other(int *P);

int main() {
  int *D, H = 1, C = 0;
  hipMalloc(reinterpret_cast<void **>(&D), 4);
  hipMemcpy(D, &H, 4, 1);
  kernel<<<1, 1>>>(D);
  hidden<<<1, 1>>>(D);
  other(D);
  hipMemcpy(&H, D, 4, 2);
  hipMemcpyFromSymbol(&C, &Counter, 4, 0, 2);
  printf("%d, counter %d\n", H, C);
}
#endif
