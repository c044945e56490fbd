// Host functions are compiled again with constants, from any level, and give the same results. Local variables, thread-local
// variables and variables of functions stay those of the program, whose symbols need not be exported.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %jit_cxx -O0 %s -o %t/O0 -pthread && %jit_cxx -O2 -fPIE -pie %s -o %t/O2 -pthread
// RUN: %t/O0 > %t/expected && FileCheck %s < %t/expected
// RUN: %t/O2 | diff - %t/expected
// RUN: %jit_run MNEME_JIT_REPORT=%t/O0.json %t/O0 | diff - %t/expected
// RUN: %jit_run MNEME_JIT_REPORT=%t/O2.json %t/O2 | diff - %t/expected
// RUN: strip %t/O2 && %jit_run MNEME_JIT_REPORT=%t/strip.json %t/O2 | diff - %t/expected
// RUN: %jit_report %t/O0.json | FileCheck %s --check-prefix=ALL
// RUN: %jit_report %t/strip.json | FileCheck %s --check-prefix=ALL
// ALL: served=21 fell_back=0
// RUN: %jit_report %t/O2.json state | FileCheck %s --check-prefix=STATE
// STATE: function state(int)
// STATE-NEXT:   arg 1 = 1: 3 served
// STATE-NEXT:   arg 1 = 2: 1 served
// RUN: %jit_report %t/O2.json shown | FileCheck %s --check-prefix=SHOWN
// SHOWN: function shown(int, int)
// SHOWN-NEXT:   arg 1 = 1: 2 served
//
// Switched off, nothing is compiled.
// RUN: %jit_run MNEME_JIT=0 MNEME_JIT_REPORT=%t/off.json %t/O2 | diff - %t/expected
// RUN: not test -e %t/off.json
//
// A program can link the runtime instead.
// RUN: %jit_cxx -O2 %s -o %t/linked -pthread %jit_lib -Wl,-rpath,%mneme_build/lib
// RUN: env MNEME_JIT_REPORT=%t/linked.json %t/linked | diff - %t/expected
// RUN: %jit_report %t/linked.json | FileCheck %s --check-prefix=ALL

#include <cmath>
#include <cstdio>
#include <mneme/jit.h>
#include <string>
#include <thread>

static int Hidden = 5;
int Visible = 7;
thread_local int Local = 1;
static thread_local double Twice = 2;

static int count(int X) {
  static int Calls = 0;
  return ++Calls * X;
}

struct Base {
  virtual ~Base() = default;
  virtual int f(int) = 0;
};
struct Derived : Base {
  int f(int X) override { return X + Hidden; }
};

__attribute__((annotate("jit", 1))) int state(int N) {
  Local += N;
  Twice *= N;
  Hidden += 1;
  Visible -= N;
  return count(N) + Local + int(Twice) + Hidden + Visible;
}

__attribute__((annotate("jit"))) int virtualCall(Base &B) { return B.f(3); }

__attribute__((annotate("jit", 1))) int factorial(int N) {
  return N < 2 ? 1 : N * factorial(N - 1);
}

template <typename T>
__attribute__((annotate("jit", 1, "{\"arg\": 2}"))) T twice(T X, bool B) {
  return B ? X + X : X;
}

__attribute__((annotate("jit", 2))) std::string repeat(const std::string &S,
                                                       int N) {
  std::string R;
  for (int I = 0; I < N; ++I)
    R += S;
  return R;
}

// Of two values, only the one that the code uses is in the key.
__attribute__((annotate("jit", 1, 2))) void shown(int N, int) {
  printf("shown %d\n", N);
}

__attribute__((annotate("jit", 1, 2))) static double power(double X, float Y) {
  return std::pow(X, Y) + std::fmod(X, 3);
}

struct Small {
  int X, Y;
  short Z;
};
struct Large {
  double A[5];
  int N;
};
int byValue(Small S, Large L) {
  mneme::jit_object(S);
  mneme::jit_arg(L.N);
  return S.X + S.Y + S.Z + L.N + int(L.A[2]);
}
int byReference(const Small &S, const int *P, unsigned short N) {
  mneme::jit_object(S);
  mneme::jit_array(P, N);
  int Sum = S.Y;
  for (int I = 0; I != N; ++I)
    Sum += P[I];
  return Sum;
}

int main() {
  // CHECK: state 17 19 26
  printf("state %d", state(1));
  printf(" %d", state(1));
  printf(" %d\n", state(2));
  std::thread([] { printf("thread %d\n", state(1)); }).join();
  // CHECK-NEXT: thread 19
  printf("counted %d\n", count(1));
  // CHECK-NEXT: counted 5
  Derived D;
  printf("virtual %d\n", virtualCall(D));
  // CHECK-NEXT: virtual 12
  printf("factorial %d\n", factorial(4));
  // CHECK-NEXT: factorial 24
  printf("%Lg %g %d\n", twice(1.5L, true), twice(2.5f, false),
         int(twice(__int128(4), true)));
  // CHECK-NEXT: 3 2.5 8
  printf("%d %g\n", twice(char(4), true), double(twice(_Float16(3), true)));
  // CHECK-NEXT: 8 6
  printf("%s\n", repeat("ab", 3).c_str());
  // CHECK-NEXT: ababab
  shown(1, 2);
  shown(1, 3);
  // CHECK-NEXT: shown 1
  // CHECK-NEXT: shown 1
  printf("%.3f\n", power(5, 2.5f));
  // CHECK-NEXT: 57.902
  printf("%d\n", byValue({1, 2, 3}, {{0, 1, 2, 3, 4}, 10}));
  // CHECK-NEXT: 18
  int A[] = {1, 2, 3};
  printf("%d\n", byReference({1, 2, 3}, A, 3));
  // CHECK-NEXT: 8
  A[1] = 20;
  printf("%d\n", byReference({1, 2, 3}, A, 3));
  // CHECK-NEXT: 26
}
