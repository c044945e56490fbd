// REQUIRES: cuda-toolkit, device-host
//
// Everything that moves data between the lanes of a warp, and barriers, under every
// strategy.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O0 -g %s -o %t.O0
// RUN: %cuda_cc -O2 %s -o %t.O2
// RUN: %cuda_cc -O3 -ffast-math %s -o %t.O3
// RUN: for C in O0.auto O2.auto O3.auto O3.coroutine O0.fiber O2.fiber; do \
// RUN: for F in none O3; do \
// RUN:   echo $C $F; env MNEME_HOST_STRATEGY=${C#*.} MNEME_HOST_FINISH=$F \
// RUN:   llvm-mneme-record --device=host --check-code=0 -o %t.$C.$F -- %t.${C%%.*} || exit 1; \
// RUN: done; done | FileCheck %s
// CHECK-COUNT-12: all right

#include "Inputs/check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// One warp, one result row a test.
__global__ void shuffles(const int *In, int *Out) {
  int L = threadIdx.x, V = In[L], R = 0;
  Out[R++ * 32 + L] = __shfl_sync(~0u, V, 5);
  Out[R++ * 32 + L] = __shfl_sync(~0u, V, L * 7, 8);
  Out[R++ * 32 + L] = __shfl_up_sync(~0u, V, 3);
  Out[R++ * 32 + L] = __shfl_up_sync(~0u, V, 3, 16);
  Out[R++ * 32 + L] = __shfl_down_sync(~0u, V, 5);
  Out[R++ * 32 + L] = __shfl_down_sync(~0u, V, 5, 8);
  Out[R++ * 32 + L] = __shfl_xor_sync(~0u, V, 9);
  Out[R++ * 32 + L] = __shfl_xor_sync(~0u, V, 3, 4);
  // Divergent, each half with its own mask.
  int W = -1;
  if (L & 1)
    W = __shfl_down_sync(0xaaaaaaaau, V, 2);
  else
    W = __shfl_up_sync(0x55555555u, V, 2);
  Out[R++ * 32 + L] = W;
  // 64-bit and float.
  Out[R++ * 32 + L] =
      (int)(__shfl_sync(~0u, ((long long)V << 32) | L, 31 - L) >> 32);
  Out[R++ * 32 + L] = (int)__shfl_xor_sync(~0u, (float)V, 1);
}

__global__ void votes(const int *In, unsigned *Out) {
  unsigned L = threadIdx.x, R = 0;
  int V = In[L];
  Out[R++ * 32 + L] = __ballot_sync(~0u, V & 1);
  Out[R++ * 32 + L] = __any_sync(~0u, V == In[3]);
  Out[R++ * 32 + L] = __all_sync(~0u, V != -1);
  Out[R++ * 32 + L] = __match_any_sync(~0u, V & 3);
  int P;
  Out[R++ * 32 + L] = __match_all_sync(~0u, 42, &P) + P;
  Out[R++ * 32 + L] = __match_all_sync(~0u, V & 3, &P) + P;
  unsigned M = 0;
  if (L % 3 == 0)
    M = __activemask();
  Out[R++ * 32 + L] = M;
  Out[R++ * 32 + L] = __reduce_add_sync(~0u, (unsigned)V);
  Out[R++ * 32 + L] = __reduce_min_sync(~0u, V);
  Out[R++ * 32 + L] = __reduce_max_sync(~0u, (unsigned)V);
  Out[R++ * 32 + L] = __reduce_and_sync(~0u, (unsigned)V | 7);
  Out[R++ * 32 + L] = __reduce_xor_sync(~0u, (unsigned)V);
  if (L >= 16)
    M = __ballot_sync(0xffff0000u, L & 4);
  else
    M = __ballot_sync(0x0000ffffu, L & 2);
  Out[R++ * 32 + L] = M;
  unsigned Lane, Less, Greater;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(Lane));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(Less));
  asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(Greater));
  Out[R++ * 32 + L] = (Lane << 26) ^ Less ^ Greater;
}

// Early exit, then a barrier for those that are left; barriers with a reduction.
__global__ void barriers(int *Out, int N) {
  __shared__ int S[128];
  int T = threadIdx.x;
  if (T >= N)
    return;
  S[T] = T * T;
  __syncthreads();
  int V = S[N - 1 - T];
  __syncthreads();
  S[T] = V + 1;
  __syncthreads();
  Out[T] = S[(T + 1) % N];
  Out[128 + T] = __syncthreads_count(T % 3 == 0);
  Out[256 + T] = __syncthreads_and(T < N);
  Out[384 + T] = __syncthreads_or(T == 100);
}

// The tail of an old reduction: no barrier, volatile instead.
__global__ void warpSynchronous(const int *In, int *Out) {
  __shared__ volatile int S[64];
  int T = threadIdx.x;
  S[T] = In[T];
  __syncthreads();
  if (T < 32) {
    S[T] += S[T + 32];
    if (T < 16) S[T] += S[T + 16];
    if (T < 8) S[T] += S[T + 8];
    if (T < 4) S[T] += S[T + 4];
    if (T < 2) S[T] += S[T + 2];
    if (T < 1) S[T] += S[T + 1];
  }
  if (T == 0)
    *Out = S[0];
}

__global__ void groups(const int *In, int *Out) {
  auto Block = cg::this_thread_block();
  auto Tile = cg::tiled_partition<8>(Block);
  int T = threadIdx.x, V = In[T];
  for (int I = Tile.size() / 2; I > 0; I /= 2)
    V += Tile.shfl_down(V, I);
  Out[T] = Tile.shfl(V, 0);
  Out[64 + T] = cg::reduce(Tile, In[T], cg::greater<int>());
  Block.sync();
  auto Active = cg::coalesced_threads();
  Out[128 + T] = Active.size();
  if (T % 4 == 0) {
    auto Some = cg::coalesced_threads();
    Out[192 + T] = Some.thread_rank() * 100 + Some.size();
  }
}

