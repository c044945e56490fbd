// With -fgpu-rdc, a kernel gets what it needs of other translation units: functions,
// templates, variables, with the initial values of the unit that defines them. Locals
// of one name stay apart; a weak definition gives way; a shared library is a link of
// its own. Tools that read the file find the same code.
//
// REQUIRES: cuda-toolkit, device-host
// DEFINE: %{mode} = -O2
// DEFINE: %{cc} = %cuda_cc %{mode} -fgpu-rdc -I%t -I%S/../Runtime/Inputs -Wno-unused-command-line-argument
// DEFINE: %{compile} = %{cc} -c %t/main.cu -o %t/main.o && %{cc} -c %t/lib.cu -o %t/lib.o && %{cc} -fPIC -c %t/shared.cu -o %t/shared.o \
// DEFINE:   && %{cc} -fPIC -c %t/more.cu -o %t/more.o
// DEFINE: %{link} = %{cc} -shared --offload-link %t/shared.o %t/more.o -o %t/libshared.so \
// DEFINE:   && %{cc} --offload-link %t/main.o %t/lib.o -o %t/app -L%t -lshared -Wl,-rpath,%t
// DEFINE: %{record} = rm -rf %t/rec && llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s && llvm-mneme-record check %t/rec
// DEFINE: %{agree} = llvm-mneme-record list-kernels --static-hash --json %t/app %t/libshared.so > %t/kernels.json \
// DEFINE:   && %python %S/Inputs/same-code.py %t/kernels.json %t/rec
// RUN: rm -rf %t && split-file %s %t
// RUN: %{compile} && %{link}
// RUN: %{record}
// RUN: %{agree} | FileCheck %s --check-prefix=AGREE
// RUN: %python %S/../Runtime/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// RUN: llvm-mneme-record show %t/rec | FileCheck %s --check-prefix=SHOW

// A static library, stripped.
// RUN: llvm-ar rcs %t/liblib.a %t/lib.o
// RUN: %{cc} --offload-link -s %t/main.o -o %t/app -L%t -llib -lshared -Wl,-rpath,%t
// RUN: %{record}
// RUN: %{agree} | FileCheck %s --check-prefix=AGREE

// Linked as IR by the application, too.
// REDEFINE: %{mode} = -O3 -foffload-lto
// RUN: %{compile} && %{link}
// RUN: %{record}
// RUN: %{agree} | FileCheck %s --check-prefix=AGREE
// REDEFINE: %{mode} = -O0 -g
// RUN: %{compile} && %{link}
// RUN: %{record}
// RUN: %{agree} | FileCheck %s --check-prefix=AGREE

// CHECK: -114 13.5 29.5, counter 12 12
// CHECK: mneme: 6 launches seen, 5 recorded, 1 skipped
// CHECK: 1 skipped: its code calls functions whose addresses are in memory
// AGREE: 6 kernels, 6 with code, 5 recordings, all of them
// REPLAY-COUNT-2: {{^}} grid 1: Match
// REPLAY-DAG: functions grid 1: Match
// REPLAY-DAG: library grid 1: Match
// REPLAY-DAG: variables grid 1: Match
// SHOW-DAG: variable 'Counter': 4 bytes
// SHOW-DAG: variable 'Where': 8 bytes
// SHOW-DAG: variable 'Factors': 8 bytes
// SHOW-DAG: variable '_ZL6Hidden__unit__{{[0-9a-f]*}}': 4 bytes {{.*}}, 1 bytes changed

// What the executable does not have is named.
// RUN: %cuda_cc_plain -O2 -fgpu-rdc -I%t -c %t/lib.cu -o %t/lib.o
// RUN: %{cc} -O2 --offload-link %t/main.o %t/lib.o -o %t/app -L%t -lshared -Wl,-rpath,%t
// RUN: llvm-mneme-record list-kernels --static-hash %t/app | FileCheck %s --check-prefix=MISSING
// MISSING-DAG: static: none, function '_Z5shiftf' belongs to another translation unit

