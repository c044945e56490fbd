// Code that nvcc accepts with a warning, and that is an error for clang.

// REQUIRES: clang, cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{nvcc} = env MNEME_PASS=%mneme_pass MNEME_CLANG=%clangxx_path CUDA_PATH=%cuda_path %python %mneme_src/utils/nvcc-as-clang
// RUN: %{nvcc} -std=c++17 -O1 %s -o %t/app 2>&1 | count 0
// RUN: llvm-mneme-record --device=host --no-record -- %t/app 2>&1 | FileCheck %s
// CHECK: 3 of 3

// So does the host compiler that nvcc calls for C++.
// RUN: %{nvcc} -std=c++17 -x c++ -DHOST -c %s -o %t/app.o 2>&1 | FileCheck %s --check-prefix=HOST
// HOST-DAG: warning: ISO C++17 does not allow 'register'
// HOST-DAG: warning: non-constant-expression cannot be narrowed
// HOST-DAG: warning: invalid suffix on literal
// RUN: not %{nvcc} -std=c++17 -x c++ -DHOST -Werror=narrowing -c %s -o %t/app.o 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: non-constant-expression cannot be narrowed

#define UNIT "of"
extern "C" int printf(const char *, ...);

#ifndef HOST
struct Reader {
  template <typename T> __device__ T read(T X) { return X; }
};

__device__ int find(int X) {
  if (X == 0)
    return 1;
  return;
}

template <typename T> __global__ void copy(T R, double D, int *P) {
  register int I = threadIdx.x;
  float Narrow[] = {D, I};
  P[I] = R.template read(Narrow[0]) + find(I);
}
#endif

int main() {
  register int N = 1;
  unsigned Narrow[] = {N, 2};
  int Result = 3;
#ifndef HOST
  int *P;
  cudaMallocManaged(&P, sizeof(int));
  dim3 Grid = {N}, Block{N, 1, 1};
  copy<<<Grid, Block>>>(Reader(), 2, P);
  cudaDeviceSynchronize();
  Result = *P;
#endif
  printf("%d "UNIT" %d\n", Result, int(Narrow[0] + Narrow[1]));
}
