// clang's driver makes functions of AMDGPU internal before the passes (-amdgpu-internalize-symbols), and so do its
// pipelines here: the constant argument of mix() is then known in it.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %clangxx -x hip -std=c++17 -O3 -nogpuinc -nogpulib -fdeclspec --offload-arch=gfx90a -fpass-plugin=%mneme_pass \
// RUN:   -include %S/../Instrument/Inputs/minihip.h %s -o %t/app -L%t -Wl,-rpath,%t
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app
// RUN: llvm-mneme-replay %t/rec --no-execute --compare-with-app=%t/app --format=text | FileCheck %s --check-prefix=SAME
// SAME: machine code    identical to {{.*}}app
//
// Pipelines of opt have no settings of clang's driver.
// RUN: not llvm-mneme-replay %t/rec --no-execute --compare-with-app=%t/app --format=text --passes=O3 | FileCheck %s --check-prefix=OPT
// OPT: machine code    differs from

__attribute__((noinline)) __device__ unsigned mix(unsigned A, unsigned B, unsigned L) {
  switch (L) {
  case 7: B += A & 0xffffff; A += B; break;
  case 6: B += A & 0xffff; A += B; break;
  case 5: B += A & 0xff; A += B; break;
  case 4: A += B; break;
  case 3: A += B & 0xffffff; break;
  case 2: A += B & 0xffff; break;
  case 1: A += B & 0xff; break;
  case 0: return B;
  }
  B ^= A; B -= (A << 14) | (A >> 18);
  A ^= B; A -= (B << 11) | (B >> 21);
  B ^= A; B -= (A << 25) | (A >> 7);
  return B;
}

__global__ void hash(unsigned *P, unsigned N) {
  unsigned I = threadIdx.x, A = P[I];
  for (unsigned J = 0; J < N; ++J)
    A = mix(A, J, 7);
  P[I] = A;
}

int main() {
  unsigned *D;
  hipMalloc((void **)&D, 64 * sizeof(unsigned));
  hash<<<1, 64>>>(D, 30);
}
