// Three kernels: SPMD mode, generic mode (a state machine, whose workers call functions through pointers), a reduction.
#include <cstdio>

static void doubleAll(int N, const float *A, float *B) {
#pragma omp target teams distribute parallel for map(to : A[0 : N]) map(from : B[0 : N])
  for (int I = 0; I < N; ++I)
    B[I] = 2 * A[I];
}

static void sumOfNeighbours(int N, const float *A, float *B) {
#pragma omp target teams distribute map(to : A[0 : N]) map(from : B[0 : N])
  for (int Block = 0; Block < N; Block += 64) {
    float Sums[64];
#pragma omp parallel for
    for (int I = 0; I < 64; ++I)
      Sums[I] = A[Block + I] + A[Block + (I + 1) % 64];
#pragma omp parallel for
    for (int I = 0; I < 64; ++I)
      B[Block + I] = Sums[63 - I];
  }
}

static double sum(int N, const float *A) {
  double Sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : Sum) map(to : A[0 : N])
  for (int I = 0; I < N; ++I)
    Sum += A[I] * 0.3;
  return Sum;
}

int main() {
  constexpr int N = 1024;
  static float A[N], B[N], C[N];
  for (int I = 0; I < N; ++I)
    A[I] = I;
  doubleAll(N, A, B);
  sumOfNeighbours(N, A, C);
  printf("results %g %g %g %g\n", B[1], C[0], C[N - 1], sum(N, A));
}
