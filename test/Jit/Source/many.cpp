// A server that compiles more modules at a time than it keeps compilers for keeps those that are in use.
//
// RUN: rm -rf %t && mkdir %t && rm -rf %servers/texts && mkdir %servers/texts
// RUN: %source_cxx -pthread %s -o %t/app
// DEFINE: %{run} = env XDG_RUNTIME_DIR=%servers/texts MNEME_JIT_CACHE=none
//
// The first server tells the path of the socket.
// RUN: %{run} MNEME_JIT_IDLE=0.1 %t/app 1 | FileCheck %s --check-prefix=ONE
// ONE: 1 right
// RUN: flock %servers/texts/mneme-jit/*.lock true
// RUN: mkfifo %t/ready && llvm-mneme-jitd --socket="$(ls %servers/texts/mneme-jit/*.lock | sed 's/.lock$//')" \
// RUN:   --program="$(which llvm-mneme-jitd)" --jobs=24 --idle=0.1 --ready-fd=3 3> %t/ready & \
// RUN:   until test -p %t/ready; do :; done; read -rn 1 < %t/ready; %{run} %t/app 24 > %t/out; wait
// RUN: FileCheck %s < %t/out
// CHECK-NOT: error
// CHECK:     24 right

#include <cstdio>
#include <cstdlib>
#include <mneme/jit_module.h>
#include <thread>

int main(int, char **argv) {
  int Count = std::atoi(argv[1]), Right = 0;
  std::vector<std::thread> Threads;
  std::vector<int> Results(Count);
  for (int I = 0; I != Count; ++I)
    Threads.emplace_back([&Results, I] {
      std::string Text = "template <int N> int get() { return N + " + std::to_string(I) + "; }";
      mneme::jit_module M(mneme::jit_target::host, Text);
      for (const char *N : {"1000", "2000"})
        Results[I] += M.instantiate("get", N).call<int>();
      std::fputs(M.error().c_str(), stdout);
    });
  for (int I = 0; I != Count; ++I) {
    Threads[I].join();
    Right += Results[I] == 2 * I + 3000;
  }
  std::printf("%d right\n", Right);
}
