// The driver's functions for memory of other processes, and what it says about memory of the arena; memory of a process that
// has ended, and that is freed, is not opened.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// DEFINE: %{record} = %{gpu} llvm-mneme-record --device=cuda -o %t/rec -- %t/app
// RUN: %{gpu} %t/app give %t/handle %t/app open | FileCheck %s
// RUN: %{record} give %t/handle %t/app open 2>&1 | FileCheck %s
// CHECK: opened: 42

// RUN: %{record} freed %t/handle %t/app fail 2>&1 | FileCheck %s --check-prefix=FREED
// FREED: error: cannot open device memory of another process: the process has ended, has freed it, or has another user
// FREED: not opened
// RUN: %{record} fail %t/handle 2>&1 | FileCheck %s --check-prefix=FREED

// Memory that is mapped from a descriptor belongs to another process, too.
// RUN: %{record} import %t/handle 2>&1 | FileCheck %s --check-prefix=IMPORT
// IMPORT: warning: kernel '_Z3addPi' is not recorded: an argument points to memory of another process

#include "../Inputs/check.h"
#include <cuda.h>
#include <cuda_runtime.h>
#include <fstream>
#include <string>

#define DONE(Call) CHECK((Call) == CUDA_SUCCESS)

__global__ void add(int *P) { ++*P; }

static int import() {
  constexpr size_t Size = 2 << 20;
  CUmemAllocationProp Props = {};
  Props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  Props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  Props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemAccessDesc Access = {Props.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle Handle;
  CUdeviceptr P;
  int File;
  DONE(cuMemCreate(&Handle, Size, &Props, 0));
  DONE(cuMemExportToShareableHandle(&File, Handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  DONE(cuMemImportFromShareableHandle(&Handle, (void *)(intptr_t)File, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  DONE(cuMemAddressReserve(&P, Size, 0, 0, 0));
  DONE(cuMemMap(P, Size, 0, Handle, 0));
  DONE(cuMemSetAccess(P, Size, &Access, 1));
  add<<<1, 1>>>(reinterpret_cast<int *>(P));
  OK(cudaDeviceSynchronize());
  return 0;
}

int main(int Argc, char **Argv) {
  std::string Mode = Argv[1];
  CUipcMemHandle Handle;
  CUdeviceptr P;
  OK(cudaFree(nullptr));
  if (Mode == "import")
    return import();
  if (Mode == "open" || Mode == "fail") {
    std::ifstream(Argv[2]).read(reinterpret_cast<char *>(&Handle), sizeof(Handle));
    CUresult E = cuIpcOpenMemHandle(&P, Handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    CHECK((E == CUDA_SUCCESS) == (Mode == "open"));
    int V = 0;
    if (!E) {
      // Again: the same memory.
      CUdeviceptr Again;
      DONE(cuIpcOpenMemHandle(&Again, Handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
      DONE(cuMemcpyDtoH(&V, P, sizeof(V)));
      DONE(cuIpcCloseMemHandle(Again));
      DONE(cuIpcCloseMemHandle(P));
    }
    printf(E ? "not opened\n" : "opened: %d\n", V);
    return 0;
  }
  // Several allocations in one granule, and one in several.
  CUdeviceptr First, Start;
  size_t Size;
  int V = 42;
  DONE(cuMemAlloc(&First, 4 << 20));
  DONE(cuMemFree(First));
  DONE(cuMemAlloc(&First, 4));
  DONE(cuMemAlloc(&P, 9 << 20));
  DONE(cuMemGetAddressRange(&Start, &Size, P + 100));
  CHECK(Start == P && Size == 9 << 20);
  DONE(cuMemGetAddressRange(&Start, nullptr, First));
  CHECK(Start == First);
  DONE(cuMemcpyHtoD(P, &V, sizeof(V)));
  DONE(cuIpcGetMemHandle(&Handle, P));
  if (Mode == "freed")
    DONE(cuMemFree(P));
  std::ofstream(Argv[2]).write(reinterpret_cast<const char *>(&Handle), sizeof(Handle));
  return system((std::string(Argv[3]) + " " + Argv[4] + " " + Argv[2]).c_str());
}
