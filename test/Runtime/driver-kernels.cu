// A program loads LLVM bitcode through the driver and launches its kernels: in streams, with
// all ways of passing arguments, from graphs. Its launches are recorded and replayed.

// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cxx -x c++ -std=c++17 -I%cuda_path/include -I%S/Cuda/Inputs %s -o %t/app -L%cuda_path/lib64/stubs -lcuda
// RUN: llvm-mneme-record --no-record --device=host --any-executable -- %t/app %t/app.bc | FileCheck %s
// RUN: llvm-mneme-record --device=host --any-executable -o %t/rec -- %t/app %t/app.bc 2>&1 | FileCheck %s --check-prefixes=CHECK,SUMMARY
// RUN: %python %S/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec host | FileCheck %s --check-prefix=REPLAY

// CHECK: module 2 15 40 3, variable 3
// CHECK: library 2 15 40 3, variable 3
// CHECK: graph 36 24
// SUMMARY: 14 launches seen, 4 recorded, 10 skipped
// SUMMARY-NEXT: {{.*}}10 skipped: same launch configuration recorded before
// REPLAY-DAG: add grid 1: Match
// REPLAY-DAG: add grid 2: Match
// REPLAY-DAG: count grid 1 cooperative: Match
// REPLAY-DAG: sum grid 1: Match

#include "Cuda/Inputs/driver-kernels.h"
#ifndef __CUDA__
#include "driver.h"

/// Launches the three kernels.
static void launchAll(const char *What, CUfunction *F, CUdeviceptr Variable, CUstream S) {
  CUdeviceptr P;
  int Two = 2, Undo = -15, H[4] = {}, Initial = 2;
  CHECK(cuMemAlloc(&P, sizeof(H)));
  CHECK(cuMemcpyHtoDAsync(P, H, sizeof(H), S));
  CHECK(cuMemcpyHtoD(Variable, &Initial, sizeof(Initial)));
  void *AddArgs[] = {&P, &Two};
  CHECK(cuLaunchKernel(F[0], 1, 1, 1, 1, 1, 1, 0, S, AddArgs, nullptr));

  // Packed parameters.
  struct {
    CUdeviceptr P;
    int N;
  } Packed = {P, 15};
  size_t PackedSize = 12;
  void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &Packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &PackedSize,
                   CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(F[0], 2, 1, 1, 1, 1, 1, 0, S, nullptr, Extra));
  void *UndoArgs[] = {&P, &Undo};
  CHECK(cuLaunchKernel(F[0], 1, 1, 1, 1, 1, 1, 0, S, UndoArgs, nullptr));

  // A struct that is aligned less than its size.
  CUdeviceptr Third = P + 8, Fourth = P + 12;
  Pair Values = {{20, 10}};
  char Ten = 10;
  void *SumArgs[] = {&Third, &Ten, &Values};
  CUlaunchConfig Config = {1, 1, 1, 1, 1, 1, 0, S, nullptr, 0};
  CHECK(cuLaunchKernelEx(&Config, F[1], SumArgs, nullptr));
  void *CountArgs[] = {&Fourth};
  CHECK(cuLaunchCooperativeKernel(F[2], 1, 1, 1, 1, 1, 1, 0, S, CountArgs));
  CHECK(cuStreamSynchronize(S));
  CHECK(cuMemcpyDtoH(H, P, sizeof(H)));
  CHECK(cuMemcpyDtoH(&Initial, Variable, sizeof(Initial)));
  printf("%s %d %d %d %d, variable %d\n", What, H[0], H[1], H[2], H[3], Initial);
  CHECK(cuMemFree(P));
}

/// Launches \p Add twice from a graph that was captured, and from one that was built.
static void launchGraphs(CUfunction Add, CUstream S) {
  CUgraph Captured, Built;
  CUgraphExec Execs[2];
  CUgraphNode Node, Nodes[2];
  CUdeviceptr P;
  int Ten = 10, Six = 6, H[2];
  CHECK(cuMemAlloc(&P, sizeof(H)));
  CHECK(cuMemsetD32(P, 4, 2));
  void *Args[] = {&P, &Ten}, *MoreArgs[] = {&P, &Six};
  CHECK(cuStreamBeginCapture(S, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuLaunchKernel(Add, 2, 1, 1, 1, 1, 1, 0, S, Args, nullptr));
  CHECK(cuStreamEndCapture(S, &Captured));
  CHECK(cuGraphInstantiate(&Execs[0], Captured, 0));
  CHECK(cuGraphCreate(&Built, 0));
  CUDA_KERNEL_NODE_PARAMS Params = {};
  Params.func = Add;
  Params.gridDimX = Params.gridDimY = Params.gridDimZ = 1;
  Params.blockDimX = Params.blockDimY = Params.blockDimZ = 1;
  Params.kernelParams = MoreArgs;
  CHECK(cuGraphAddKernelNode(&Nodes[0], Built, nullptr, 0, &Params));
  CHECK(cuGraphAddKernelNode(&Nodes[1], Built, Nodes, 1, &Params));
  CHECK(cuGraphKernelNodeGetParams(Nodes[1], &Params));
  if (Params.func != Add)
    printf("another kernel\n");
  CHECK(cuGraphInstantiate(&Execs[1], Built, 0));
  CHECK(cuGraphLaunch(Execs[0], S));
  CHECK(cuGraphLaunch(Execs[1], S));
  CHECK(cuGraphLaunch(Execs[0], S));
  CHECK(cuStreamSynchronize(S));
  CHECK(cuMemcpyDtoH(H, P, sizeof(H)));
  printf("graph %d %d\n", H[0], H[1]);
}

int main(int, char **Argv) {
  std::string Image = read(Argv[1]);
  CUmodule Module;
  CUlibrary Library;
  CUfunction Functions[3];
  CUkernel Kernels[3];
  const char *Names[] = {"add", "sum", "count"};
  CUdeviceptr Variable;
  CUstream S;
  CUevent Start, End;
  size_t Size;
  float Milliseconds;
  makeContext();
  CHECK(cuStreamCreate(&S, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&Start, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&End, CU_EVENT_DEFAULT));
  CHECK(cuModuleLoadData(&Module, Image.data()));
  CHECK(cuLibraryLoadData(&Library, Image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  // The driver has its own copy.
  Image.assign(Image.size(), 0);
  for (int I = 0; I != 3; ++I)
    CHECK(cuModuleGetFunction(&Functions[I], Module, Names[I]));
  CHECK(cuModuleGetGlobal(&Variable, &Size, Module, "Count"));
  CHECK(cuEventRecord(Start, S));
  launchAll("module", Functions, Variable, S);
  CHECK(cuEventRecord(End, S));
  CHECK(cuEventSynchronize(End));
  CHECK(cuEventElapsedTime(&Milliseconds, Start, End));

  // Handles of kernels can be launched as they are.
  for (int I = 0; I != 3; ++I) {
    CHECK(cuLibraryGetKernel(&Kernels[I], Library, Names[I]));
    Functions[I] = reinterpret_cast<CUfunction>(Kernels[I]);
  }
  CHECK(cuKernelGetFunction(&Functions[1], Kernels[1]));
  CHECK(cuLibraryGetGlobal(&Variable, &Size, Library, "Count"));
  launchAll("library", Functions, Variable, S);
  launchGraphs(Functions[0], S);
  CHECK(cuModuleUnload(Module));
  CHECK(cuLibraryUnload(Library));
}
#endif
