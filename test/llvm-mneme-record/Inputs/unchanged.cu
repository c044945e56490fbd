// add() changes its memory only in the third launch of six, never() in none.
#include <cstdio>

__global__ void add(int *P, int V) { P[threadIdx.x] += V; }
__global__ void never(int *P) { P[threadIdx.x] = P[threadIdx.x]; }

int main() {
  int *P;
  cudaMalloc(&P, 64 * sizeof(int));
  cudaMemset(P, 0, 64 * sizeof(int));
  for (int V : {0, 0, 7, 0, 8, 0})
    add<<<1, 64>>>(P, V);
  for (int I = 0; I != 9; ++I)
    never<<<1, 64>>>(P);
  int Last;
  cudaMemcpy(&Last, P + 63, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", Last);
  return 0;
}
