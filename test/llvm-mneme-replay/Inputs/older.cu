// A kernel whose IR has what older LLVMs write in another form.
#include <cstdio>
#include <cuda_runtime.h>

struct Range {
  float Least, Largest;
};

__device__ Range order(float A, float B) {
  return {fminf(A, B), fmaxf(A, B)};
}

__global__ void __launch_bounds__(64, 2)
    kernel(const float *In, float *Out, unsigned *Count) {
  __shared__ float Values[64];
  unsigned I = threadIdx.x;
  Values[I] = expf(fabsf(In[I]));
  __syncthreads();
  Range R = order(Values[I], Values[63 - I]);
  float Sum = R.Least - sqrtf(R.Largest);
  for (int Delta = 16; Delta != 0; Delta /= 2)
    Sum += __shfl_down_sync(0xffffffff, Sum, Delta);
  if (Sum > 1)
    atomicAdd(Count, 1u);
#ifdef COUNT
  Sum += __syncthreads_count(Sum > 0);
#endif
  Out[I] = Sum;
}

int main() {
  float Host[64], *In, *Out;
  unsigned *Count;
  for (int I = 0; I < 64; ++I)
    Host[I] = 0.03f * (I - 20);
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  cudaMalloc(&Count, sizeof(*Count));
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  cudaMemset(Count, 0, sizeof(*Count));
  kernel<<<1, 64>>>(In, Out, Count);
  std::printf("%d\n", cudaDeviceSynchronize());
  return 0;
}
