// Appends to a file whether passes have inlined a function: 0 or 1, 2 if a tuned
// kernel was launched.
#include <cstdio>

#ifndef TUNED
__device__ int isInlined(int x) { return __builtin_constant_p(x); }
__global__ void ask(int *out) { *out = isInlined(4); }

int main(int, char **argv) {
  int *d, answer = 9;
  cudaMalloc(&d, sizeof(answer));
  ask<<<1, 1>>>(d);
  cudaMemcpy(&answer, d, sizeof(answer), cudaMemcpyDeviceToHost);
  FILE *log = fopen(argv[1], "a");
  fprintf(log, "%d\n", answer);
  return fclose(log);
}
#else
extern "C" __global__ void tuned(int *out) { *out = 2; }
#endif