//--- common.h
#pragma once
#include <cstdio>
extern __device__ int Counter;
extern __constant__ float Factors[2];
extern __device__ int *Where;
__device__ float shift(float X);
__device__ int *slot(int I);
typedef float (*Op)(float);
extern __device__ Op Ops[2];
template <typename T> struct Table { static __device__ T Values[4]; };
template <typename T> __device__ T Table<T>::Values[4] = {1, 2, 3, 4};
template <typename T> __device__ __noinline__ T twice(T X) { return X + X; }
//--- main.cu
#include "common.h"
#include "check.h"
// Same names in both units, but things of their own.
static __device__ int Hidden = 5;
static __device__ __noinline__ int hidden() { return Hidden++; }
__device__ __attribute__((weak)) int answer() { return 1; }
namespace {
__global__ void anonymous(float *Y) { Y[threadIdx.x] += hidden(); }
}
__global__ void functions(float *Y) { Y[threadIdx.x] = twice(shift(Y[threadIdx.x])) + answer(); }
__global__ void variables(float *Y) {
  if (!threadIdx.x) {
    ++Counter;
    ++*Where;
    *slot(1) = Counter;
  }
  __syncthreads();
  Y[threadIdx.x] = Y[threadIdx.x] * Factors[1] + Table<int>::Values[threadIdx.x & 3];
}
__global__ void pointers(float *Y) { Y[threadIdx.x] = Ops[threadIdx.x & 1](Y[threadIdx.x]); }
void other(float *Y);
int counter();
extern "C" void fromLibrary(float *Y);
int main() {
  float *Y, H[32], F[2] = {1, 0.5f};
  for (int I = 0; I < 32; ++I) H[I] = I;
  OK(cudaMalloc(&Y, sizeof(H)));
  OK(cudaMemcpy(Y, H, sizeof(H), cudaMemcpyHostToDevice));
  functions<<<1, 32>>>(Y);
  OK(cudaGetLastError());
  OK(cudaMemcpyToSymbol(Factors, F, sizeof(F)));
  variables<<<1, 32>>>(Y);
  pointers<<<1, 32>>>(Y);
  anonymous<<<1, 1>>>(Y);
  other(Y);
  fromLibrary(Y);
  OK(cudaMemcpy(H, Y, sizeof(H), cudaMemcpyDeviceToHost));
  int C;
  OK(cudaMemcpyFromSymbol(&C, Counter, sizeof(C)));
  printf("%g %g %g, counter %d %d\n", H[0], H[1], H[31], C, counter());
}
//--- lib.cu
#include "common.h"
__device__ int Counter = 10;
__constant__ float Factors[2] = {3, 4};
__device__ int *Where = &Counter;
static __device__ int Hidden = 100;
static __device__ __noinline__ int hidden() { return Hidden++; }
__device__ float shift(float X) { return X + Factors[0]; }
__device__ int *slot(int I) { static __device__ int Slots[4]; return &Slots[I]; }
static __device__ float negate(float X) { return -X; }
static __device__ float half(float X) { return X / 2; }
__device__ Op Ops[2] = {negate, half};
__device__ int answer() { return 42; }
namespace {
__global__ void anonymous(float *Y) { Y[threadIdx.x] += hidden() + twice(1) + Table<int>::Values[3]; }
}
void other(float *Y) { anonymous<<<1, 1>>>(Y); }
int counter() { int C = 0; cudaMemcpyFromSymbol(&C, Counter, sizeof(C)); return C; }
//--- shared.cu
#include "common.h"
__global__ void library(float *Y) { Y[threadIdx.x] = shift(Y[threadIdx.x]); }
extern "C" void fromLibrary(float *Y) { library<<<1, 1>>>(Y); }
//--- more.cu
#include "common.h"
__device__ float shift(float X) { return X - 200; }
