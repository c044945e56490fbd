// HIP 5: an older structure of properties, other types of memory, its version.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC -Wl,-soname,libamdhip64.so.5 %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so.5
// RUN: ln -s libamdhip64.so.5 %t/libamdhip64.so
// RUN: %clangxx -x hip -std=c++17 -O2 -nogpuinc -nogpulib -fdeclspec --offload-arch=gfx1100 -fpass-plugin=%mneme_pass \
// RUN:   -include %S/../Instrument/Inputs/minihip.h %s -o %t/app -L%t -Wl,-rpath,%t -Wl,--unresolved-symbols=ignore-all
// RUN: llvm-mneme-record --device=host --no-record -- %t/app | FileCheck %s

extern "C" {
int printf(const char *, ...);
int hipGetDeviceProperties(void *, int);
int hipPointerGetAttributes(void *, const void *);
int hipRuntimeGetVersion(int *);
int hipHostMalloc(void **, size_t, unsigned);
int hipMallocManaged(void **, size_t, unsigned);
}

__global__ void nothing() {}

int main() {
  nothing<<<1, 1>>>();
  struct {
    char Name[256];
    size_t Global, Shared;
    int Registers, WarpSize, MaxThreads, Block[3], Grid[3];
    char More[396 - 308];
    char Arch[256];
    char Rest[792 - 652];
    char Behind[8];
  } P;
  for (size_t I = 0; I != sizeof(P); ++I)
    reinterpret_cast<char *>(&P)[I] = 0x55;
  int E = hipGetDeviceProperties(&P, 0);
  // CHECK: 0 Mneme host device (x86-64) gfx1100: 32 1024 1024, 55
  printf("%d %s %s: %d %d %d, %x\n", E, P.Name, P.Arch, P.WarpSize, P.MaxThreads, P.Block[0], P.Behind[0]);
  // CHECK: 101 1
  printf("%d %d\n", hipGetDeviceProperties(&P, 1), hipGetDeviceProperties(nullptr, 0));

  struct {
    int Type, Device;
    void *DevicePtr, *HostPtr;
    int Managed;
    unsigned Flags;
  } A;
  void *D = nullptr, *H = nullptr, *M = nullptr;
  hipMalloc(&D, 4);
  hipHostMalloc(&H, 4, 0);
  hipMallocManaged(&M, 4, 1);
  // CHECK: 1 0, 0 0, 1 1
  hipPointerGetAttributes(&A, D);
  printf("%d %d, ", A.Type, A.Managed);
  hipPointerGetAttributes(&A, H);
  printf("%d %d, ", A.Type, A.Managed);
  hipPointerGetAttributes(&A, M);
  printf("%d %d\n", A.Type, A.Managed);
  int Version = 0;
  hipRuntimeGetVersion(&Version);
  // CHECK: version 50200000
  printf("version %d\n", Version);
}
