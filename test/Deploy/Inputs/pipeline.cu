// Appends to a file whether passes have computed the result of a loop: 0 or 1, 2 if
// a tuned kernel was launched.
#include <cstdio>

#ifndef TUNED
__global__ void ask(int *out) {
  int sum = 0;
  for (int i = 0; i < 7; ++i)
    sum += i * i;
  *out = __builtin_constant_p(sum);
}

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
