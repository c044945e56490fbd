// HIP programs run on the host device too.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %clangxx -x hip -O2 -nogpuinc -nogpulib -fdeclspec --offload-arch=gfx90a -fpass-plugin=%mneme_pass -include %S/../Instrument/Inputs/minihip.h %s \
// RUN:   -o %t/app -L%t -Wl,-rpath,%t -Wl,--unresolved-symbols=ignore-all
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2> %t/err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERR < %t/err
// RUN: llvm-mneme-record check %t/rec
// RUN: llvm-mneme-record list-kernels %t/app | FileCheck %s --check-prefix=LIST
// LIST: gfx90a

extern "C" {
int printf(const char *, ...);
void *memset(void *, int, size_t);
int hipMemcpy(void *, const void *, size_t, int);
int hipMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int hipDeviceGetAttribute(int *, int, int);
int hipGetLastError();
const char *hipGetErrorName(int);
int hipPointerGetAttributes(void *, const void *);
int hipGraphCreate(void *, unsigned);
int hipGetDevicePropertiesR0600(void *, int);
}

__constant__ float Scale = 1;

__global__ void scale(float *P, int N) {
  unsigned I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    P[I] *= Scale;
}

int main() {
  float *D, H[100], S = 3;
  for (int I = 0; I < 100; ++I)
    H[I] = I;
  hipMalloc((void **)&D, sizeof(H));
  hipMemcpy(D, H, sizeof(H), 1);
  hipMemcpyToSymbol(&Scale, &S, sizeof(S), 0, 1);
  scale<<<4, 32>>>(D, 100);
  hipDeviceSynchronize();
  hipMemcpy(H, D, sizeof(H), 2);
  // CHECK: 0 3 297 hipSuccess
  printf("%g %g %g %s\n", H[0], H[1], H[99], hipGetErrorName(hipGetLastError()));

  // The numbers are HIP's own.
  int Warp, Major, ClockKHz;
  hipDeviceGetAttribute(&Warp, 87, 0);
  hipDeviceGetAttribute(&Major, 23, 0);
  hipDeviceGetAttribute(&ClockKHz, 10017, 0);
  // CHECK: warp 64, major 9, constant clock 1000000 kHz
  printf("warp %d, major %d, constant clock %d kHz\n", Warp, Major, ClockKHz);
  struct {
    int Type, Device;
    void *DevicePtr, *HostPtr;
    int Managed;
    unsigned Flags;
  } A;
  // CHECK: pointer hipSuccess 2, hipErrorInvalidValue
  printf("pointer %s", hipGetErrorName(hipPointerGetAttributes(&A, D)));
  printf(" %d, %s\n", A.Type, hipGetErrorName(hipPointerGetAttributes(&A, &A)));
  // The structure of HIP 6 has 1472 bytes; the architecture's name is at 1160.
  char P[1472 + 16];
  memset(P, 0x55, sizeof(P));
  hipGetDevicePropertiesR0600(P, 0);
  // CHECK: Mneme host device (x86-64), gfx90a, 55 55
  printf("%s, %s, %x %x\n", P, P + 1160, P[1472], P[1487]);
  // ERR: mneme: error: hipGraphCreate is not available on the host device
  // CHECK: missing hipErrorNotSupported, hipErrorLaunchTimeOut
  printf("missing %s, %s\n", hipGetErrorName(hipGraphCreate(&A, 0)), hipGetErrorName(702));
}
