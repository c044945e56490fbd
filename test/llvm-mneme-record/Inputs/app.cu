// Launches scale three times with two configurations and add once, prints a check
// sum, then ends as its argument says.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

__device__ int Launches;

struct Pair {
  float *Data;
  int N;
};

template <typename T> __global__ void scale(T *Data, T Factor, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Data[I] *= Factor;
  if (I == 0)
    ++Launches;
}

__global__ void add(Pair P, const float *Y) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < P.N)
    P.Data[I] += Y[I];
}

int main(int Argc, char **Argv) {
  const char *How = Argc > 1 ? Argv[1] : "";
  if (!strcmp(How, "early"))
    return 4;
  constexpr int N = 1000;
  static float Host[N];
  for (int I = 0; I != N; ++I)
    Host[I] = I;
  float *X, *Y;
  cudaMalloc(&X, sizeof(Host));
  cudaMalloc(&Y, sizeof(Host));
  cudaMemcpy(X, Host, sizeof(Host), cudaMemcpyHostToDevice);
  cudaMemcpy(Y, Host, sizeof(Host), cudaMemcpyHostToDevice);
  scale<<<8, 128>>>(X, 2.0f, N);
  scale<<<8, 128>>>(X, 0.5f, N);
  scale<<<4, 256>>>(X, 3.0f, N);
  add<<<8, 128>>>(Pair{X, N}, Y);
  cudaMemcpy(Host, X, sizeof(Host), cudaMemcpyDeviceToHost);
  double Sum = 0;
  for (float V : Host)
    Sum += V;
  printf("sum %.0f, %s\n", Sum, cudaGetErrorString(cudaGetLastError()));
  fflush(stdout);
  if (!strcmp(How, "exit"))
    return atoi(Argv[2]);
  if (!strcmp(How, "_exit"))
    _exit(5);
  if (!strcmp(How, "abort"))
    abort();
  if (!strcmp(How, "crash"))
    raise(SIGSEGV);
  if (!strcmp(How, "kill"))
    kill(getpid(), SIGKILL);
  if (!strcmp(How, "wait"))
    pause();
  return 0;
}
