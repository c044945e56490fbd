// A program that closes all descriptors which it does not know, as daemons do, and
// opens its own under their numbers: nothing of ours gets into its files, and none of
// them is closed.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O1 %s -o %t
// RUN: rm -rf %t.rec %t.file
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t %t.file > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// CHECK: value 2
// CHECK: value 3
// CHECK: all as it should be
// RUN: cat %t.file | count 0
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// ERR: mneme: warning: kernel '_Z5storePii' is not recorded: the program has closed the connection to the launcher
// ERR: mneme: 1 instance of 1 kernel
// RUN: llvm-mneme-record check %t.rec

// One that has closed its own output, and writes there all the same.
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t %t.file silent 2> %t.err
// RUN: FileCheck %s --check-prefix=SILENT < %t.err
// SILENT: mneme: 2 launches seen, 2 recorded, 0 skipped
// RUN: llvm-mneme-record check %t.rec

// Nor does the launcher take what it opens for its output.
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t %t.file silent <&- >&- 2>&-
// RUN: llvm-mneme-record check %t.rec 2>&- | FileCheck %s --check-prefix=WHOLE
// WHOLE: 1 kernel, 2 instances, 0 problems

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

__global__ void store(int *P, int V) { *P = V; }

static int use(int Blocks) {
  int *P, H = 0;
  OK(cudaMalloc(&P, 4));
  store<<<Blocks, 1>>>(P, Blocks);
  OK(cudaMemcpy(&H, P, 4, cudaMemcpyDeviceToHost));
  return H;
}

int main(int Argc, char **Argv) {
  if (Argc > 2) {
    for (int Fd : {0, 1, 2})
      close(Fd);
    int First = use(1);
    for (int Fd : {0, 1, 2})
      if (write(Fd, "noise", 5) != -1)
        return 1;
    return First != 1 || use(2) != 2;
  }
  CHECK(use(1) == 1);
  struct rlimit Limit;
  CHECK(!getrlimit(RLIMIT_NOFILE, &Limit));
  // The rest is for the snapshots.
  int Last = (Limit.rlim_cur < 1024 ? Limit.rlim_cur : 1024) - 64;
  for (int Fd = 3; Fd != Last; ++Fd)
    close(Fd);
  int File = open(Argv[1], O_CREAT | O_RDWR, 0666);
  CHECK(File == 3);
  for (int Fd = 4; Fd != Last; ++Fd)
    CHECK(dup2(File, Fd) == Fd);
  printf("value %d\n", use(2));
  printf("value %d\n", use(3));
  for (int Fd = 3; Fd != Last; ++Fd)
    CHECK(fcntl(Fd, F_GETFD) != -1);
  printf("all as it should be\n");
}
