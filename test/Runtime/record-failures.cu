// A recording that fails is skipped with its reason; the application goes on.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t

// A kernel that crashes leaves nothing behind.
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t crash > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=CRASH < %t.err
// RUN: FileCheck %s --check-prefix=GOESON < %t.out
// RUN: find %t.rec -name 'DeviceState*' -o -name '*Pages*' | count 0
// CRASH: mneme: error: kernel '_Z5storePi' {{.*}}illegal
// CRASH: mneme: warning: kernel '_Z5storePi' is not recorded: the launch failed
// CRASH: 1 launch seen, 0 recorded, 1 skipped

// A file that cannot grow is what a full disk looks like.
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host --any-executable -o %t.rec -- sh -c 'trap "" XFSZ; ulimit -f 8; exec %t fill' > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=FULL < %t.err
// RUN: FileCheck %s --check-prefix=GOESON < %t.out
// RUN: find %t.rec -name 'DeviceState*' -o -name '*Pages*' | count 0
// FULL: mneme: warning: kernel '_Z5storePi' is not recorded: cannot write a file in '{{.*}}': File too large

// The folder is gone.
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host --any-executable -o %t.rec -- sh -c 'rm -rf %t.rec; exec %t fill' > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=GONE < %t.err
// RUN: FileCheck %s --check-prefix=GOESON < %t.out
// GONE: mneme: warning: kernel '_Z5storePi' is not recorded: cannot create a file in '{{.*}}': No such file or directory

// It goes while the program runs: said once, and counted.
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host --max-recordings=0 -o %t.rec -- %t gone %t.rec > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=MIDWAY --implicit-check-not=warning: < %t.err
// RUN: FileCheck %s --check-prefix=GOESON < %t.out
// MIDWAY: mneme: warning: kernel '_Z5storePi' is not recorded: cannot create a file in '{{.*}}': No such file or directory
// MIDWAY: mneme: 21 launches seen, 1 recorded, 20 skipped
// MIDWAY-NEXT: mneme: 20 skipped: cannot create a file in '{{.*}}': No such file or directory

// One attempt is enough for a configuration, and nobody is told that it succeeded.
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host --any-executable -o %t.rec -- sh -c 'ulimit -f 0; exec %t same' 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: mneme: 5 launches seen, 0 recorded, 5 skipped
// SAME-DAG: mneme: 1 skipped: cannot write a file in '{{.*}}': File too large
// SAME-DAG: mneme: 4 skipped: same launch configuration failed to be recorded before

// Nor does it end where stderr is a file that may not grow, or nobody reads it.
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host --any-executable -o %t.rec -- sh -c 'ulimit -f 0; exec %t same 2> %t.stderr' 2>&1 | FileCheck %s --check-prefix=MUTE
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host --any-executable -o %t.rec -- %python %S/Inputs/unread.py sh -c 'ulimit -f 0; exec %t same' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MUTE
// MUTE: the program goes on
// MUTE: mneme: 5 launches seen, 0 recorded, 5 skipped

// GOESON: the program goes on

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <string>
#include <vector>

__global__ void store(int *P) { *P = 1; }

int main(int, char **Argv) {
  int *D;
  std::vector<unsigned> H(1 << 20);
  unsigned Random = 1;
  for (unsigned &V : H) // Does not compress.
    V = Random = Random * 1664525 + 1013904223;
  OK(cudaMalloc(&D, 4 << 20));
  OK(cudaMemcpy(D, H.data(), 4 << 20, cudaMemcpyHostToDevice));
  if (strcmp(Argv[1], "same"))
    store<<<1, 1>>>(strcmp(Argv[1], "crash") ? D : nullptr);
  cudaDeviceSynchronize();
  if (!strcmp(Argv[1], "gone")) {
    CHECK(!system((std::string("rm -rf ") + Argv[2]).c_str()));
    for (int Blocks = 2; Blocks <= 21; ++Blocks)
      store<<<Blocks, 1>>>(D);
    cudaDeviceSynchronize();
  }
  for (int I = 0; !strcmp(Argv[1], "same") && I != 5; ++I)
    store<<<2, 1>>>(D);
  cudaDeviceSynchronize();
  printf("the program goes on\n");
}
