// --reachable: only what arguments and variables lead to, through any number of
// pointers; and a replay does with that.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: llvm-mneme-record --device=host --reachable -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: list 10, array 28, variable 7
// CHECK: 3 launches seen, 3 recorded
// CHECK: mneme: 30 buffers of {{.*}} omitted, because no pointer leads there
// RUN: llvm-mneme-record check %t/rec
// RUN: ls %t/rec/*.json | xargs -n 1 llvm-mneme-replay --passes='default<O2>'
// RUN: llvm-mneme-record show %t/rec > %t/show
// RUN: FileCheck %s --check-prefix=LIST < %t/show
// LIST-LABEL: sumList(Node*, int*)
// LIST: buffer 4:
// LIST-NOT: buffer 5:
// LIST: omitted, because no pointer leads there: 10 buffers of 8.1 KiB ({{[0-9]+}} bytes)
// RUN: FileCheck %s --check-prefix=ARRAY < %t/show
// ARRAY-LABEL: sumArray(int**, int, int*)
// ARRAY: buffer 8:
// ARRAY-NOT: buffer 9:
// ARRAY: omitted, because no pointer leads there: 6 buffers of
// RUN: FileCheck %s --check-prefix=VARIABLE < %t/show
// VARIABLE-LABEL: sumVariable(int*)
// VARIABLE: omitted, because no pointer leads there: 14 buffers
// RUN: %python -c "import glob, json, sys; \
// RUN:   o = [i['Omitted'] for f in glob.glob(sys.argv[1] + '/*.json') for i in json.load(open(f))['instances'].values()]; \
// RUN:   assert sorted(x['Regions'] for x in o) == [6, 10, 14] and all(x['Bytes'] > 4096 for x in o), o" %t/rec

// Without, all of it.
// RUN: llvm-mneme-record --device=host -o %t/all -- %t/app 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: 3 launches seen, 3 recorded
// ALL-NOT: left out
// RUN: llvm-mneme-record show %t/all | FileCheck %s --check-prefix=SHOWALL
// SHOWALL-NOT: left out
// SHOWALL: buffer 14:

#include "Inputs/check.h"
#include <cuda_runtime.h>

struct Node {
  int Value;
  Node *Next;
};

__device__ int *Entry;

__global__ void sumList(Node *First, int *Out) {
  int Sum = 0;
  for (Node *N = First; N; N = N->Next)
    Sum += N->Value;
  *Out = Sum;
}

__global__ void sumArray(int **Rows, int N, int *Out) {
  int Sum = 0;
  for (int I = 0; I < N; ++I)
    Sum += *Rows[I];
  *Out = Sum;
}

__global__ void sumVariable(int *) { *Entry += 3; }

template <typename T> static T *put(const T &V) {
  T *D;
  OK(cudaMalloc(&D, sizeof(T)));
  OK(cudaMemcpy(D, &V, sizeof(T), cudaMemcpyHostToDevice));
  return D;
}

int main() {
  int *Out = put(0), *Idle, Sums[3];
  OK(cudaMalloc(&Idle, 8192));
  OK(cudaMemset(Idle, 1, 8192));
  // 4 nodes.
  Node *First = nullptr;
  for (int I = 1; I <= 4; ++I)
    First = put(Node{I, First});
  // Rows, of which one is pointed to in its middle: 1 + 7 buffers.
  int *Rows[7];
  for (int I = 0; I < 6; ++I)
    Rows[I] = put(I);
  struct Pair {
    int A, B;
  };
  Rows[6] = &put(Pair{5, 13})->B;
  struct All {
    int *P[7];
  } A;
  memcpy(&A, Rows, sizeof(A));
  auto *DeviceRows = reinterpret_cast<int **>(put(A));
  int *Target = put(4);
  OK(cudaMemcpyToSymbol(Entry, &Target, sizeof(Target)));

  sumList<<<1, 1>>>(First, Out);
  OK(cudaMemcpy(&Sums[0], Out, 4, cudaMemcpyDeviceToHost));
  sumArray<<<1, 1>>>(DeviceRows, 7, Out);
  OK(cudaMemcpy(&Sums[1], Out, 4, cudaMemcpyDeviceToHost));
  sumVariable<<<1, 1>>>(nullptr);
  OK(cudaMemcpy(&Sums[2], Target, 4, cudaMemcpyDeviceToHost));
  printf("list %d, array %d, variable %d\n", Sums[0], Sums[1], Sums[2]);
}
