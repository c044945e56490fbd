//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels whose results depend on the order of blocks, and the same kernels
// with a fault:
//
//   BUG=1  an element is missing
//   BUG=2  an element is there twice
//   BUG=3  one value is another
//   BUG=4  a counter is off by one
//   BUG=5  records are right, but in a place or beside a value of another one
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cuda_runtime.h>

#ifndef BUG
#define BUG 0
#endif

constexpr int Odd = 99; // the element that a fault changes

/// Sums of floats by atomics.
extern "C" __global__ void sums(const float *In, float *Total, float *PerBin,
                                int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N || (BUG == 1 && I == Odd))
    return;
  float V = In[I] + (BUG == 3 && I == Odd);
  for (int Times = BUG == 2 && I == Odd ? 2 : 1; Times; --Times) {
    atomicAdd(Total, V);
    atomicAdd(&PerBin[(I + (BUG == 5 && I == Odd)) % 8], V);
  }
  if (BUG == 4 && I == 0)
    atomicAdd(Total, 1);
}

/// Compaction: pairs of a key and a value, and their number.
extern "C" __global__ void compact(const int *In, int *Keys, float *Values,
                                   int *Count, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N || In[I] % 3)
    return;
  int Slot = atomicAdd(Count, 1);
  if (BUG == 4 && I == Odd)
    atomicAdd(Count, 1);
  if (BUG == 1 && I == Odd)
    return;
  Keys[Slot] = BUG == 2 && I == Odd ? In[Odd + 3] : In[I];
  int Of = I;
  if (BUG == 5 && (I == Odd || I == Odd + 3))
    Of = 2 * Odd + 3 - I;
  Values[Slot] = 0.5f * Of + (BUG == 3 && I == Odd);
}

struct Task {
  int Node, Depth;
  float Weight;
  int Parent;
};

/// A work queue: blocks take tasks and append new ones behind them.
extern "C" __global__ void expand(Task *Queue, int *Head, int *Tail,
                                  float *Done, int Limit) {
  if (threadIdx.x != 0)
    return;
  for (int At; (At = atomicAdd(Head, 1)) < Limit;) {
    Task T = Queue[At];
    Done[T.Node] = T.Weight * T.Depth;
    if (BUG == 1 && T.Node == Odd)
      continue;
    Task New = {2 * T.Node + (BUG == 2 && T.Node == Odd ? 2 : 0), T.Depth + 1,
                T.Weight / 2, T.Node};
    if (BUG == 3 && T.Node == Odd)
      New.Weight *= 2;
    if (BUG == 5 && (T.Node == Odd || T.Node == Odd + 1))
      New.Parent = 2 * Odd + 1 - T.Node;
    Queue[atomicAdd(Tail, 1)] = New;
    if (BUG == 4 && T.Node == Odd)
      atomicAdd(Tail, 1);
  }
}

/// A counting sort: the place of each element in its bin is the old value of
/// the bin's counter.
extern "C" __global__ void sortBins(const int *In, const int *Start, int *Bins,
                                    int *Place, int *Sorted, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  int Bin = In[I] % 8;
  if (BUG == 5 && (I == Odd || I == Odd + 1))
    Bin = In[2 * Odd + 1 - I] % 8;
  int At = Start[Bin] + atomicAdd(&Bins[Bin], 1);
  if (BUG == 4 && I == Odd)
    atomicAdd(&Bins[Bin], 1);
  Place[I] = At + (BUG == 3 && I == Odd);
  if (!(BUG == 1 && I == Odd))
    Sorted[At] = BUG == 2 && I == Odd ? In[Odd + 8] : In[I];
}

/// What neither an error nor an order of records explains.
extern "C" __global__ void ranks(const int *In, int *Next, unsigned *Sum,
                                 int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    atomicAdd(Sum, atomicAdd(Next, 1) * In[I]);
}

template <typename T> static T *make(int N) {
  T *P;
  cudaMallocManaged(&P, N * sizeof(T));
  for (int I = 0; I < N; ++I)
    P[I] = T();
  return P;
}

int main() {
  constexpr int N = 2000, NumTasks = 200;
  float *Floats = make<float>(N), *Total = make<float>(1),
        *PerBin = make<float>(8), *Values = make<float>(N),
        *Done = make<float>(N);
  int *Ints = make<int>(N), *Keys = make<int>(N), *Count = make<int>(1),
      *Head = make<int>(1), *Tail = make<int>(1), *Start = make<int>(8),
      *Bins = make<int>(8), *Place = make<int>(N), *Sorted = make<int>(N),
      *Next = make<int>(1);
  unsigned *Sum = make<unsigned>(1);
  Task *Queue = make<Task>(N);
  for (int I = 0; I < N; ++I) {
    Floats[I] = 1.0f / (1 + I % 7);
    Ints[I] = I;
  }
  for (int I = 0; I < NumTasks; ++I)
    Queue[I] = {I, 1, 1.0f + I, -1};
  *Tail = NumTasks;
  for (int I = 0; I < 8; ++I)
    Start[I] = I * (N / 8);
  sums<<<20, 100>>>(Floats, Total, PerBin, N);
  compact<<<20, 100>>>(Ints, Keys, Values, Count, N);
  expand<<<20, 32>>>(Queue, Head, Tail, Done, NumTasks);
  sortBins<<<20, 100>>>(Ints, Start, Bins, Place, Sorted, N);
  ranks<<<20, 100>>>(Ints, Next, Sum, N);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return 1;
  bool Ok = *Total > 0 && *Count == (N + 2) / 3 && *Tail == 2 * NumTasks;
  for (int I = 0; I < N; ++I)
    Ok &= Sorted[Place[I]] == Ints[I];
  printf("%s\n", Ok ? "PASS" : "FAIL");
  return !Ok;
}
