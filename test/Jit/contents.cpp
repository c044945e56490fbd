// Contents that are declared constant and change during the call, and the identity of pointers: the results are those as compiled.
// The report says which arguments are not constants, and why.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %jit_cxx -O2 %s -o %t/O2 && %jit_cxx -O0 %s -o %t/O0
// RUN: %t/O2 > %t/expected && FileCheck %s < %t/expected
// RUN: %jit_run MNEME_JIT_REPORT=%t/report %t/O2 | diff - %t/expected
// RUN: %jit_run MNEME_JIT_REPORT=%t/O0.report %t/O0 | diff - %t/expected
// RUN: %jit_report %t/report alias | FileCheck %s --check-prefix=ALIAS
// ALIAS: argument 1 is not a constant: the code may write to it through another pointer; if not, give jit_immutable, or declare
// RUN: %jit_report %t/report callee | FileCheck %s --check-prefix=CALLEE
// CALLEE: argument 1 is not a constant: a call of 'touch(int)' may write to it
// RUN: %jit_report %t/report promised | FileCheck %s --check-prefix=PROMISED
// PROMISED: contents of arg 1 = {5, 6, 7, 8}: 2 served
// RUN: %jit_report %t/report first | FileCheck %s --check-prefix=FIRST
// FIRST: contents of arg 1 = {1, 2, 3, 4}: 1 served
// RUN: %jit_report %t/report find | FileCheck %s --check-prefix=FIND
// FIND: contents of arg 1 = {1, 2, 3, 4}: 1 served

#include <cstdio>
#include <mneme/jit.h>

#define JIT __attribute__((annotate("jit"), noinline))

static int Global[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__attribute__((noinline)) static void touch(int V) { Global[1] = V; }
static const int *Kept;
__attribute__((noinline)) static long distance(const int *P, const int *Q) {
  return Q - P;
}

JIT int alias(const int *P, int *Q, int N) {
  mneme::jit_array(P, 4);
  Q[0] = N;
  return P[0] * 10 + P[1];
}
JIT int between(const int *P, int *Q, int N) {
  mneme::jit_array(P, 4);
  int Sum = 0;
  for (int I = 0; I < 4; ++I) {
    Sum += P[I];
    Q[(I + 1) & 3] = N + I;
  }
  return Sum;
}
JIT int callee(const int *P, int N) {
  mneme::jit_array(P, 4);
  touch(N);
  return P[0] * 10 + P[1];
}
JIT int callback(const int *P, void (*F)(int)) {
  mneme::jit_array(P, 4);
  F(8);
  return P[1];
}
JIT int counted(const int *P, int N) {
  mneme::jit_array(P, 4);
  printf("counted %d%n\n", N, const_cast<int *>(P));
  return P[0] * 10 + P[1];
}
// Everything is read before anything is written.
JIT int first(const int *P, int *Q, int N) {
  mneme::jit_array(P, 4);
  int Sum = P[0] + P[3];
  Q[0] = N;
  return Sum;
}
JIT int promised(const int *P, int *__restrict__ Q, int N) {
  mneme::jit_array(P, 4);
  Q[0] = N;
  return P[0] * 10 + P[1];
}

struct Object {
  int X, Y;
  mutable int Z;
  int write(int N) const;
  int cast(int N) const;
};
JIT int Object::write(int N) const {
  mneme::jit_object(this);
  Z = N;
  return X + Y * 10 + Z * 100;
}
JIT int Object::cast(int N) const {
  mneme::jit_object(this);
  const_cast<Object *>(this)->X = N;
  return X + Y;
}
JIT int pointee(const Object *O, int *Q, int N) {
  mneme::jit_object(O);
  *Q = N;
  return O->X + O->Y * 10;
}
JIT int reference(const Object &O, int *Q, int N) {
  mneme::jit_object(O);
  *Q = N;
  return O.X + O.Y * 10;
}

// Pointers.
JIT const int *find(const int *P, int V) {
  mneme::jit_array(P, 4);
  for (int I = 0; I < 4; ++I)
    if (P[I] == V)
      return P + I;
  return nullptr;
}
JIT bool same(const int *P, const int *Q) {
  mneme::jit_array(P, 4);
  return P == Q;
}
JIT int element(const int *P, int I) {
  mneme::jit_array(P, 4);
  return P[I];
}
JIT int behind(const int *P) {
  mneme::jit_array(P, 4);
  return P[6] + P[-1];
}
JIT int keep(const int *P) {
  mneme::jit_array(P, 4);
  Kept = P;
  return P[0];
}
JIT long far(const int *P, const int *Q) {
  mneme::jit_array(P, 4);
  return distance(P, Q);
}
JIT const Object *self(const Object *O) {
  mneme::jit_object(O);
  return O->X ? O : nullptr;
}

int main() {
  int D[4] = {5, 6, 7, 8}, E[4] = {};
  printf("%d %d\n", alias(D, D, 9), alias(D, E, 9));
  // CHECK: 96 96
  int F[4] = {1, 1, 1, 1};
  printf("%d\n", between(F, F, 10));
  // CHECK-NEXT: 34
  printf("%d %d\n", callee(Global, 50), callback(Global, touch));
  // CHECK-NEXT: 60 8
  touch(2);
  int G[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  printf("%d\n", first(G, G, 1));
  // CHECK-NEXT: 5
  int H[4] = {5, 6, 7, 8};
  printf("%d %d\n", promised(H, E, 1), promised(H, E, 2));
  // CHECK-NEXT: 56 56
  Object O = {1, 2, 3};
  printf("%d", O.write(7));
  printf(" %d", O.cast(40));
  O.X = 1;
  printf(" %d", pointee(&O, &O.X, 77));
  printf(" %d\n", reference(O, &O.Y, 55));
  // CHECK-NEXT: 721 42 97 627
  printf("%ld %d %d\n", long(find(G, 3) - G), same(G, G), same(G, H));
  // CHECK-NEXT: 2 1 0
  printf("%d %d %d\n", element(G, 6), element(G + 3, -2), behind(G + 1));
  // CHECK-NEXT: 7 2 9
  int First = keep(G);
  G[0] += 10;
  printf("%d %d %ld %d\n", First, *Kept, far(G, G + 5), self(&O) == &O);
  // CHECK-NEXT: 1 11 5 1
  int C[4] = {1, 2, 3, 4};
  printf("%d\n", counted(C, 5));
  // CHECK-NEXT: counted 5
  // CHECK-NEXT: 92
}
