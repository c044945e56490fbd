// __managed__ variables of HIP programs: both sides use them in place, and a replay
// finds what was in them.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %clangxx -x hip -O2 -nogpuinc -nogpulib -fdeclspec --offload-arch=gfx90a -fpass-plugin=%mneme_pass -include %S/../Instrument/Inputs/minihip.h %s \
// RUN:   -o %t/app -L%t -Wl,-rpath,%t -Wl,--unresolved-symbols=ignore-all
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: 12 3
// CHECK: mneme: 1 launch seen, 1 recorded
// RUN: llvm-mneme-record check %t/rec
// RUN: ls %t/rec/*.json | xargs -n 1 llvm-mneme-replay --passes='default<O2>'

extern "C" int printf(const char *, ...);

__managed__ int Counter = 5;
__managed__ int Table[3] = {1, 2, 3};

__global__ void add(int N) {
  Counter += N;
  Table[0] = 3;
}

int main() {
  Counter += 1;
  add<<<1, 1>>>(6);
  hipDeviceSynchronize();
  printf("%d %d\n", Counter, Table[0]);
}
