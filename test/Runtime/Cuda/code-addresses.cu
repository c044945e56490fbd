// Kernels whose memory has addresses of code in it: replays have their code
// elsewhere.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// Without optimization, too, where addresses pass through memory that does not count.
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.O0.rec -- %t.O0 2>&1 > %t.out | FileCheck %s --check-prefix=ERR
// RUN: FileCheck %s < %t.out
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc %python %S/Inputs/replay-all.py llvm-mneme-replay %t.O0.rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// CHECK: all is well
// ERR-DAG: warning: kernel '{{.*}}make{{.*}}' is not recorded: its code stores addresses of functions
// ERR-DAG: warning: kernel '{{.*}}measure{{.*}}' is not recorded: its code calls functions whose addresses are in memory
// ERR: 5 launches seen, 2 recorded, 3 skipped
// ERR-DAG: 2 skipped: its code calls functions whose addresses are in memory
// REPLAY: choose grid 1: Match
// REPLAY-NEXT: own grid 1: Match

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <new>

struct Shape {
  __device__ virtual int area() const { return 0; }
};
struct Square : Shape {
  int Side;
  __device__ Square(int Side) : Side(Side) {}
  __device__ int area() const override { return Side * Side; }
};

__global__ void make(Square *P) { new (P) Square(3); }
__global__ void measure(const Shape *P, int *To) { *To = P->area(); }
/// Its own object: nothing of it is left.
__global__ void own(int *To) {
  Square S(4);
  const Shape &Any = S;
  *To = Any.area();
}

using Operation = int (*)(int);
__device__ int twice(int A) { return 2 * A; }
__device__ int half(int A) { return A / 2; }
__device__ Operation Table[] = {twice, half};
__global__ void lookUp(int *P, int Which) { *P = Table[Which](*P); }
/// Chosen by the launch itself.
__global__ void choose(int *P, int Which) {
  Operation F = Which ? half : twice;
  *P = F(*P);
}

int main() {
  int *D, H;
  Square *S;
  OK(cudaMalloc((void **)&D, sizeof(int)));
  OK(cudaMalloc((void **)&S, sizeof(Square)));
  OK(cudaMemset(S, 0, sizeof(Square)));
  make<<<1, 1>>>(S);
  measure<<<1, 1>>>(S, D);
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H == 9);
  own<<<1, 1>>>(D);
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H == 16);
  lookUp<<<1, 1>>>(D, 1);
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H == 8);
  choose<<<1, 1>>>(D, 0);
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H == 16);
  OK(cudaDeviceSynchronize());
  printf("all is well\n");
}
