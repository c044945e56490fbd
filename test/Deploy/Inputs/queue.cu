// A work queue: threads take items in any order, and append results with the time at which they
// were found. A comparison of memory cannot judge them; the program prints them sorted.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

struct Found {
  int Value;
  long long When;
};

__global__ void drain(const int *Items, int N, int *Next, int *Count,
                      Found *Out) {
  for (int I; (I = atomicAdd(Next, 1)) < N;) {
    int Value = Items[I];
    for (int K = 0; K < 16; ++K)
      Value = Value * 17 % 1009 + K;
    // Without optimization, this takes nearly all of the time; with it, none.
    for (int K = 0; K < 2000; ++K)
      Value += K & 1 ? 1 : -1;
    Found &To = Out[atomicAdd(Count, 1)];
    To.Value = Value;
    To.When = clock64();
  }
}

int main(int Argc, char **Argv) {
  constexpr int N = 500;
  int Items[N], *DItems, *Counters;
  Found Results[N], *Out;
  for (int I = 0; I < N; ++I)
    Items[I] = I * 7 % 1009;
  cudaMalloc(&DItems, sizeof(Items));
  cudaMalloc(&Counters, 2 * sizeof(int));
  cudaMalloc(&Out, sizeof(Results));
  cudaMemcpy(DItems, Items, sizeof(Items), cudaMemcpyHostToDevice);
  cudaMemset(Counters, 0, 2 * sizeof(int));
  if (Argc == 1 || strcmp(Argv[1], "idle"))
    drain<<<4, 32>>>(DItems, N, Counters, Counters + 1, Out);
  if (cudaMemcpy(Results, Out, sizeof(Results), cudaMemcpyDeviceToHost))
    return 2;
  if (Argc > 1 && !strcmp(Argv[1], "fails"))
    return 3;
  if (Argc > 1 && !strcmp(Argv[1], "unsorted"))
    printf("# %lld\n", Results[0].When);
  else
    std::sort(Results, Results + N,
              [](const Found &A, const Found &B) { return A.Value < B.Value; });
  for (const Found &F : Results)
    printf("%d\n", F.Value);
}
