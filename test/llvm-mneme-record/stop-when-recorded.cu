// The application is ended once a launch of every selected kernel is recorded.
// REQUIRES: clang, cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: llvm-mneme-record --device=host -o %t/both --stop-when-recorded -- %t/app > %t/out 2> %t/err
// RUN: FileCheck %s --allow-empty --implicit-check-not=end < %t/out
// RUN: llvm-mneme-record check %t/both
// RUN: llvm-mneme-replay %t/both --all --passes=O1 | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-2: "verdict": "Match"

// Again into the same folder: what it holds is recorded.
// RUN: llvm-mneme-record --device=host -o %t/both --stop-when-recorded -- %t/app

// It may ignore SIGTERM.
// RUN: env DEAF=1 llvm-mneme-record --device=host -o %t/deaf --stop-when-recorded -- %t/app

// RUN: not llvm-mneme-record --device=host -o %t/typo --stop-when-recorded --kernel=nosuch -- %t/app 2>&1 | FileCheck %s --check-prefix=TYPO
// TYPO: error: no kernel of the application matches --kernel='nosuch'; there are:
// TYPO-NEXT: {{^}}  first(int*){{$}}
// TYPO-NEXT: {{^}}  second(int*){{$}}

// Of one kernel only, as many as there are to be.
// RUN: llvm-mneme-record --device=host -o %t/three --stop-when-recorded --kernel='^second' --max-recordings=3 --record-id=ordinal -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=THREE
// THREE: {{^}}second(int*) 3 -
// THREE-NOT: seen
// THREE: mneme: 3 instances of 1 kernel, {{.*}}
// THREE: mneme: ended the application: a launch of each selected kernel is recorded

// A kernel that is not launched: the application ends by itself, with its exit code.
// RUN: sh -c '"$@"; test $? = 5' - llvm-mneme-record --device=host -o %t/never --stop-when-recorded -- %t/app 10 2>&1 | FileCheck %s --check-prefix=NEVER
// NEVER: end

// RUN: not llvm-mneme-record --stop-when-recorded --max-recordings=0 -- %t/app 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: error: --stop-when-recorded and --max-recordings=0: there is always more to record
// RUN: not llvm-mneme-record --stop-when-recorded --pick=slowest -- %t/app 2>&1 | FileCheck %s --check-prefix=PICK
// PICK: error: --stop-when-recorded and --pick=slowest: the launches to keep are known only at the end
// RUN: not llvm-mneme-record --stop-when-recorded --any-executable -- sh -c true 2>&1 | FileCheck %s --check-prefix=ANY
// ANY: error: --stop-when-recorded and --any-executable: the kernels are unknown
// RUN: not llvm-mneme-record --stop-when-recorded --no-record -- %t/app 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --stop-when-recorded and --no-record: nothing is recorded

#include <csignal>
#include <cstdio>
#include <cstdlib>

__global__ void first(int *P) { P[threadIdx.x] += 1; }
__global__ void second(int *P) { P[threadIdx.x] += 2; }

// Without an argument it does not end; with one, the second kernel is not launched.
int main(int argc, char **argv) {
  if (getenv("DEAF"))
    signal(SIGTERM, SIG_IGN);
  int *P;
  cudaMalloc(&P, 128);
  cudaMemset(P, 0, 128);
  for (int I = 0; argc < 2 || I != atoi(argv[1]); ++I) {
    first<<<1, 32>>>(P);
    if (argc < 2)
      second<<<1, 32>>>(P);
    cudaDeviceSynchronize();
  }
  puts("end");
  return 5;
}
