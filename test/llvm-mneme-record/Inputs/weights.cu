// Nearly all of the time goes to the second shape of heavy, which comes last.
#include <cstdio>

__global__ void light(int *P) { *P += 1; }

__global__ void heavy(int *P, int Rounds) {
  int Sum = 0;
  for (int I = 0; I != Rounds; ++I)
    Sum = Sum * 31 + *(volatile int *)P + I;
  if (threadIdx.x == 0)
    atomicAdd(P, Sum & 1);
}

int main() {
  int *P, Result;
  cudaMalloc(&P, sizeof(int));
  cudaMemset(P, 0, sizeof(int));
  for (int I = 0; I != 3; ++I)
    light<<<1, 1>>>(P);
  heavy<<<1, 32>>>(P, 10);
  heavy<<<2, 64, 16>>>(P, 400000);
  cudaMemcpy(&Result, P, sizeof(int), cudaMemcpyDeviceToHost);
  printf("result %d\n", Result & 1);
}
