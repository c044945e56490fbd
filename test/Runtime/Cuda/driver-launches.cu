// Kernels that a program without Mneme's pass loads and launches through the driver:
// recorded with their image, found by the driver's functions as programs find them,
// and replayed without IR.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/app.cubin
// RUN: %cuda_cc_plain -O2 --cuda-device-only -S %s -o %t/app.ptx
// RUN: %cxx -x c++ -std=c++17 -I%cuda_path/include %s -o %t/app -L%cuda_path/lib64/stubs -lcuda -ldl
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// DEFINE: %{mode} =
// DEFINE: %{image} = cubin
// DEFINE: %{record} = %{gpu} llvm-mneme-record --any-executable --device=cuda -o %t/%{mode}.%{image} -- %t/app %t/app.%{image} %{mode}
// DEFINE: %{replay} = %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t/%{mode}.%{image} cuda:0
//
// REDEFINE: %{mode} = linked
// RUN: %{record} 2>&1 | FileCheck %s
// RUN: %{replay} | FileCheck %s --check-prefix=REPLAY
// REDEFINE: %{mode} = dlsym
// RUN: %{record} 2>&1 | FileCheck %s
// RUN: %{replay} | FileCheck %s --check-prefix=REPLAY
// REDEFINE: %{mode} = proc
// RUN: %{record} 2>&1 | FileCheck %s
// RUN: %{replay} | FileCheck %s --check-prefix=REPLAY
// REDEFINE: %{mode} = library
// RUN: %{record} 2>&1 | FileCheck %s
// RUN: %{replay} | FileCheck %s --check-prefix=REPLAY
// REDEFINE: %{image} = ptx
// RUN: %{record} 2>&1 | FileCheck %s
// RUN: %{replay} | FileCheck %s --check-prefix=REPLAY
//
// Without the recorder, the same.
// RUN: %{gpu} %t/app %t/app.cubin dlsym | FileCheck %s --check-prefix=RESULT
// RESULT: results 2 15 40 3, variable 3
//
// CHECK: results 2 15 40 3, variable 3
// CHECK: 5 launches seen, 4 recorded, 1 skipped
// CHECK-NEXT: 1 skipped: same launch configuration recorded before
// REPLAY-DAG: add grid 1: Match
// REPLAY-DAG: add grid 2: Match
// REPLAY-DAG: count grid 1 cooperative: Match
// REPLAY-DAG: sum grid 1: Match

#include "Inputs/driver-kernels.h"
#ifndef __CUDA__
#include "Inputs/driver.h"
#include <cstring>
#include <dlfcn.h>

static void *Driver;
static decltype(&cuGetProcAddress) GetProcAddress;
static std::string Mode;

/// A function as the mode finds it.
template <typename Fn> static Fn *find(const char *Name, Fn *Linked) {
  void *F = nullptr;
  if (Mode == "dlsym")
    F = dlsym(Driver, Name);
  else if (Mode == "proc") {
    std::string Base = Name;
    if (Base.size() > 3 && Base.substr(Base.size() - 3) == "_v2")
      Base.resize(Base.size() - 3);
    CUdriverProcAddressQueryResult Status;
    CHECK(GetProcAddress(Base.c_str(), &F, 12040, 0, &Status));
  } else
    return Linked;
  return reinterpret_cast<Fn *>(F);
}

#define TEXT(X) #X
#define CALL(Name) find(TEXT(Name), Name)

int main(int, char **Argv) {
  Mode = Argv[2];
  Driver = dlopen("libcuda.so.1", RTLD_NOW);
  GetProcAddress = reinterpret_cast<decltype(GetProcAddress)>(
      dlsym(Driver, "cuGetProcAddress_v2"));
  std::string Image = read(Argv[1]);
  makeContext();

  CUmodule Module = nullptr;
  CUlibrary Library = nullptr;
  CUfunction Functions[3];
  const char *Names[] = {"add", "sum", "count"};
  CUdeviceptr Variable;
  size_t Size;
  if (Mode == "library") {
    CHECK(cuLibraryLoadData(&Library, Image.data(), nullptr, nullptr, 0, nullptr,
                            nullptr, 0));
    for (int I = 0; I != 3; ++I) {
      CUkernel K;
      CHECK(cuLibraryGetKernel(&K, Library, Names[I]));
      // Handles of kernels can be launched as they are.
      if (I) {
        CHECK(cuKernelGetFunction(&Functions[I], K));
      } else {
        Functions[I] = reinterpret_cast<CUfunction>(K);
      }
    }
    CHECK(cuLibraryGetGlobal(&Variable, &Size, Library, "Count"));
  } else {
    CHECK(CALL(cuModuleLoadData)(&Module, Image.data()));
    for (int I = 0; I != 3; ++I)
      CHECK(CALL(cuModuleGetFunction)(&Functions[I], Module, Names[I]));
    CHECK(cuModuleGetGlobal(&Variable, &Size, Module, "Count"));
  }
  // The driver has its own copy.
  memset(&Image[0], 0, Image.size());

  CUdeviceptr P;
  CHECK(CALL(cuMemAlloc_v2)(&P, 16));
  int Zeros[4] = {};
  CHECK(CALL(cuMemcpyHtoD_v2)(P, Zeros, 16));
  int Two = 2, H[4], Initial = 2;
  CHECK(CALL(cuMemcpyHtoD_v2)(Variable, &Initial, 4));
  void *AddArgs[] = {&P, &Two};
  auto *Launch = CALL(cuLaunchKernel);
  CHECK(Launch(Functions[0], 1, 1, 1, 1, 1, 1, 0, nullptr, AddArgs, nullptr));

  // Packed parameters.
  struct {
    CUdeviceptr P;
    int N;
  } Packed = {P, 15};
  size_t PackedSize = 12;
  CUdeviceptr Next = P + 4;
  Packed.P = Next - 4;
  Packed.N = 15;
  void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &Packed,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &PackedSize, CU_LAUNCH_PARAM_END};
  Packed.P = P;
  CHECK(Launch(Functions[0], 2, 1, 1, 1, 1, 1, 0, nullptr, nullptr, Extra));
  int Undo = -15;
  void *UndoArgs[] = {&P, &Undo};
  CHECK(Launch(Functions[0], 1, 1, 1, 1, 1, 1, 0, nullptr, UndoArgs, nullptr));

  // A struct that is aligned less than its size, with launch attributes.
  CUdeviceptr Third = P + 8, Fourth = P + 12;
  Pair Values = {{20, 10}};
  char Ten = 10;
  void *SumArgs[] = {&Third, &Ten, &Values};
  CUlaunchConfig Config = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
  CHECK(CALL(cuLaunchKernelEx)(&Config, Functions[1], SumArgs, nullptr));
  void *CountArgs[] = {&Fourth};
  CHECK(CALL(cuLaunchCooperativeKernel)(Functions[2], 1, 1, 1, 1, 1, 1, 0, nullptr,
                                        CountArgs));
  CHECK(CALL(cuMemcpyDtoH_v2)(H, P, 16));
  CHECK(cuMemcpyDtoH(&Initial, Variable, 4));
  printf("results %d %d %d %d, variable %d\n", H[0], H[1], H[2], H[3], Initial);
  CHECK(CALL(cuMemFree_v2)(P));
}
#endif
