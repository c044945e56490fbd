// Two libraries and a program, each with a CUDA runtime of its own inside: calls go
// on to the runtime that they would have reached, and variables are found where
// they were registered. A third library links the shared runtime.
//
// RUN: rm -rf %t* && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -DPART=1 -o %t/one.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -DPART=2 -o %t/two.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -DPART=3 -o %t/three.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/main.bc
// DEFINE: %{library} = -O2 -shared -fPIC -fvisibility=hidden -Wl,--exclude-libs,ALL
// RUN: %cuda_cc_static %{library} %s -DPART=1 -o %t/libone.so %emulated_static_libs
// RUN: %cuda_cc_static %{library} %s -DPART=2 -o %t/libtwo.so %emulated_static_libs
// RUN: %cuda_cc %{library} %s -DPART=3 -o %t/libthree.so
// RUN: %cuda_cc_static -O2 %s -o %t/app -L%t -lone -Wl,-rpath,%t %emulated_static_libs
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t %t/app %t | FileCheck %s
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t llvm-mneme-record --device=cuda -o %t/rec -- %t/app %t 2>&1 | FileCheck %s --check-prefixes=CHECK,ERR
// CHECK: one 11 two 102 three 1003 main 7
// CHECK: errors: one 0 two 2 main 0
// ERR: 4 launches seen, 4 recorded, 0 skipped
// RUN: llvm-mneme-record show %t/rec | FileCheck %s --check-prefix=SHOW
// SHOW-DAG: variable 'Value1': 4 bytes {{.*}}, 1 bytes changed
// SHOW-DAG: variable 'Value2': 4 bytes {{.*}}, 1 bytes changed
// SHOW-DAG: variable 'Value3': 4 bytes
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-4: Match

#include "../Inputs/check.h"
#include <cuda_runtime.h>

#define NAME_(A, B) A##B
#define NAME(A, B) NAME_(A, B)

#ifdef PART
__device__ int NAME(Value, PART) = PART;
__global__ void NAME(kernel, PART)(int *P, int N) {
  *P = NAME(Value, PART) + N;
  ++NAME(Value, PART);
}
extern "C" __attribute__((visibility("default"))) int NAME(run, PART)(int N) {
  int *D, H = 0;
  OK(cudaMalloc(&D, 4));
  NAME(kernel, PART)<<<1, 1>>>(D, N);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  OK(cudaFree(D));
  return H;
}
extern "C" __attribute__((visibility("default"))) int NAME(fail, PART)() {
  int *D;
  return cudaMalloc(&D, size_t(1) << 60);
}
extern "C" __attribute__((visibility("default"))) int NAME(last, PART)() {
  return cudaGetLastError();
}
#else
#include <dlfcn.h>
#include <string>

__global__ void kernel(int *P) { *P = 7; }

extern "C" int run1(int), last1();

int main(int, char **Argv) {
  std::string Dir = Argv[1];
  void *Two = dlopen((Dir + "/libtwo.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  void *Three = dlopen((Dir + "/libthree.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(Two && Three);
  auto Run2 = reinterpret_cast<int (*)(int)>(dlsym(Two, "run2"));
  auto Run3 = reinterpret_cast<int (*)(int)>(dlsym(Three, "run3"));
  int *D, H;
  OK(cudaMalloc(&D, 4));
  kernel<<<1, 1>>>(D);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  int One = run1(10), TwoResult = Run2(100), ThreeResult = Run3(1000);
  printf("one %d two %d three %d main %d\n", One, TwoResult, ThreeResult, H);
  // Each has its own last error.
  reinterpret_cast<int (*)()>(dlsym(Two, "fail2"))();
  int Last1 = last1(), Last2 = reinterpret_cast<int (*)()>(dlsym(Two, "last2"))();
  printf("errors: one %d two %d main %d\n", Last1, Last2, cudaGetLastError());
}
#endif
