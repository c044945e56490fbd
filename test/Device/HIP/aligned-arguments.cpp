// Arguments are where their types want them: instructions of the host depend on it.
//
// RUN: %hip_cc -O2 --offload-arch=gfx90a %s -o %t.app %hip_libs && rm -rf %t
// RUN: %emulated_amd llvm-mneme-record --device=host --quiet -o %t -- %t.app
// RUN: llvm-mneme-replay %t --device=host --iterations=1 --format=text | FileCheck %s
// CHECK: verdict         Match

struct alignas(64) Line {
  double X[8];
};

__global__ void combine(Line *Lines, Line A, Line B, Line C, Line D, int N) {
  double *P = Lines[threadIdx.x].X;
  for (int K = 0; K < N; ++K)
    for (int J = 0; J != 8; ++J)
      P[J] = P[J] * A.X[J] + B.X[J] * C.X[J] - D.X[J];
}

int main() {
  Line L = {1, 2, 3, 4, 5, 6, 7, 8}, *P;
  hipMalloc((void **)&P, 64 * sizeof(Line));
  combine<<<1, 64>>>(P, L, L, L, L, 3);
  return hipDeviceSynchronize();
}
