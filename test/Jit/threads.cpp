// Threads that call the same functions at once, find their variants and switch the JIT on and off, under ThreadSanitizer.
//
// REQUIRES: runtime-tsan
// RUN: rm -rf %t && mkdir %t && mkdir -p %servers/threads
// RUN: %jit_cxx -O1 -g -fsanitize=thread %s -o %t/app -Wl,--no-as-needed %runtime_tsan -Wl,-rpath,%mneme_build/lib/tsan
//
// The server is there, as long as a slow machine needs it, so that the instrumented process need not start it.
// RUN: %jit_cxx -O2 %S/Inputs/app.cpp -o %t/other && %jit_run XDG_RUNTIME_DIR=%servers/threads MNEME_JIT_IDLE=100 %t/other 1
// DEFINE: %{run} = XDG_RUNTIME_DIR=%servers/threads MNEME_JIT_SERVER=%mneme_build/bin/llvm-mneme-jitd MNEME_JIT_REPORT=%t/report \
// DEFINE:   TSAN_OPTIONS=exitcode=66 %t/app
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_VARIANTS=10 %{run} | FileCheck %s
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=REPORT
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_MODE=async %{run} slowly | FileCheck %s
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=REPORT
// Variants that are added as fast as possible, because none is compiled.
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_MODE=cached MNEME_JIT_VARIANTS=300 %{run} many | FileCheck %s
// First variants that fail.
// RUN: env MNEME_JIT_MODE=cached %{run} none | FileCheck %s
// CHECK: 8 threads
// REPORT: served={{[1-9][0-9]*}}

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mneme/jit.h>
#include <string>
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

int main(int Argc, char **Argv) {
  std::string How = Argc > 1 ? Argv[1] : "";
  std::atomic<int> Wrong{0}, Ready{0};
  std::vector<std::thread> Threads;
  constexpr int NumThreads = 8;
  for (int T = 0; T != NumThreads; ++T)
    Threads.emplace_back([&, T] {
      for (++Ready; Ready != NumThreads;)
        ;
      for (int I = 0; I != 120; ++I) {
        int N = (I + T) % 12;
        if (How == "many")
          N = I * NumThreads + T;
        // Code that other threads wait for gets ready.
        if (How == "slowly")
          std::this_thread::sleep_for(std::chrono::milliseconds(4));
        Wrong += twice(N) != 2 * N;
        Wrong += sum(Values, 1 + I % 4) != (1 + I % 4) * (2 + I % 4) / 2;
        if (T == 0 && I % 24 == 0)
          mneme::jit_enable(I % 48 != 0);
      }
    });
  for (std::thread &T : Threads)
    T.join();
  printf("%d threads\n", NumThreads);
  return Wrong;
}
