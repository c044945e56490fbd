// The HIP runtime's own functions, those that it shares with CUDA's under other names,
// and what is refused by name.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %clangxx -x hip -std=c++17 -O2 -nogpuinc -nogpulib -fdeclspec --offload-arch=gfx90a -fpass-plugin=%mneme_pass \
// RUN:   -include %S/../Instrument/Inputs/minihip.h %s -o %t/app -L%t -Wl,-rpath,%t -Wl,--unresolved-symbols=ignore-all
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2> %t/err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERR < %t/err
// RUN: %python %S/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// CHECK: all as it should be
// ERR: mneme: error: hipModuleLoad is not available on the host device
// ERR: mneme: error: hipModuleLaunchKernel is not available on the host device
// ERR-NOT: is not available
// ERR: mneme: 4 launches seen, 1 recorded, 3 skipped
// REPLAY: add grid 1: Match

struct Extent {
  size_t Width, Height, Depth;
};
struct Pitched {
  void *Ptr;
  size_t Pitch, XSize, YSize;
};
struct Config {
  dim3 Grid, Block;
  size_t DynamicShared;
  hipStream_t Stream;
  void *Attributes;
  unsigned NumAttributes;
};
using Event = struct ihipEvent_t *;
using Pool = struct ihipMemPool_t *;

extern "C" {
int printf(const char *, ...);
void exit(int);
int hipStreamCreateWithPriority(hipStream_t *, unsigned, int);
int hipStreamGetPriority(hipStream_t, int *);
int hipStreamGetFlags(hipStream_t, unsigned *);
int hipStreamIsCapturing(hipStream_t, int *);
int hipStreamSynchronize_spt(hipStream_t);
int hipStreamDestroy(hipStream_t);
int hipEventCreate(Event *);
int hipEventSynchronize(Event);
int hipEventElapsedTime(float *, Event, Event);
int hipExtLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t, Event, Event, int);
int hipLaunchKernelExC(const Config *, const void *, void **);
int hipLaunchKernel_spt(const void *, dim3, dim3, void **, size_t, hipStream_t);
int hipMemsetD8(void *, unsigned char, size_t);
int hipMemsetD16(void *, unsigned short, size_t);
int hipMemsetD32Async(void *, int, size_t, hipStream_t);
int hipMemcpyHtoD(void *, void *, size_t);
int hipMemcpyDtoH(void *, void *, size_t);
int hipMemcpyDtoDAsync(void *, void *, size_t, hipStream_t);
int hipMemcpyWithStream(void *, const void *, size_t, int, hipStream_t);
int hipMemcpyFromSymbol_spt(void *, const void *, size_t, size_t, int);
int hipMalloc3D(Pitched *, Extent);
int hipMemset3D(Pitched, int, Extent);
int hipDeviceGetDefaultMemPool(Pool *, int);
int hipMallocFromPoolAsync(void **, size_t, Pool, hipStream_t);
int hipFreeAsync(void *, hipStream_t);
int hipHostMalloc(void **, size_t, unsigned);
int hipHostGetFlags(unsigned *, void *);
int hipDeviceGet(int *, int);
int hipDeviceGetName(char *, int, int);
int hipDeviceTotalMem(size_t *, int);
int hipDeviceComputeCapability(int *, int *, int);
int hipDeviceGetPCIBusId(char *, int, int);
int hipDeviceEnablePeerAccess(int, unsigned);
int hipOccupancyMaxPotentialBlockSize(int *, int *, const void *, size_t, int);
int hipModuleLoad(void **, const char *);
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, hipStream_t, void **, void **);
int hipExtGetLastError();
}

