// A kernel that is launched with the numbers of the command line, and variants of
// it: "same" is right, "wrong" is not for 8 and 9, "faulty" accesses address 8 for
// 8. The kernel and "faulty" do so for -1. "vary" gives another result each time.
//
// "threads" launches from 16 threads, which copy memory meanwhile. "unfreed" frees
// memory during a capture, which fails. "beside" launches during a capture, after
// ending one of another stream, which fails.
//
//   verify NUMBER|graph|vary|threads|unfreed|beside...
#ifdef TUNED
extern "C" __global__ void same(int *P, int **Q, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  P[I] = N + I;
  (*Q)[I] += N - I;
}
extern "C" __global__ void wrong(int *P, int **Q, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  P[I] = N == 8 && I > 99 ? 1 : N + I;
  (*Q)[I] += N == 9 && I > 98 ? 1 : N - I;
}
extern "C" __global__ void faulty(int *P, int **Q, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  P[I] = 1;
  if (N == 8 || N == -1)
    *reinterpret_cast<volatile int *>(8) = 1;
  (*Q)[I] += N - I;
}
extern "C" __global__ void stamp(long long *P) { *P = -1; }
#else
#include "../../Runtime/Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

__global__ void fill(int *P, int **Q, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (N == -1)
    *reinterpret_cast<volatile int *>(8) = 1;
  P[I] = N + I;
  (*Q)[I] += N - I;
}
__global__ void vary(long long *P) { *P = clock64(); }

static int *P, *D, **Q, H[128];
static long long *T;

static void check(int N, int Expected) {
  OK(cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost));
  bool Right = true;
  for (int I = 0; I != 128; ++I)
    Right &= H[I] == N + I;
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  for (int I = 0; I != 128; ++I)
    Right &= H[I] == Expected - I;
  printf("%d: %s\n", N, Right ? "right" : "wrong");
}

static std::atomic<int> Right{0};

static void runThread(int Number) {
  int *P, *D, **Q, H[128], Back[128];
  OK(cudaMalloc(&P, sizeof(H)));
  OK(cudaMalloc(&Q, sizeof(D)));
  for (int I = 0; I != 10; ++I) {
    OK(cudaMalloc(&D, sizeof(H)));
    OK(cudaMemcpy(Q, &D, sizeof(D), cudaMemcpyHostToDevice));
    for (int &V : H)
      V = Number;
    OK(cudaMemcpy(D, H, sizeof(H), cudaMemcpyHostToDevice));
    fill<<<4, 32>>>(P, Q, I);
    OK(cudaGetLastError());
    OK(cudaMemcpy(Back, D, sizeof(H), cudaMemcpyDeviceToHost));
    for (int J = 0; J != 128; ++J)
      Right += Back[J] == Number + I - J;
    OK(cudaFree(D));
  }
}

int main(int Argc, char **Argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  OK(cudaMalloc(&P, sizeof(H)));
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMalloc(&Q, sizeof(D)));
  OK(cudaMalloc(&T, sizeof(*T)));
  OK(cudaMemcpy(Q, &D, sizeof(D), cudaMemcpyHostToDevice));
  for (int I = 1; I != Argc; ++I) {
    OK(cudaMemset(D, 0, sizeof(H)));
    if (!strcmp(Argv[I], "graph")) {
      cudaStream_t S;
      cudaGraph_t G;
      cudaGraphExec_t Exec;
      OK(cudaStreamCreate(&S));
      OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
      fill<<<4, 32, 0, S>>>(P, Q, 8);
      OK(cudaStreamEndCapture(S, &G));
      OK(cudaGraphInstantiate(&Exec, G, 0));
      OK(cudaGraphLaunch(Exec, S));
      OK(cudaStreamSynchronize(S));
      check(8, 8);
    } else if (!strcmp(Argv[I], "unfreed")) {
      cudaStream_t S;
      cudaGraph_t G;
      OK(cudaStreamCreate(&S));
      OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
      if (!cudaFree(D) || !cudaStreamEndCapture(S, &G))
        return 4;
      cudaGetLastError();
    } else if (!strcmp(Argv[I], "beside")) {
      cudaStream_t S, Other;
      cudaGraph_t G;
      OK(cudaStreamCreateWithFlags(&S, cudaStreamNonBlocking));
      OK(cudaStreamCreateWithFlags(&Other, cudaStreamNonBlocking));
      OK(cudaDeviceSynchronize());
      OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
      if (!cudaStreamEndCapture(Other, &G))
        return 4;
      cudaGetLastError();
      fill<<<4, 32, 0, Other>>>(P, Q, 8);
      OK(cudaStreamSynchronize(Other));
      OK(cudaStreamEndCapture(S, &G));
      check(8, 8);
    } else if (!strcmp(Argv[I], "vary")) {
      vary<<<1, 1>>>(T);
      OK(cudaDeviceSynchronize());
    } else if (!strcmp(Argv[I], "threads")) {
      std::vector<std::thread> Threads;
      for (int T = 0; T != 16; ++T)
        Threads.emplace_back(runThread, T);
      for (std::thread &T : Threads)
        T.join();
      printf("threads: %d of %d\n", Right.load(), 16 * 10 * 128);
    } else {
      int N = atoi(Argv[I]);
      fill<<<4, 32>>>(P, Q, N);
      if (cudaError_t E = cudaDeviceSynchronize()) {
        printf("%d: %s\n", N, cudaGetErrorName(E));
        return 3;
      }
      check(N, N);
    }
  }
}
#endif
