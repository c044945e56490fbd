// Compilers that run out of descriptors give the right code or an error, never code without the instance.
//
// RUN: rm -rf %t && mkdir %t && rm -rf %servers/shortage && mkdir %servers/shortage
// RUN: %source_cxx %s -o %t/app
// DEFINE: %{run} = env XDG_RUNTIME_DIR=%servers/shortage MNEME_JIT_CACHE=none
//
// The first server tells the path of the socket.
// RUN: %{run} MNEME_JIT_IDLE=0.1 %t/app 0
// RUN: flock %servers/shortage/mneme-jit/*.lock true
// RUN: mkfifo %t/ready
// RUN: for N in 14 15 16 17 18 19 20 21 22 23 24 25 26; do \
// RUN:   (ulimit -n $N; exec llvm-mneme-jitd --socket="$(ls %servers/shortage/mneme-jit/*.lock | sed 's/.lock$//')" \
// RUN:     --program="$(which llvm-mneme-jitd)" --jobs=2 --idle=0.1 --ready-fd=3 3> %t/ready) & \
// RUN:   read -rn 1 < %t/ready; %{run} %t/app $N; wait; done > %t/out
// RUN: FileCheck %s < %t/out
// CHECK-COUNT-13: {{^[0-9]+: right or an error}}
// CHECK-NOT:      wrong

#include <cstdio>
#include <mneme/jit_module.h>

int main(int, char **argv) {
  mneme::jit_module M(mneme::jit_target::host, "template <int N> int get() { return N; }",
                      {std::string("-DLIMIT=") + argv[1]});
  size_t Wrong = 0, Messages = 0;
  for (int I = 1; I != 4; ++I) {
    int Result = M.instantiate("get", std::to_string(I)).call<int>();
    Wrong += Result != I && M.messages().size() == Messages;
    Messages = M.messages().size();
  }
  std::printf("%s: %s\n", argv[1], Wrong ? "wrong" : "right or an error");
}
