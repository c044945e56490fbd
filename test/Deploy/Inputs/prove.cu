// A program for llvm-mneme-deploy prove: launches a kernel three times, and then does as its
// argument says.
#ifdef TUNED
extern "C" __global__ void same(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] += N;
}
extern "C" __global__ void wrong(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] += N + (blockIdx.x == 1);
}
extern "C" __global__ void hangs(int *P, int N) {
  while (*(volatile int *)P >= 0)
    ;
}
extern "C" __global__ void dies(int *P, int N) { __trap(); }
#else
#include "../../Runtime/Inputs/check.h"
#include <algorithm>
#include <cuda_runtime.h>
#include <time.h>
#include <unistd.h>

__global__ void add(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] += N;
}

/// Adds a byte to a file, and returns its size.
static long countRuns(const char *Path) {
  FILE *F = fopen(Path, "a");
  fputc('.', F);
  long Size = ftell(F);
  fclose(F);
  return Size;
}

int main(int Argc, char **Argv) {
  const char *Mode = Argc > 1 ? Argv[1] : "";
  if (!strcmp(Mode, "clear"))
    clearenv();
  int *D, H[128];
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  // The first four runs: two without packages, and a pair.
  bool IsLater = !strcmp(Mode, "later") && countRuns(Argv[2]) > 4;
  for (int N : {1, 2, 3})
    if (strcmp(Mode, "idle"))
      add<<<IsLater ? 2 : 4, IsLater ? 64 : 32>>>(D, N);
  if (cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost)) {
    fprintf(stderr, "the kernel failed\n");
    return 4;
  }
  if (!strcmp(Mode, "exit"))
    return 3;
  if (!strcmp(Mode, "abort"))
    abort();
  if (!strcmp(Mode, "hang"))
    sleep(1000);
  if (!strcmp(Mode, "silent") || !strcmp(Mode, "clear"))
    return H[40] == 6 ? 0 : 5;
  if (!strcmp(Mode, "file")) {
    FILE *F = fopen(Argv[2], "w");
    fprintf(F, "%d\n", H[40]);
    return fclose(F);
  }
  if (!strcmp(Mode, "random")) {
    timespec T;
    clock_gettime(CLOCK_REALTIME, &T);
    H[127] = T.tv_nsec;
    std::rotate(H, H + H[127] % 100, H + 127);
  }
  for (int Value : H)
    printf("%d\n", Value);
}
#endif
