// Kernels that give the same for every block size if N is 4096, and otherwise
// depend on it, except for the last one.
//   app [N]
#include <cstdio>
#include <cstdlib>

constexpr int Full = 4096;

struct Block {
  __device__ static int size() { return blockDim.x; }
};

// The block size, in a function that is inlined.
__global__ void hidden(unsigned *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I] = N == Full ? I : I % Block::size();
}

// The order of floating-point additions.
__global__ void rounded(float *Sum, int N) {
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N;
       I += gridDim.x * blockDim.x)
    atomicAdd(Sum, N == Full ? 1.0f : 1.0f / (I + 1));
}

// Shared memory for as many elements as a block has threads.
__global__ void mirrored(unsigned *Out, int N) {
  extern __shared__ unsigned Elements[];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Elements[threadIdx.x] = I;
  __syncthreads();
  if (I < N)
    Out[I] = N == Full ? I : Elements[blockDim.x - 1 - threadIdx.x];
}

// Some threads return before the barrier.
__global__ void early(unsigned *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  unsigned Threads = __syncthreads_count(I & 1);
  Out[I] = N == Full ? I : Threads;
}

// Each thread does the same with other blocks, and integers can be added in
// any order.
__global__ void counted(unsigned *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  if (I)
    Out[I] = I;
  atomicAdd(&Out[0], N);
}

int main(int Argc, char **Argv) {
  int N = Argc > 1 ? atoi(Argv[1]) : Full;
  static unsigned H[Full];
  unsigned *D;
  cudaMalloc(&D, sizeof(H));
  auto Print = [&](const char *Name) {
    cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost);
    unsigned Hash = 0;
    for (unsigned V : H)
      Hash = Hash * 31 + V;
    printf("%s %u\n", Name, Hash);
    cudaMemset(D, 0, sizeof(H));
  };
  cudaMemset(D, 0, sizeof(H));
  dim3 Grid(Full / 128), Threads(128);
  hidden<<<Grid, Threads>>>(D, N);
  Print("hidden");
  mirrored<<<Grid, Threads, 128 * sizeof(unsigned)>>>(D, N);
  Print("mirrored");
  early<<<Grid, Threads>>>(D, N);
  Print("early");
  counted<<<Grid, Threads>>>(D, N);
  Print("counted");
  float Sum;
  rounded<<<Grid, Threads>>>(reinterpret_cast<float *>(D), N);
  cudaMemcpy(&Sum, D, sizeof(Sum), cudaMemcpyDeviceToHost);
  printf("rounded %.2f\n", Sum);
}
