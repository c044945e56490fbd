// REQUIRES: cuda-toolkit, device-host
//
// Kernels whose threads part and meet in every way that a strategy must bear, under
// each strategy. The CPU knows the results.
//
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: %cuda_cc -O3 %s -o %t.O3
// RUN: for B in O0 O3; do for S in auto coroutine fiber; do for F in none O3; do \
// RUN:   echo $B $S $F; env MNEME_HOST_STRATEGY=$S MNEME_HOST_FINISH=$F \
// RUN:   llvm-mneme-record --device=host -o %t.$B.$S.$F -- %t.$B || exit 1; \
// RUN: done; done; done | FileCheck %s
// CHECK-COUNT-12: all right

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECKED(CALL)                                                          \
  do {                                                                         \
    cudaError_t Error = (CALL);                                                \
    if (Error != cudaSuccess) {                                                \
      printf("%s: %s\n", #CALL, cudaGetErrorString(Error));                    \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static int Failures = 0;

using Kernel = void (*)(const int *, int *, int);

/// Runs \p K and compares what it writes with \p Expected(I).
template <typename F>
static void run(const char *Name, Kernel K, int Grid, dim3 Block, int N,
                F Expected) {
  int Total = 4096;
  std::vector<int> In(Total), Out(Total, -1);
  for (int I = 0; I < Total; ++I)
    In[I] = (I * 7919) % 1000;
  int *DeviceIn, *DeviceOut;
  CHECKED(cudaMalloc(&DeviceIn, Total * 4));
  CHECKED(cudaMalloc(&DeviceOut, Total * 4));
  CHECKED(cudaMemcpy(DeviceIn, In.data(), Total * 4, cudaMemcpyHostToDevice));
  CHECKED(cudaMemcpy(DeviceOut, Out.data(), Total * 4, cudaMemcpyHostToDevice));
  K<<<Grid, Block, 1024>>>(DeviceIn, DeviceOut, N);
  CHECKED(cudaDeviceSynchronize());
  CHECKED(cudaMemcpy(Out.data(), DeviceOut, Total * 4, cudaMemcpyDeviceToHost));
  CHECKED(cudaFree(DeviceIn));
  CHECKED(cudaFree(DeviceOut));
  for (int I = 0; I < Total; ++I) {
    int E = Expected(In, I);
    if (Out[I] == E)
      continue;
    printf("%s[%d]: %d, expected %d\n", Name, I, Out[I], E);
    if (++Failures > 20)
      exit(1);
    break;
  }
}

/// Threads that return before the barrier, and all others still meet.
__global__ void earlyExit(const int *In, int *Out, int N) {
  __shared__ int S[128];
  int T = threadIdx.x;
  if (T >= N)
    return;
  S[T] = In[blockIdx.x * 128 + T];
  __syncthreads();
  Out[blockIdx.x * 128 + T] = S[N - 1 - T];
}

/// The usual reduction: a tree, then the last warp alone.
__global__ void reduceTail(const int *In, int *Out, int N) {
  __shared__ int S[256];
  int T = threadIdx.x, V = 0;
  for (int I = T; I < N; I += blockDim.x)
    V += In[I];
  S[T] = V;
  __syncthreads();
  for (int Half = blockDim.x / 2; Half >= 32; Half /= 2) {
    if (T < Half)
      S[T] += S[T + Half];
    __syncthreads();
  }
  if (T < 32) {
    V = S[T];
    for (int D = 16; D > 0; D /= 2)
      V += __shfl_down_sync(~0u, V, D);
    if (T == 0)
      Out[blockIdx.x] = V;
  }
}

/// Each warp loops as often as it likes; lanes leave their own loop at different
/// times; everybody meets at the end.
__global__ void warpLoops(const int *In, int *Out, int N) {
  __shared__ int Sum[8];
  int T = threadIdx.x, Warp = T / 32, Lane = T % 32;
  int V = 0;
  for (int I = 0; I <= Warp * 2; ++I) {
    int X = In[(I * 256 + T) % N];
    X += __shfl_xor_sync(~0u, X, 1);
    V += X;
  }
  int Steps = 0;
  for (int X = In[T]; X > 3; X /= 2)
    ++Steps;
  unsigned Long = __ballot_sync(~0u, Steps > 5);
  if (Lane == 0)
    Sum[Warp] = __popc(Long);
  __syncthreads();
  int All = 0;
  for (int I = 0; I < 8; ++I)
    All += Sum[I];
  Out[T] = V + All * 10000;
}

/// Uniform values that change across barriers, with a barrier under a uniform branch.
__global__ void uniformControl(const int *In, int *Out, int N) {
  __shared__ int S[64];
  int T = threadIdx.x, Phase = 0, Acc = 0;
  while (Phase < N) {
    S[T] = In[Phase * 64 + T];
    __syncthreads();
    if (Phase % 3 == 1) {
      Acc += S[63 - T];
      __syncthreads();
      Acc += S[(T + Phase) % 64];
    } else {
      Acc -= S[(T * 3) % 64];
    }
    Phase += 1 + Phase % 2;
    __syncthreads();
  }
  Out[T] = Acc;
}

/// Local arrays, indexed by what is known only at run time, live across barriers.
__global__ void localArrays(const int *In, int *Out, int N) {
  __shared__ int S[96];
  int T = threadIdx.x, Local[8];
  for (int I = 0; I < 8; ++I)
    Local[I] = In[T * 8 + I];
  S[T] = Local[T % 8];
  __syncthreads();
  Local[(T + 1) % 8] += S[95 - T];
  __syncthreads();
  int Sum = 0;
  for (int I = 0; I < 8; ++I)
    Sum = Sum * 3 + Local[(I + N) % 8];
  Out[T] = Sum;
}

/// A value that all threads would agree on, defined by some of them only.
__global__ void partlyDefined(const int *In, int *Out, int N) {
  __shared__ int S[64];
  int T = threadIdx.x, V = 1;
  if (T < 16)
    V = In[N] + 5;
  S[T] = V;
  __syncthreads();
  Out[T] = V * 2 + S[63 - T];
}

/// Barriers in a block with three dimensions; reductions at the barrier.
__global__ void barrierReductions(const int *In, int *Out, int N) {
  int T = threadIdx.x + 4 * (threadIdx.y + 4 * threadIdx.z);
  int P = In[T] % 2;
  int Count = __syncthreads_count(P);
  int And = __syncthreads_and(T < N), Or = __syncthreads_or(T == N);
  Out[T] = Count * 100 + And * 10 + Or;
}

/// Warp-synchronous code of old: no barriers, volatile shared memory.
__global__ void warpSynchronous(const int *In, int *Out, int) {
  __shared__ volatile int S[64];
  int T = threadIdx.x;
  S[T] = In[T] + In[T + 32];
  S[T] += S[T + 16 < 32 ? T + 16 : T];
  S[T] += S[T + 8 < 32 ? T + 8 : T];
  Out[T] = S[T];
}

/// Threads that wait for another thread of their block.
__global__ void waitForFlag(const int *In, int *Out, int N) {
  __shared__ int Flag;
  int T = threadIdx.x;
  if (T == 0)
    Flag = 0;
  __syncthreads();
  if (T == N)
    atomicExch(&Flag, 7);
  else
    while (atomicAdd(&Flag, 0) == 0)
      ;
  Out[T] = atomicAdd(&Flag, 0) + In[T];
}

/// Blocks that wait for each other.
__device__ volatile int Arrived;
__global__ void waitForBlocks(const int *In, int *Out, int N) {
  if (threadIdx.x == 0) {
    atomicAdd((int *)&Arrived, 1);
    while (Arrived < N)
      ;
  }
  __syncthreads();
  Out[blockIdx.x * 32 + threadIdx.x] = Arrived;
}

/// Aggregation by whoever is here.
__device__ int Counter;
__global__ void aggregate(const int *In, int *Out, int) {
  int T = threadIdx.x;
  if (In[T] % 3 == 0) {
    unsigned Mask = __activemask();
    int Leader = __ffs(Mask) - 1, Base = 0;
    if (T % 32 == Leader)
      Base = atomicAdd(&Counter, __popc(Mask));
    Base = __shfl_sync(Mask, Base, Leader);
    Out[T] = __popc(Mask) + 0 * Base;
  }
}

/// Different groups of one warp, each with its own mask.
__global__ void groups(const int *In, int *Out, int) {
  int T = threadIdx.x;
  unsigned Mine = __match_any_sync(~0u, In[T] % 4);
  int Sum = __reduce_add_sync(Mine, In[T]);
  Out[T] = Sum + 100000 * __popc(Mine);
}

/// A barrier in a function that cannot be inlined.
__device__ __noinline__ int depth(int N) {
  __syncthreads();
  return N == 0 ? (int)threadIdx.x : depth(N - 1) + 1;
}
__global__ void barrierInRecursion(const int *In, int *Out, int N) {
  Out[threadIdx.x] = depth(N) + In[threadIdx.x];
}

int main() {
  using V = std::vector<int>;
  run("earlyExit", earlyExit, 4, 128, 100, [](const V &In, int I) {
    int T = I % 128;
    return I >= 512 || T >= 100 ? -1 : In[I / 128 * 128 + 99 - T];
  });
  run("reduceTail", reduceTail, 3, 256, 4000, [](const V &In, int I) {
    int Sum = 0;
    for (int J = 0; J < 4000; ++J)
      Sum += In[J];
    return I < 3 ? Sum : -1;
  });
  run("warpLoops", warpLoops, 1, 256, 4096, [](const V &In, int I) {
    if (I >= 256)
      return -1;
    int Sum = 0, All = 0;
    for (int J = 0; J <= I / 32 * 2; ++J)
      Sum += In[(J * 256 + I) % 4096] + In[(J * 256 + (I ^ 1)) % 4096];
    for (int T = 0; T < 256; ++T) {
      int Steps = 0;
      for (int X = In[T]; X > 3; X /= 2)
        ++Steps;
      All += Steps > 5;
    }
    return Sum + All * 10000;
  });
  run("uniformControl", uniformControl, 1, 64, 20, [](const V &In, int I) {
    if (I >= 64)
      return -1;
    int Acc = 0;
    for (int Phase = 0; Phase < 20; Phase += 1 + Phase % 2) {
      const int *S = &In[Phase * 64];
      Acc += Phase % 3 == 1 ? S[63 - I] + S[(I + Phase) % 64] : -S[I * 3 % 64];
    }
    return Acc;
  });
  run("localArrays", localArrays, 1, 96, 3, [](const V &In, int I) {
    if (I >= 96)
      return -1;
    int Local[8], Other = 95 - I, Sum = 0;
    for (int J = 0; J < 8; ++J)
      Local[J] = In[I * 8 + J];
    Local[(I + 1) % 8] += In[Other * 8 + Other % 8];
    for (int J = 0; J < 8; ++J)
      Sum = Sum * 3 + Local[(J + 3) % 8];
    return Sum;
  });
  run("partlyDefined", partlyDefined, 1, 64, 9, [](const V &In, int I) {
    auto Value = [&](int T) { return T < 16 ? In[9] + 5 : 1; };
    return I < 64 ? Value(I) * 2 + Value(63 - I) : -1;
  });
  run("barrierReductions", barrierReductions, 1, dim3(4, 4, 4), 64,
      [](const V &In, int I) {
        int Count = 0;
        for (int T = 0; T < 64; ++T)
          Count += In[T] % 2;
        return I < 64 ? Count * 100 + 10 : -1;
      });
  run("warpSynchronous", warpSynchronous, 1, 32, 0, [](const V &In, int I) {
    if (I >= 32)
      return -1;
    auto A = [&](int T) { return In[T] + In[T + 32]; };
    auto B = [&](int T) { return A(T) + A(T + 16 < 32 ? T + 16 : T); };
    return B(I) + B(I + 8 < 32 ? I + 8 : I);
  });
  run("waitForFlag", waitForFlag, 1, 70, 65,
      [](const V &In, int I) { return I < 70 ? 7 + In[I] : -1; });
  run("waitForBlocks", waitForBlocks, 40, 32, 40,
      [](const V &, int I) { return I < 40 * 32 ? 40 : -1; });
  run("aggregate", aggregate, 1, 64, 0, [](const V &In, int I) {
    if (I >= 64 || In[I] % 3)
      return -1;
    int Count = 0;
    for (int T = I / 32 * 32; T < I / 32 * 32 + 32; ++T)
      Count += In[T] % 3 == 0;
    return Count;
  });
  run("groups", groups, 1, 32, 0, [](const V &In, int I) {
    if (I >= 32)
      return -1;
    int Sum = 0, Count = 0;
    for (int T = 0; T < 32; ++T)
      if (In[T] % 4 == In[I] % 4)
        Sum += In[T], ++Count;
    return Sum + 100000 * Count;
  });
  run("barrierInRecursion", barrierInRecursion, 2, 48, 5,
      [](const V &In, int I) { return I < 48 ? In[I] + I + 5 : -1; });
  printf(Failures ? "%d FAILURES\n" : "all right\n", Failures);
  return Failures != 0;
}
