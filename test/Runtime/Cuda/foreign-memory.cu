// Memory that the runtime's own functions have not given: it is in the arena or recorded at
// its own address; what is gone is forgotten.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// DEFINE: %{mode} =
// DEFINE: %{record} = %{gpu} llvm-mneme-record --device=cuda -o %t/%{mode} -- %t/app %{mode}

// Each of these kernels is recorded, whoever saw first that they need it.
// REDEFINE: %{mode} = pinned
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=PINNED
// PINNED: all is well
// PINNED: 4 launches seen, 2 recorded
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/pinned | FileCheck %s --check-prefix=REPLAY
// REPLAY: readFirst grid 1: Match
// REPLAY-NEXT: readSecond grid 1: Match

// REDEFINE: %{mode} = pool
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=OWN
// REDEFINE: %{mode} = driver-pool
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=OWN
// REDEFINE: %{mode} = mapped
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: all is well
// OWN: 1 launch seen, 1 recorded
// RUN: llvm-mneme-record show %t/pool | FileCheck %s --check-prefix=POOL
// POOL: device buffer {{[0-9]+}}: 64 bytes
// RUN: %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t/pool cuda:0 | FileCheck %s --check-prefix=FIRST
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/driver-pool | FileCheck %s --check-prefix=FIRST
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/mapped | FileCheck %s --check-prefix=FIRST
// FIRST: readFirst grid 1: Match

// REDEFINE: %{mode} = stale
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=STALE
// STALE: all is well
// STALE: 1 launch seen, 1 recorded
// RUN: llvm-mneme-record show %t/stale | FileCheck %s --check-prefix=SHOW
// SHOW: pinned buffer 0: 16.0 KiB
// SHOW-NOT: pinned buffer 1

#include "../Inputs/check.h"
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <string>

struct Box {
  int *P;
  int Sum;
};

__global__ void readFirst(Box *B) { B->Sum += *B->P; }
__global__ void readSecond(Box *B) { B->Sum += 2 * *B->P; }
__global__ void store(int *P) { *P = 5; }

static Box *box(int *P) {
  Box H = {P, 0}, *B;
  OK(cudaMalloc((void **)&B, sizeof(H)));
  OK(cudaMemcpy(B, &H, sizeof(H), cudaMemcpyHostToDevice));
  return B;
}

int main(int, char **Argv) {
  std::string Mode = Argv[1];
  size_t Free, Total;
  int *P;
  OK(cudaFree(nullptr));
  if (Mode == "pinned") {
    // Takes a while to be written.
    static unsigned Noise[4 << 20];
    unsigned Random = 1;
    for (unsigned &V : Noise)
      V = Random = Random * 1664525 + 1013904223;
    void *D;
    OK(cudaMalloc(&D, sizeof(Noise)));
    OK(cudaMemcpy(D, Noise, sizeof(Noise), cudaMemcpyHostToDevice));
    OK(cudaMallocHost((void **)&P, 64));
    *P = 3;
    Box *B = box(P);
    for (int I = 0; I != 2; ++I) {
      readFirst<<<1, 1>>>(B);
      readSecond<<<1, 1>>>(B);
      OK(cudaMemGetInfo(&Free, &Total)); // waits for what is being written
    }
  } else if (Mode == "pool") {
    cudaMemPool_t Pool;
    cudaMemPoolProps Props = {};
    Props.allocType = cudaMemAllocationTypePinned;
    Props.location.type = cudaMemLocationTypeDevice;
    Props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    OK(cudaMemPoolCreate(&Pool, &Props));
    OK(cudaMallocFromPoolAsync((void **)&P, 64, Pool, 0));
    readFirst<<<1, 1>>>(box(P));
  } else if (Mode == "driver-pool") {
    CUdeviceptr D;
    CHECK(cuMemAllocFromPoolAsync(&D, 64, nullptr, 0) == CUDA_SUCCESS);
    readFirst<<<1, 1>>>(box(reinterpret_cast<int *>(D)));
  } else if (Mode == "mapped") {
    size_t Size = 2 << 20;
    CUmemAllocationProp Props = {};
    Props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    Props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc Access = {Props.location,
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr D;
    CUmemGenericAllocationHandle Handle;
    CHECK(cuMemAddressReserve(&D, Size, 0, 0, 0) == CUDA_SUCCESS);
    CHECK(cuMemCreate(&Handle, Size, &Props, 0) == CUDA_SUCCESS);
    CHECK(cuMemMap(D, Size, 0, Handle, 0) == CUDA_SUCCESS);
    CHECK(cuMemSetAccess(D, Size, &Access, 1) == CUDA_SUCCESS);
    readFirst<<<1, 1>>>(box(reinterpret_cast<int *>(D)));
    OK(cudaDeviceSynchronize());
    OK(cudaMemGetInfo(&Free, &Total)); // waits for what is being written
    CHECK(cuMemUnmap(D, Size) == CUDA_SUCCESS);
  } else {
    // Taken back in a way that nobody sees.
    alignas(4096) static char Memory[16384];
    OK(cudaHostRegister(Memory + 4096, 4096, cudaHostRegisterMapped));
    void *Driver = dlopen("libcuda.so.1", RTLD_NOW);
    auto Unregister = reinterpret_cast<int (*)(void *)>(
        dlsym(Driver, "cuMemHostUnregister"));
    CHECK(!Unregister(Memory + 4096));
    OK(cudaHostRegister(Memory, sizeof(Memory), cudaHostRegisterMapped));
    store<<<1, 1>>>(reinterpret_cast<int *>(Memory + 12288));
  }
  OK(cudaDeviceSynchronize());
  printf("all is well\n");
  fflush(stdout);
}
