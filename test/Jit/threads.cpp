// Threads that call the same functions at once, find their variants and switch the JIT on and off, under ThreadSanitizer.
//
// REQUIRES: runtime-tsan
// RUN: rm -rf %t && mkdir %t
// RUN: %jit_cxx -O1 -g -fsanitize=thread %s -o %t/app -Wl,--no-as-needed %runtime_tsan -Wl,-rpath,%mneme_build/lib/tsan
//
// The server is there, so that the instrumented process need not start it.
// RUN: %jit_cxx -O2 %S/Inputs/app.cpp -o %t/other && %jit_run %t/other 1
// RUN: env MNEME_JIT_SERVER=%mneme_build/bin/llvm-mneme-jitd MNEME_JIT_VARIANTS=20 MNEME_JIT_REPORT=%t/report \
// RUN:   TSAN_OPTIONS=exitcode=66 %t/app | FileCheck %s
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=REPORT
// RUN: env MNEME_JIT_SERVER=%mneme_build/bin/llvm-mneme-jitd MNEME_JIT_MODE=async MNEME_JIT_REPORT=%t/report \
// RUN:   TSAN_OPTIONS=exitcode=66 %t/app | FileCheck %s
// CHECK: 16 threads
// REPORT: served={{[1-9][0-9]*}}

#include <atomic>
#include <cstdio>
#include <mneme/jit.h>
#include <thread>
#include <vector>

__attribute__((noinline, annotate("jit", 1))) static int twice(int N) {
  return 2 * N;
}
__attribute__((noinline)) static int sum(const int *P, int N) {
  mneme::jit_array(P, N);
  int Sum = 0;
  for (int I = 0; I != N; ++I)
    Sum += P[I];
  return Sum;
}

static int Values[] = {1, 2, 3, 4};

int main() {
  std::atomic<int> Wrong{0}, Ready{0};
  std::vector<std::thread> Threads;
  constexpr int NumThreads = 16;
  for (int T = 0; T != NumThreads; ++T)
    Threads.emplace_back([&, T] {
      for (++Ready; Ready != NumThreads;)
        ;
      for (int I = 0; I != 500; ++I) {
        int N = (I + T) % 24;
        Wrong += twice(N) != 2 * N;
        Wrong += sum(Values, 1 + I % 4) != (1 + I % 4) * (2 + I % 4) / 2;
        if (T == 0 && I % 50 == 0)
          mneme::jit_enable(I % 100 != 0);
      }
    });
  for (std::thread &T : Threads)
    T.join();
  printf("%d threads\n", NumThreads);
  return Wrong;
}
