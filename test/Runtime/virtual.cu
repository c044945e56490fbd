// Objects with virtual functions, and pointers to functions, that one kernel makes and another one uses: the program runs. With -fgpu-rdc,
// the functions may be those of another file. The launches that call them are skipped with the reason.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: %cuda_cc -O2 -I%S -DALL=1 use.cu -o app
// RUN: llvm-mneme-record --device=host -o rec -- ./app > out 2>&1
// RUN: FileCheck %s < out
// RUN: for F in use make; do %cuda_cc -fgpu-rdc -O2 -I%S -c $F.cu -o $F.o || exit 1; done
// RUN: %cuda_cc -fgpu-rdc use.o make.o -o linked
// RUN: llvm-mneme-record --device=host -o linked.rec -- ./linked > out 2>&1
// RUN: FileCheck %s < out
// CHECK: all as it should be
// CHECK: mneme: 2 launches seen, 0 recorded, 2 skipped
// CHECK-DAG: 1 skipped: its code stores addresses of functions
// CHECK-DAG: 1 skipped: its code calls functions whose addresses are in memory

#--- shapes.h
struct Shape {
  __device__ virtual float area() const = 0;
};
using Scale = float (*)(float);
struct Place {
  char Bytes[16];
  Scale Larger;
};
#--- make.cu
#include "shapes.h"
#include <new>
#include <cuda_runtime.h>
namespace {
struct Square : Shape {
  float Side;
  __device__ Square(float Side) : Side(Side) {}
  __device__ float area() const override { return Side * Side; }
};
struct Circle : Shape {
  float Radius;
  __device__ Circle(float Radius) : Radius(Radius) {}
  __device__ float area() const override { return 3 * Radius * Radius; }
};
} // namespace
static __device__ float twice(float X) { return 2 * X; }
static __device__ float thrice(float X) { return 3 * X; }

__global__ void make(Place *P) {
  int I = threadIdx.x;
  if (I % 2)
    new (&P[I]) Square(I);
  else
    new (&P[I]) Circle(I);
  P[I].Larger = I % 3 ? twice : thrice;
}
void launchMake(Place *P, int N) { make<<<1, N>>>(P); }
#--- use.cu
#if ALL
#include "make.cu"
#else
#include "shapes.h"
#include <cuda_runtime.h>

void launchMake(Place *P, int N);
#endif
#include "Inputs/check.h"

__global__ void use(Place *P, float *Out) {
  Place &Mine = P[threadIdx.x];
  Out[threadIdx.x] = Mine.Larger(reinterpret_cast<Shape *>(&Mine)->area());
}

int main() {
  constexpr int N = 32;
  Place *P;
  float *Out, H[N];
  OK(cudaMalloc(&P, N * sizeof(Place)));
  OK(cudaMalloc(&Out, sizeof(H)));
  launchMake(P, N);
  use<<<1, N>>>(P, Out);
  OK(cudaMemcpy(H, Out, sizeof(H), cudaMemcpyDeviceToHost));
  for (int I = 0; I < N; ++I)
    CHECK(H[I] == (I % 3 ? 2 : 3) * (I % 2 ? I * I : 3 * I * I));
  printf("all as it should be\n");
}
