// In one block, all threads have read before one writes: it also works in place, but not in several blocks.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void rotate(const int *A, int *C, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  int V = A[(I + 70) % N];
  __syncthreads();
  for (int R = 0; R < 3000; ++R)
    V = V * 3 ^ R;
  C[I] = V;
}

// A kernel whose buffers no guard can compare.
struct Node { int *Data; };
__global__ void follow(const Node *List, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  List->Data[I] = I % N;
}

int main(int Argc, char **) {
  const int N = 256;
  static int H[N];
  for (int I = 0; I < N; ++I)
    H[I] = I;
  int *A, *C;
  Node *List;
  cudaMalloc(&A, sizeof(H));
  cudaMalloc(&C, sizeof(H));
  cudaMalloc(&List, sizeof(Node));
  cudaMemcpy(List, &C, sizeof(C), cudaMemcpyHostToDevice);
  follow<<<1, N>>>(List, 10);
  cudaMemcpy(A, H, sizeof(H), cudaMemcpyHostToDevice);
  if (Argc > 1)
    C = A;
  rotate<<<1, N>>>(A, C, N);
  cudaMemcpy(H, C, sizeof(H), cudaMemcpyDeviceToHost);
  for (int V : H)
    printf("%d\n", V);
}
