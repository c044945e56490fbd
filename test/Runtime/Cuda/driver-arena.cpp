// Memory that a program takes from the driver: of every function, it is in the arena, or
// is recorded at its own address. Kernels find it by pointers in memory.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -x cuda -O2 --cuda-device-only -emit-llvm -c %S/Inputs/box.cu -o %t/box.bc
// RUN: %cuda_cc_plain -x cuda -O2 --cuda-device-only -c %S/Inputs/box.cu -o %t/box.cubin
// RUN: %cxx -std=c++17 -I%cuda_path/include %s -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/box.bc
// RUN: %{gpu} %t/app %t/box.cubin | FileCheck %s --check-prefix=PLAIN
// PLAIN: 0 in the arena, all is well
// RUN: %{gpu} llvm-mneme-record --any-executable --device=cuda --record-id=ordinal --max-recordings=9 -o %t/rec -- %t/app %t/box.cubin 2>&1 | FileCheck %s
// CHECK: 5 in the arena, all is well
// CHECK: 6 launches seen, 6 recorded, 0 skipped
// RUN: %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-6: readBox grid 1: Match
// RUN: llvm-mneme-record show %t/rec | FileCheck %s --check-prefix=SHOW
// SHOW: device buffer

#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <fstream>
#include <iterator>
#include <string>

#define CHECK(X)                                                                        \
  if (int E = (X))                                                                      \
    printf("%s: %d\n", #X, E), exit(1)

static CUfunction Function;
static int Sum, InArena;

/// A kernel adds what a box points to.
static void use(CUdeviceptr P) {
  struct {
    CUdeviceptr P;
    int Sum;
  } H = {P, 0};
  int Value = 3;
  CUdeviceptr Box;
  CHECK(cuMemcpyHtoD(P, &Value, 4));
  CHECK(cuMemAlloc(&Box, sizeof(H)));
  CHECK(cuMemcpyHtoD(Box, &H, sizeof(H)));
  void *Args[] = {&Box};
  CHECK(cuLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr));
  CHECK(cuMemcpyDtoH(&H, Box, sizeof(H)));
  CHECK(cuMemFree(Box));
  Sum += H.Sum;
  InArena += P - 0x7e0000000000 < 0x8000000000;
}

/// Memory that the program maps itself.
static CUdeviceptr map(CUdeviceptr Hint, CUdeviceptr &Reserved, size_t Size) {
  CUmemAllocationProp Props = {};
  Props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  Props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc Access = {Props.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle Handle;
  CHECK(cuMemAddressReserve(&Reserved, 4 * Size, 0, Hint, 0));
  CHECK(cuMemCreate(&Handle, Size, &Props, 0));
  CHECK(cuMemMap(Reserved + Size, Size, 0, Handle, 0));
  CHECK(cuMemSetAccess(Reserved + Size, Size, &Access, 1));
  return Reserved + Size;
}

int main(int, char **Argv) {
  std::ifstream File(Argv[1], std::ios::binary);
  std::string Image((std::istreambuf_iterator<char>(File)), {});
  CUdevice Device;
  CUcontext Context;
  CUmodule Module;
  CUdeviceptr P, Reserved;
  size_t Pitch, Size = 2 << 20;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&Device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&Context, Device));
  CHECK(cuCtxSetCurrent(Context));
  CHECK(cuModuleLoadData(&Module, Image.data()));
  CHECK(cuModuleGetFunction(&Function, Module, "readBox"));
  CHECK(cuMemAlloc(&P, 100));
  use(P);
  CHECK(cuMemFree(P));
  CHECK(cuMemAllocPitch(&P, &Pitch, 100, 10, 4));
  if (Pitch < 100)
    return 1;
  use(P + 9 * Pitch);
  CHECK(cuMemFree(P));
  CHECK(cuMemAllocAsync(&P, 100, nullptr));
  use(P);
  CHECK(cuMemFreeAsync(P, nullptr));
  CHECK(cuMemAllocFromPoolAsync(&P, 100, nullptr, nullptr));
  use(P);
  CHECK(cuMemFreeAsync(P, nullptr));
  P = map(0, Reserved, Size);
  use(P);
  CHECK(cuMemUnmap(P, Size));
  CHECK(cuMemAddressFree(Reserved, 4 * Size));
  // An address that the program wants.
  P = map(0x300000000000, Reserved, Size);
  use(P);
  printf("%d in the arena, %s\n", InArena, Sum == 18 ? "all is well" : "WRONG");
}
