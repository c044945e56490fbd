#ifndef SCALE_H
#define SCALE_H
#include <cassert>
#if __has_include(<not_there.h>)
#include <not_there.h>
#endif

#define FACTOR 3

namespace {
struct Twice {
  __device__ float operator()(float X) const { return X + X; }
};
} // namespace

__device__ float scale(float X) { return X * FACTOR; }

// Template arguments come from the includer.
template <class Fn> __global__ void apply(float *P, int N, Fn F) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  assert(N > 0);
  if (I < N)
    P[I] = F(scale(P[I]));
}
#endif
