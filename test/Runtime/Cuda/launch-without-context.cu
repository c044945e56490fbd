// A thread without a current context launches into a stream, as libomptarget does for nowait. A driver since CUDA 13 takes the
// stream's context, and so does the recorder; an earlier one fails, and still does when recorded.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/app.cubin
// RUN: %cxx -x c++ -std=c++17 -I%cuda_path/include %s -o %t/app -L%cuda_path/lib64/stubs -lcuda -lpthread
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// RUN: %{gpu} %t/app %t/app.cubin | FileCheck %s --check-prefix=RESULT
// RUN: %{gpu} llvm-mneme-record --any-executable --device=cuda -o %t/rec -- %t/app %t/app.cubin 2>&1 | FileCheck %s --check-prefixes=RESULT,CHECK
// RUN: %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// RESULT: no context before, launched 0, synchronized 0, no context after, result 17
// CHECK: 2 launches seen, 2 recorded, 0 skipped
// REPLAY: add grid 1: Match
// REPLAY: add grid 2: Match
//
// RUN: %{gpu} MNEME_EMULATED_VERSION=12040 %t/app %t/app.cubin | FileCheck %s --check-prefix=OLD
// RUN: %{gpu} MNEME_EMULATED_VERSION=12040 llvm-mneme-record --any-executable --device=cuda -o %t/old -- %t/app %t/app.cubin 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=OLD,OLD-SKIP
// OLD: no context before, launched 201, synchronized 201, no context after, result 0
// OLD-SKIP: 0 launches seen

#ifdef __CUDA__
extern "C" __global__ void add(int *P, int N) { atomicAdd(P, N); }
#else
#include "Inputs/driver.h"
#include <thread>

static const char *now() {
  CUcontext C;
  CHECK(cuCtxGetCurrent(&C));
  return C ? "a context" : "no context";
}

int main(int, char **Argv) {
  std::string Image = read(Argv[1]);
  CUmodule Module;
  CUfunction Function;
  CUstream S;
  CUdeviceptr P;
  int H = 0, N = 7;
  makeContext();
  CHECK(cuModuleLoadData(&Module, Image.c_str()));
  CHECK(cuModuleGetFunction(&Function, Module, "add"));
  CHECK(cuStreamCreate(&S, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&P, sizeof(H)));
  CHECK(cuMemcpyHtoD(P, &H, sizeof(H)));
  std::thread([&] {
    const char *Before = now();
    void *Args[] = {&P, &N};
    int Launched = cuLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, S, Args, nullptr);
    struct {
      CUdeviceptr P;
      int N;
    } Packed = {P, 5};
    size_t Size = 12;
    void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &Packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
    cuLaunchKernel(Function, 2, 1, 1, 1, 1, 1, 0, S, nullptr, Extra);
    int Synchronized = cuStreamSynchronize(S);
    printf("%s before, launched %d, synchronized %d, %s after, ", Before, Launched, Synchronized, now());
  }).join();
  CHECK(cuMemcpyDtoH(&H, P, sizeof(H)));
  printf("result %d\n", H);
}
#endif
