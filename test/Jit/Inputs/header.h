// Annotated functions in a header, as two files use them.
#include <mneme/jit.h>

inline __attribute__((annotate("jit", 1))) int inlined(int N) {
  int Sum = 1;
  for (int I = 0; I < N; ++I)
    Sum = Sum * 3 + I;
  return Sum;
}

template <typename T> T twice(T X) {
  mneme::jit_arg(X);
  return X + X;
}

struct Member {
  int Base;
  __attribute__((annotate("jit", 2))) int add(int N) const { return Base + N; }
  __attribute__((annotate("jit", 1))) static int negate(int N) { return -N; }
};

__attribute__((always_inline, annotate("jit", 1))) inline int always(int N) {
  return N * N;
}

inline int viaLambda(int N) {
  auto L = [N = mneme::jit_variable(N)](int X) { return X * N; };
  mneme::register_lambda(L);
  return L(10);
}

inline int all(int N) {
  return inlined(N) + twice(N) + Member{5}.add(N) + Member::negate(N) +
         always(N) + viaLambda(N);
}
