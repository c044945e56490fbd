// Functions that the program builds statement by statement: numbers, pointers, arrays, control flow, calls, math, atomics.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %source_cxx %s -rdynamic -o %t/app
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %t/app | FileCheck %s
// CHECK: extern "C" int collatz(int a0) {
// CHECK: while (true) {
// CHECK: collatz 111
// CHECK: convert 3 2.5 -3
// CHECK: limits 1 1 1
// CHECK: array 0 10 20 30
// CHECK: tiles 45
// CHECK: break 4
// CHECK: calls 43 7
// CHECK: math 8 3 2
// CHECK: atomics 5 7 3
// CHECK: names 1 2
// CHECK: error: 'open': a block has no end
// CHECK: error: endIf() without a beginning
// CHECK: error: kernel 'k' in a module for the host
// CHECK: error: 'late' is added after the module was compiled
// CHECK: built once 1
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %t/app > %t/out
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --check-prefix=SECOND
// SECOND: {{^}}library C++ cache: [[#]]
// SECOND-NOT: compiled

#include <climits>
#include <cstdio>
#include <mneme/jit_builder.h>

using namespace mneme::builder;
using mneme::jit_target;

extern "C" int outside(int X) { return X + 1; }

int main() {
  Module M;
  auto &C = M.addFunction<int(int)>("collatz");
  C.function([&] {
    auto &N = C.getArg<0>();
    auto Steps = C.defVar<int>(0);
    C.whileLoop([&] { return N != 1; },
                [&] {
                  C.beginIf(N % 2 == 0);
                  N = N / 2;
                  C.beginElse();
                  N = N * 3 + 1;
                  C.endIf();
                  Steps += 1;
                });
    C.ret(Steps);
  });
  auto &V = M.addFunction<void(int *, double *, float *)>("convert");
  V.function([&] {
    auto [I, D, F] = V.getArgs();
    auto X = V.defVar(3.9);
    I[0] = X;
    D[0] = V.convert<double>(V.defVar(2.5f));
    F[0] = -V.convert<float>(I[0]);
    V.ret();
  });
  auto &L = M.addFunction<void(int *, double *, size_t *)>("limits");
  L.function([&] {
    auto [I, D, S] = L.getArgs();
    *I = INT_MIN;
    *D = 0.1;
    *S = ~size_t(0);
    L.ret();
  });
  auto &A = M.addFunction<void(int *)>("array");
  A.function([&] {
    auto Local = A.declVar<int[]>(4);
    auto I = A.defVar<int>(0), One = A.defVar<int>(1), Four = A.defVar<int>(4);
    A.forLoop(I, I, Four, One, [&] { Local[I] = I * 10; });
    auto J = A.defVar<int>(0), Zero = A.defVar<int>(0);
    auto Out = A.getArg<0>() + Zero;
    A.forLoop<EmissionPolicy::Lazy>(J, Zero, Four, One, [&] { Out[J] = Local[J]; }).unroll(2).emit();
    A.ret();
  });
  auto &T = M.addFunction<int()>("tiles");
  T.function([&] {
    constexpr auto Lazy = EmissionPolicy::Lazy;
    auto I = T.declVar<int>(), J = T.declVar<int>();
    auto Zero = T.defVar<int>(0), One = T.defVar<int>(1), Sum = T.defVar<int>(0);
    auto Five = T.defVar<int>(5), Three = T.defVar<int>(3);
    T.buildLoopNest(T.forLoop<Lazy>(I, Zero, Five, One), T.forLoop<Lazy>(J, Zero, Three, One, [&] { Sum += I + J; }))
        .tile(2)
        .emit();
    T.ret(Sum);
  });
  auto &B = M.addFunction<int()>("leave");
  B.function([&] {
    auto I = B.defVar<int>(0);
    B.beginWhile([&] { return I < 10; });
    B.ifThen(I == 4 || I > 8, [&] { B.breakLoop(); });
    I += 1;
    B.endWhile();
    B.ret(I);
  });
  auto &Set = M.addFunction<void(int *)>("set");
  Set.function([&] {
    *Set.getArg<0>() = 7;
    Set.ret();
  });
  auto &Call = M.addFunction<int(int *)>("calls");
  Call.function([&] {
    auto X = Call.defVar<int>(42), Y = Call.declVar<int>();
    auto Address = Y.getAddress();
    Call.call<void(int *)>("set", Address);
    *Call.getArg<0>() = Y;
    Call.ret(Call.call<int(int)>("outside", X));
  });
  auto &Math = M.addFunction<void(float *)>("maths");
  Math.function([&] {
    auto &X = Math.getArg<0>();
    auto Two = Math.defVar(2.0f), Three = Math.defVar(3.0f);
    X[0] = powf(Two, Three);
    X[1] = max(Two, sqrtf(Three * Three));
    X[2] = min(Two, Three);
    Math.ret();
  });
  auto &Atomic = M.addFunction<void(int *)>("atomics");
  Atomic.function([&] {
    auto &X = Atomic.getArg<0>();
    auto P = X + 1, Q = X + 2;
    Atomic.atomicAdd(X, Atomic.defVar<int>(5));
    Atomic.atomicMax(P, Atomic.defVar<int>(7));
    Atomic.atomicMin(Q, Atomic.defVar<int>(3));
    Atomic.ret();
  });
  auto &Keyword = M.addFunction<int()>("while");
  Keyword.function([&] { Keyword.ret(Keyword.defVar<int>(1)); });
  auto &Dot = M.addFunction<int()>("while.2");
  Dot.function([&] { Dot.ret(Dot.defVar<int>(2)); });
  M.print();
  if (!M.compile())
    return std::printf("%s", M.error().c_str());

  std::printf("collatz %d\n", C(27));
  int I, X[4];
  double D;
  float F, Y[3];
  size_t S;
  V(&I, &D, &F);
  std::printf("convert %d %g %g\n", I, D, F);
  L(&I, &D, &S);
  std::printf("limits %d %d %d\n", I == INT_MIN, D == 0.1, S == ~size_t(0));
  A(X);
  std::printf("array %d %d %d %d\n", X[0], X[1], X[2], X[3]);
  std::printf("tiles %d\n", T());
  std::printf("break %d\n", B());
  int Result = Call(&I);
  std::printf("calls %d %d\n", Result, I);
  Math(Y);
  std::printf("math %g %g %g\n", Y[0], Y[1], Y[2]);
  int Counters[] = {0, 0, 9};
  Atomic(Counters);
  std::printf("atomics %d %d %d\n", Counters[0], Counters[1], Counters[2]);
  std::printf("names %d %d\n", Keyword(), Dot());

  Module Open;
  auto &O = Open.addFunction<void(bool)>("open");
  O.function([&] { O.beginIf(O.getArg<0>()); });
  Open.compile();
  std::printf("%s", Open.error().c_str());
  Module Close;
  Close.addFunction<void()>("close").endIf();
  Close.compile();
  std::printf("%s", Close.error().c_str());
  Module Host;
  Host.addKernel<void()>("k");
  Host.compile();
  std::printf("%s", Host.error().c_str());
  Module Late;
  Late.compile();
  Late.addFunction<void()>("late");
  Late.compile();
  std::printf("%s", Late.error().c_str());

  int Built = 0;
  for (int Time = 0; Time != 2; ++Time)
    lookup("key", jit_target::host, [&](Module &) { ++Built; });
  std::printf("built once %d\n", Built);
}
