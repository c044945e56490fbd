// REQUIRES: cuda-toolkit, device-host
//
// The math library: CUDA's libdevice as it is, run on the host, against the C library.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O2 %s -o %t.O2
// RUN: llvm-mneme-record --device=host --check-code=0 -o %t.0 -- %t.O2 | FileCheck %s
// RUN: env MNEME_HOST_STRATEGY=coroutine MNEME_HOST_FINISH=none llvm-mneme-record --device=host --check-code=0 -o %t.1 -- %t.O2 | FileCheck %s
// RUN: %cuda_cc -O0 -g %s -o %t.O0
// RUN: llvm-mneme-record --device=host --check-code=0 -o %t.2 -- %t.O0 | FileCheck %s
// RUN: %cuda_cc -O3 -Xarch_device -ffast-math -DFAST %s -o %t.O3
// RUN: llvm-mneme-record --device=host --check-code=0 -o %t.3 -- %t.O3 | FileCheck %s
// CHECK: all right

#include "Inputs/check.h"

#define N 512

#define FUNCTIONS(F1, F2)                                                      \
  F1(sin) F1(cos) F1(tan) F1(asin) F1(acos) F1(atan) F1(sinh) F1(cosh)         \
  F1(tanh) F1(asinh) F1(atanh) F1(exp) F1(exp2) F1(expm1) F1(log1p) F1(cbrt)   \
  F1(erf) F1(erfc) F1(tgamma) F1(lgamma) F1(floor) F1(ceil) F1(trunc) F1(rint) \
  F1(round) F1(fabs) F1(log) F1(log2) F1(log10) F1(sqrt) F1(acosh)             \
  F2(pow) F2(atan2) F2(hypot) F2(fmod) F2(remainder) F2(fmin) F2(fmax)         \
  F2(fdim) F2(copysign)

template <typename T> struct Case { T X, Y; };

template <typename T> __global__ void compute(const T *X, const T *Y, T *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x, R = 0;
  T A = X[I], B = Y[I], P = A < 0 ? -A + T(1) : A + T(1);
  T U = A / (T(1) + (A < 0 ? -A : A)); // in (-1, 1)
#define F1(NAME) Out[R++ * N + I] = NAME(U * T(3) * (R < 20 && (R == 3 || R == 4 || R == 10) ? T(0.3) : T(1)) + (R >= 26 && R <= 30 ? P + T(3) : R == 18 || R == 19 ? T(4) : T(0)));
#define F2(NAME) Out[R++ * N + I] = NAME(P, B);
  FUNCTIONS(F1, F2)
  T S, C;
  sincos(A, &S, &C);
  Out[R++ * N + I] = S, Out[R++ * N + I] = C;
  int E;
  Out[R++ * N + I] = frexp(A, &E);
  Out[R++ * N + I] = E;
  Out[R++ * N + I] = ldexp(U, 7);
  Out[R++ * N + I] = fma(A, B, U);
  Out[R++ * N + I] = rsqrt(P);
  Out[R++ * N + I] = nextafter(A, B);
}

template <typename T> void reference(const T *X, const T *Y, int I, std::vector<double> &E) {
  int R = 0;
  T A = X[I], B = Y[I], P = A < 0 ? -A + T(1) : A + T(1);
  T U = A / (T(1) + (A < 0 ? -A : A));
#undef F1
#undef F2
#define F1(NAME) E.push_back(std::NAME((double)T(U * T(3) * (R < 20 && (R == 3 || R == 4 || R == 10) ? T(0.3) : T(1)) + (R >= 26 && R <= 30 ? P + T(3) : R == 18 || R == 19 ? T(4) : T(0))))), ++R;
#define F2(NAME) E.push_back(std::NAME((double)P, (double)B)), ++R;
  FUNCTIONS(F1, F2)
  E.push_back(std::sin((double)A)), E.push_back(std::cos((double)A));
  int Exponent;
  E.push_back(std::frexp((double)A, &Exponent));
  E.push_back(Exponent);
  E.push_back(std::ldexp(U, 7));
  E.push_back(std::fma((T)A, (T)B, (T)U));
  E.push_back(1 / std::sqrt((double)P));
  E.push_back(std::nextafter((T)A, (T)B));
}

template <typename T> void run(double Tolerance) {
  Buffer<T> X(N), Y(N), Out(N * 64);
  uint64_t State = 88172645463325252ull;
  for (int I = 0; I < N; ++I) {
    State ^= State << 13, State ^= State >> 7, State ^= State << 17;
    X[I] = (T)((double)(int64_t)State / 9.3e18 * (I % 3 ? 10 : I % 2 ? 100000 : 1));
    Y[I] = (T)((double)(int32_t)State / 2.2e9 * 5);
    if (std::fabs(Y[I]) < T(0.01))
      Y[I] = T(0.5);
  }
  compute<<<N / 128, 128>>>(X.Data, Y.Data, Out.Data);
  launched();
  for (int I = 0; I < N; ++I) {
    std::vector<double> E;
    reference<T>(X, Y, I, E);
    for (size_t R = 0; R < E.size(); ++R)
      if (std::fabs(E[R]) < 1e30) {
        double D = std::fabs(Out[R * N + I] - E[R]);
        if (!(D <= Tolerance * std::fmax(std::fabs(E[R]), 1.0)))
          expectNear(sizeof(T) == 4 ? "float" : "double", R * N + I, Out[R * N + I], E[R], 0);
      }
  }
}

int main() {
#ifdef FAST
  run<float>(2e-2);
#else
  run<float>(4e-6);
#endif
  run<double>(2e-13);
  return finish();
}
