// A kernel of two functions that touches few pages of its buffers, and none of
// one of them.
#include <cstdio>

extern "C" __device__ __attribute__((noinline)) unsigned mix(unsigned State) {
  State ^= State << 13;
  return State ^ State >> 17;
}

extern "C" __global__ void tint(unsigned *Pixels, float *Weights,
                                const float *Unused, int Stride, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  unsigned Pixel = Pixels[I * Stride];
  Weights[I] += 0.5f * Pixel;
  Pixels[I * Stride] = mix(Pixel);
}

int main() {
  constexpr int N = 48, Stride = 2048;
  unsigned *Pixels;
  float *Weights, *Unused;
  cudaMallocManaged(&Pixels, N * Stride * sizeof(unsigned));
  cudaMallocManaged(&Weights, N * sizeof(float));
  cudaMallocManaged(&Unused, 1 << 20);
  for (int I = 0; I < N * Stride; ++I)
    Pixels[I] = I + 1;
  for (int I = 0; I < N; ++I)
    Weights[I] = I;
  for (int I = 0; I < 1 << 18; ++I)
    Unused[I] = I;
  tint<<<4, 16>>>(Pixels, Weights, Unused, Stride, N);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
