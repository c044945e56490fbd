// One kernel, launched as the arguments say, and what ran: the tests' program.
//
//   app [SHAPE]...   GRIDxBLOCK[+SHARED][c][e]: c cooperative, e through
//                    cudaLaunchKernelExC with a priority
//   exitCODE         ends the program
//   TO=FROM          renames FROM to TO, or truncates TO if FROM is empty
#ifdef TUNED
extern "C" __global__ void tuned(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x << 8 | 1;
}
extern "C" __global__ void __launch_bounds__(64) bounded(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x << 8 | 2;
}
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <unistd.h>

__global__ void fill(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x << 8;
}

int main(int Argc, char **Argv) {
  int *D, H[1024], N = 7;
  setvbuf(stdout, nullptr, _IONBF, 0);
  OK(cudaMalloc(&D, sizeof(H)));
  // An error that the application has not seen yet, and that stays.
  cudaSetDevice(1000);
  for (int I = 1; I < Argc; ++I) {
    if (!strncmp(Argv[I], "exit", 4))
      return atoi(Argv[I] + 4);
    if (char *From = strchr(Argv[I], '=')) {
      *From++ = 0;
      CHECK(!(*From ? rename(From, Argv[I]) : truncate(Argv[I], 100)));
      continue;
    }
    unsigned Grid = 0, Block = 0;
    size_t Shared = 0;
    sscanf(Argv[I], "%ux%u+%zu", &Grid, &Block, &Shared);
    OK(cudaMemset(D, 0, sizeof(H)));
    cudaError_t E;
    void *Args[] = {&D, &N};
    if (Shared > 48 << 10)
      OK(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              int(Shared)));
    if (strchr(Argv[I], 'c')) {
      E = cudaLaunchCooperativeKernel(fill, Grid, Block, Args, Shared, 0);
    } else if (strchr(Argv[I], 'e')) {
      cudaLaunchAttribute A;
      A.id = cudaLaunchAttributePriority;
      A.val.priority = -3;
      cudaLaunchConfig_t C = {};
      C.gridDim = Grid;
      C.blockDim = Block;
      C.dynamicSmemBytes = Shared;
      C.attrs = &A;
      C.numAttrs = 1;
      E = cudaLaunchKernelExC(&C, reinterpret_cast<const void *>(fill), Args);
    } else {
      E = cudaLaunchKernel(fill, Grid, Block, Args, Shared, 0);
    }
    OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
    printf("%s: %s, block %d, %s\n", Argv[I], cudaGetErrorName(E), H[0] >> 8,
           !H[0]      ? "nothing"
           : H[0] & 1 ? "tuned"
           : H[0] & 2 ? "bounded"
                      : "plain");
  }
  printf("last error: %s\n", cudaGetErrorName(cudaGetLastError()));
}
#endif