// One atomic for all lanes that came.
__global__ void aggregated(const int *In, int *Counter, int *Out) {
  int T = threadIdx.x;
  if (In[T] & 1) {
    unsigned M = __activemask();
    int Leader = __ffs(M) - 1, Base = 0;
    if (T % 32 == Leader)
      Base = atomicAdd(Counter, __popc(M));
    Base = __shfl_sync(M, Base, Leader);
    Out[Base + __popc(M & ((1u << T % 32) - 1))] = In[T];
  }
}

static int source(int Mode, int L, int B, int Width, bool &Valid) {
  int First = L & ~(Width - 1), Last = First + Width - 1, J;
  switch (Mode) {
  case 0: J = First + (B & (Width - 1)); break;
  case 1: J = L - B; break;
  case 2: J = L + B; break;
  default: J = L ^ B; break;
  }
  Valid = Mode == 0 || (Mode == 1 ? J >= First : J <= Last);
  return Valid ? J : L;
}

int main() {
  Buffer<int> In(64), Out(32 * 16);
  for (int I = 0; I < 64; ++I)
    In[I] = (I * 2654435761u) >> 20;
  shuffles<<<1, 32>>>(In, Out);
  launched();
  for (int L = 0; L < 32; ++L) {
    bool P;
    int R = 0;
    auto Row = [&](int J) { expect("shuffle", R * 32 + L, Out[R * 32 + L], In[J]), ++R; };
    Row(source(0, L, 5, 32, P)), Row(source(0, L, L * 7, 8, P));
    Row(source(1, L, 3, 32, P)), Row(source(1, L, 3, 16, P));
    Row(source(2, L, 5, 32, P)), Row(source(2, L, 5, 8, P));
    Row(source(3, L, 9, 32, P)), Row(source(3, L, 3, 4, P));
    Row(L & 1 ? source(2, L, 2, 32, P) : source(1, L, 2, 32, P));
    Row(31 - L), Row(L ^ 1);
  }
  Buffer<unsigned> Votes(32 * 16);
  votes<<<1, 32>>>(In, Votes);
  launched();
  unsigned Odd = 0, Sum = 0, Max = 0, And = ~0u, Xor = 0, Any = 0, Third = 0;
  int Min = INT32_MAX;
  bool AllSame = true;
  for (int L = 0; L < 32; ++L) {
    unsigned V = In[L];
    Odd |= (V & 1) << L, Sum += V, Max = V > Max ? V : Max, And &= V | 7, Xor ^= V;
    Min = In[L] < Min ? In[L] : Min;
    Any |= In[L] == In[3];
    Third |= (L % 3 == 0) << L;
    AllSame &= (V & 3) == ((unsigned)In[0] & 3);
  }
  for (int L = 0; L < 32; ++L) {
    unsigned Same = 0;
    for (int J = 0; J < 32; ++J)
      Same |= (unsigned)((In[J] & 3) == (In[L] & 3)) << J;
    unsigned Less = (1u << L) - 1, Greater = L == 31 ? 0 : ~0u << (L + 1);
    unsigned E[] = {Odd, Any, 1, Same, ~0u + 1, AllSame ? ~0u + 1 : 0,
                    L % 3 == 0 ? Third : 0, Sum, (unsigned)Min, Max, And, Xor,
                    L >= 16 ? 0xf0f00000u : 0x0000ccccu,
                    ((unsigned)L << 26) ^ Less ^ Greater};
    for (int R = 0; R < 14; ++R)
      expect("vote", R * 32 + L, Votes[R * 32 + L], E[R]);
  }
  for (int N : {128, 97, 33}) {
    Buffer<int> B(512);
    barriers<<<1, 128>>>(B, N);
    launched();
    for (int T = 0; T < N; ++T) {
      int Next = N - 1 - (T + 1) % N;
      expect("barrier", T, B[T], Next * Next + 1);
      expect("count", T, B[128 + T], (N + 2) / 3);
      expect("and", T, B[256 + T], 1);
      expect("or", T, B[384 + T], (int)(N > 100));
    }
  }
  int Total = 0;
  for (int I = 0; I < 64; ++I)
    Total += In[I];
  warpSynchronous<<<1, 64>>>(In, Out);
  launched();
  expect("warp-synchronous", 0, Out[0], Total);

  Buffer<int> G(256);
  groups<<<1, 64>>>(In, G);
  launched();
  for (int T = 0; T < 64; ++T) {
    int Sum8 = 0, Max8 = 0;
    for (int I = T & ~7; I < (T & ~7) + 8; ++I)
      Sum8 += In[I], Max8 = In[I] > Max8 ? In[I] : Max8;
    expect("tile sum", T, G[T], Sum8);
    expect("tile max", T, G[64 + T], Max8);
    expect("coalesced", T, G[128 + T], 32);
    if (T % 4 == 0)
      expect("some", T, G[192 + T], (T % 32) / 4 * 100 + 8);
  }

  Buffer<int> Counter(1), Found(64);
  aggregated<<<1, 64>>>(In, Counter, Found);
  launched();
  int K = 0;
  for (int I = 0; I < 64; ++I)
    if (In[I] & 1)
      ++K;
  expect("aggregated count", 0, Counter[0], K);
  // Either warp may be first.
  long long Want = 0, Have = 0;
  for (int I = 0; I < 64; ++I)
    Want += In[I] & 1 ? (long long)In[I] * In[I] : 0;
  for (int I = 0; I < K; ++I)
    Have += (long long)Found[I] * Found[I];
  expect("aggregated", 0, Have, Want);
  return finish();
}