#define CHECK(Condition)                                                                      \
  do                                                                                          \
    if (!(Condition)) {                                                                       \
      printf("line %d: not so: %s\n", __LINE__, #Condition);                                  \
      exit(1);                                                                                \
    }                                                                                         \
  while (0)
#define OK(Call) CHECK((Call) == 0)

__device__ int Last;

extern "C" __global__ void add(int *P, int N) {
  P[threadIdx.x] += N;
  Last = N;
}

int main() {
  hipStream_t S;
  int Priority, Capturing;
  unsigned Flags;
  OK(hipStreamCreateWithPriority(&S, 1, -1));
  OK(hipStreamGetPriority(S, &Priority));
  OK(hipStreamGetFlags(S, &Flags));
  OK(hipStreamIsCapturing(S, &Capturing));
  CHECK(Priority == -1 && Flags == 1 && Capturing == 0);

  // Values of one, two and four bytes; more than one piece of each.
  constexpr int N = 10000;
  static unsigned char H[4 * N];
  void *D, *E;
  OK(hipMalloc(&D, 4 * N));
  OK(hipMalloc(&E, 4 * N));
  OK(hipMemsetD32Async(D, 0x01020304, N, S));
  OK(hipMemcpyDtoH(H, D, 4 * N));
  CHECK(H[0] == 4 && H[4 * N - 1] == 1);
  OK(hipMemsetD16(D, 0x0506, N));
  OK(hipMemsetD8(D, 9, 1));
  OK(hipMemcpyDtoDAsync(E, D, 4 * N, S));
  OK(hipMemcpyWithStream(H, E, 4 * N, 2, S));
  CHECK(H[0] == 9 && H[1] == 5 && H[2 * N - 1] == 5 && H[2 * N] == 4);
  CHECK(hipMemsetD32Async(D, 1, N + 1, S) != 0);
  hipExtGetLastError();

  Pitched P;
  OK(hipMalloc3D(&P, {100, 3, 2}));
  CHECK(P.Pitch >= 100 && P.Pitch % 256 == 0);
  OK(hipMemset3D(P, 7, {100, 3, 2}));
  Pool Default;
  void *Pooled, *Pinned;
  OK(hipDeviceGetDefaultMemPool(&Default, 0));
  OK(hipMallocFromPoolAsync(&Pooled, 64, Default, S));
  OK(hipFreeAsync(Pooled, S));
  OK(hipHostMalloc(&Pinned, 64, 2));
  OK(hipHostGetFlags(&Flags, Pinned));

  // One value each way to launch.
  int Values[4] = {1, 2, 3, 4}, By = 10;
  OK(hipMemcpyHtoD(D, Values, sizeof(Values)));
  void *Args[] = {&D, &By};
  Event Start, Stop;
  float Time;
  OK(hipEventCreate(&Start));
  OK(hipEventCreate(&Stop));
  const void *Kernel = reinterpret_cast<const void *>(add);
  OK(hipExtLaunchKernel(Kernel, dim3(1), dim3(4), Args, 0, S, Start, Stop, 0));
  OK(hipEventSynchronize(Stop));
  OK(hipEventElapsedTime(&Time, Start, Stop));
  CHECK(Time >= 0);
  Config C = {dim3(1), dim3(4), 0, S, nullptr, 0};
  OK(hipLaunchKernelExC(&C, Kernel, Args));
  OK(hipLaunchKernel_spt(Kernel, dim3(1), dim3(4), Args, 0, nullptr));
  add<<<1, 4, 0, S>>>(static_cast<int *>(D), 70);
  OK(hipStreamSynchronize_spt(S));
  OK(hipMemcpyDtoH(Values, D, sizeof(Values)));
  CHECK(Values[0] == 101 && Values[3] == 104);
  OK(hipMemcpyFromSymbol_spt(&By, &Last, sizeof(By), 0, 2));
  CHECK(By == 70);

  int Id, Major, Minor, Grid, Block;
  size_t Bytes;
  char Name[64];
  OK(hipDeviceGet(&Id, 0));
  OK(hipDeviceGetName(Name, sizeof(Name), Id));
  OK(hipDeviceTotalMem(&Bytes, Id));
  OK(hipDeviceComputeCapability(&Major, &Minor, Id));
  OK(hipDeviceGetPCIBusId(Name, sizeof(Name), Id));
  CHECK(Bytes > 0 && Major == 9 && hipDeviceGet(&Id, 1) != 0);
  CHECK(hipDeviceEnablePeerAccess(1, 0) != 0);
  OK(hipOccupancyMaxPotentialBlockSize(&Grid, &Block, Kernel, 0, 256));
  CHECK(Grid > 0 && Block == 256);
  OK(hipStreamDestroy(S));

  // Kernels of files that the program loads itself are not known.
  hipExtGetLastError();
  void *Module;
  CHECK(hipModuleLoad(&Module, "kernels.hsaco") == 801);
  CHECK(hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, S, nullptr, nullptr) == 801);
  printf("all as it should be\n");
}
