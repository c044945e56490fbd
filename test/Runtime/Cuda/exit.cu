// However the program ends: what was recorded before is whole.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// DEFINE: %{how} =
// DEFINE: %{record} = %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.%{how}.rec -- %t %{how}

// REDEFINE: %{how} = return
// RUN: %{record} 2>&1 | FileCheck %s --check-prefixes=CHECK,SUMMARY
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.return.rec | FileCheck %s --check-prefix=REPLAY
// REDEFINE: %{how} = exit
// RUN: %{record} 2>&1 | FileCheck %s --check-prefixes=CHECK,SUMMARY
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.exit.rec | FileCheck %s --check-prefix=REPLAY
// CHECK: first 1
// SUMMARY: 1 launch seen, 1 recorded, 0 skipped
// REPLAY: bump grid 1: Match

// While another thread is busy with the device.
// REDEFINE: %{how} = busy
// RUN: %{record} 2>&1 | FileCheck %s --check-prefixes=CHECK,SUMMARY

// A reset ends the context; another one begins, with memory at the same addresses
// and variables as new.
// REDEFINE: %{how} = reset
// RUN: %{record} 2>&1 | FileCheck %s --check-prefixes=CHECK,RESET
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.reset.rec | FileCheck %s --check-prefix=REPLAYRESET
// RESET: same place: 1
// RESET: second 1
// RESET: 2 launches seen, 2 recorded, 0 skipped
// REPLAYRESET: bump grid 1: Match
// REPLAYRESET-NEXT: bump grid 2: Match

// No handler runs: there is no summary. What was still on its way is not there,
// and nothing is left of it.
// REDEFINE: %{how} = _exit
// RUN: not %{record} 2>&1 | FileCheck %s --check-prefixes=CHECK,SILENT
// SILENT: ended without a report
// RUN: find %t._exit.rec -name '.recording-*' | count 0
// RUN: ls %t._exit.rec/*.json || exit 0; llvm-mneme-record check %t._exit.rec

// The memory is given back by a destructor that runs later than our handler.
// REDEFINE: %{how} = late
// RUN: %{record} 2>&1 | FileCheck %s --check-prefixes=CHECK,LATE
// LATE: late free: no error

// The disk is slower than any launch may be. The thread that writes and the
// program's own are not in any order.
// REDEFINE: %{how} = disk
// RUN: env MNEME_WAIT_LIMIT=2 %{record} 2>&1 | FileCheck %s --check-prefix=DISK
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.disk.rec | FileCheck %s --check-prefix=REPLAY
// DISK-DAG: first 1
// DISK-DAG: the disk is slow
// DISK-DAG: 1 launch seen, 1 recorded, 0 skipped

// A child that was forked may end as it likes.
// REDEFINE: %{how} = fork
// RUN: %{record} 2>&1 | FileCheck %s --check-prefixes=CHECK,SUMMARY

#include "../Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

__device__ int Count;

__global__ void bump(int *P) { P[blockIdx.x] = ++Count; }

static std::atomic<bool> DiskIsSlow{false};

struct Late {
  int *Memory = nullptr;
  ~Late() {
    if (Memory)
      printf("late free: %s\n", cudaGetErrorString(cudaFree(Memory)));
  }
} Late;

/// Instead of the C library's, for the threads that record.
extern "C" ssize_t write(int File, const void *From, size_t Size) {
  static auto Original = reinterpret_cast<decltype(&write)>(dlsym(RTLD_NEXT, "write"));
  static std::atomic<bool> Told{false};
  if (DiskIsSlow && gettid() != getpid() && !Told.exchange(true)) {
    dprintf(1, "the disk is slow\n");
    usleep(4500000);
  }
  return Original(File, From, Size);
}

int main(int, char **Argv) {
  const char *How = Argv[1];
  DiskIsSlow = !strcmp(How, "disk");
  int *D, *E, H;
  OK(cudaMalloc(&D, 4000));
  OK(cudaMemset(D, 0, 4000));
  bump<<<1, 1>>>(D);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  printf("first %d\n", H);
  fflush(stdout);
  if (!strcmp(How, "exit"))
    exit(0);
  if (!strcmp(How, "busy")) {
    static std::atomic<bool> IsBusy{false};
    std::thread([] {
      for (void *P; !cudaMalloc(&P, 100); IsBusy = true)
        cudaFree(P);
    }).detach();
    while (!IsBusy)
      ;
    exit(0);
  }
  if (!strcmp(How, "_exit"))
    _exit(3);
  if (!strcmp(How, "late"))
    Late.Memory = D;
  if (!strcmp(How, "fork")) {
    pid_t Child = fork();
    if (!Child)
      exit(0);
    waitpid(Child, nullptr, 0);
  }
  if (!strcmp(How, "reset")) {
    OK(cudaDeviceReset());
    OK(cudaDeviceReset());
    OK(cudaMalloc(&E, 4000));
    printf("same place: %d\n", D == E);
    OK(cudaMemset(E, 0, 4000));
    bump<<<2, 1>>>(E);
    OK(cudaMemcpy(&H, E, 4, cudaMemcpyDeviceToHost));
    printf("second %d\n", H > 0 && H < 3);
    OK(cudaDeviceReset());
  }
}
