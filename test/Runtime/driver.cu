// A program that is linked to the CUDA driver starts on the host device, where there
// may be no driver, and sees the device that the runtime describes.

// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{driver} = %mneme_build/lib/mneme/MnemeHostDriver.so
// All functions are looked up at the start.
// RUN: %cuda_cc %s -o %t/app -Wl,%{driver} -Wl,-z,now
// RUN: llvm-readelf -d %t/app | FileCheck %s --check-prefix=NEEDED
// NEEDED: Shared library: [libcuda.so.1]
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// RUN: llvm-mneme-replay %t/rec/*.json --device=host --passes='default<O1>' | FileCheck %s --check-prefix=REPLAY
// REPLAY: "verdict": "Match"

// The runtimes are in a folder whose name the loader would take for several.
// RUN: mkdir -p %t/a:b/bin %t/a:b/lib/mneme && cp %mneme_build/bin/llvm-mneme-record %t/a:b/bin
// RUN: cp %mneme_rt %t/a:b/lib && cp %{driver} %t/a:b/lib/mneme
// RUN: %t/a:b/bin/llvm-mneme-record --device=host -o %t/folder -- %t/app 2>&1 | FileCheck %s

#include "Inputs/check.h"
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

#define DRIVER(Code, Call) EXPECT(cudaError_t(Code), cudaError_t(Call))
#define FINE(Call) DRIVER(CUDA_SUCCESS, Call)

__global__ void addOne(int *X) { X[threadIdx.x] += 1; }

int main() {
  setvbuf(stdout, nullptr, _IONBF, 0);
  int Count, Major, Minor, Current, Version;
  char Name[256];
  size_t Total;
  cudaDeviceProp P;
  CUdevice D;
  CUcontext C, Again;
  FINE(cuInit(0));
  OK(cudaGetDeviceProperties(&P, 0));
  FINE(cuDeviceGetCount(&Count));
  FINE(cuDeviceGet(&D, 0));
  DRIVER(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&Current, Count));
  FINE(cuDeviceGetName(Name, sizeof(Name), D));
  CHECK(Count == 1 && !strcmp(Name, P.name));
  FINE(cuDeviceGetName(Name, 4, D));
  CHECK(strlen(Name) == 3 && !strncmp(Name, P.name, 3));
  FINE(cuDeviceComputeCapability(&Major, &Minor, D));
  CHECK(Major == P.major && Minor == P.minor);
  FINE(cuDeviceTotalMem(&Total, D));
  CHECK(Total == P.totalGlobalMem);
  FINE(cuDriverGetVersion(&Version));
  FINE(cuDevicePrimaryCtxRetain(&C, D));
  FINE(cuCtxSetCurrent(C));
  FINE(cuCtxGetCurrent(&Again));
  FINE(cuCtxGetDevice(&Current));
  CHECK(C == Again && Current == D);

  // Memory of the one is memory of the other.
  int Host[32] = {41};
  CUdeviceptr X;
  CUstream S;
  FINE(cuStreamCreate(&S, CU_STREAM_NON_BLOCKING));
  FINE(cuMemAlloc(&X, sizeof(Host)));
  FINE(cuMemsetD8Async(X, 0, sizeof(Host), S));
  FINE(cuMemcpyHtoD(X, Host, sizeof(int)));
  addOne<<<1, 32, 0, S>>>(reinterpret_cast<int *>(X));
  FINE(cuStreamSynchronize(S));
  FINE(cuMemcpyDtoH(Host, X, sizeof(Host)));
  CHECK(Host[0] == 42 && Host[31] == 1);
  FINE(cuMemFree(X));
  FINE(cuStreamDestroy(S));

  // A failure here is no failure of the runtime, and hides none.
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuMemFree(CUdeviceptr(&Count)));
  DRIVER(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName(Name, sizeof(Name), 7));
  OK(cudaGetLastError());
  EXPECT(cudaErrorInvalidValue, cudaFree(&Count));
  FINE(cuCtxSynchronize());
  EXPECT(cudaErrorInvalidValue, cudaGetLastError());

  const char *Text;
  FINE(cuGetErrorName(CUDA_ERROR_INVALID_DEVICE, &Text));
  CHECK(!strcmp(Text, "CUDA_ERROR_INVALID_DEVICE"));
  FINE(cuGetErrorString(CUDA_ERROR_INVALID_DEVICE, &Text));
  CHECK(!strcmp(Text, "invalid device ordinal"));
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(CUresult(12345), &Text));
  CHECK(!Text);
  Text = "";
  DRIVER(CUDA_ERROR_INVALID_VALUE, cuGetErrorString(CUresult(12345), &Text));
  CHECK(!Text);

  // Each version has its own parameters.
  void *Init = nullptr, *Allocate = nullptr, *Function, *Other;
  CUdriverProcAddressQueryResult Found;
  FINE(cuGetProcAddress("cuInit", &Init, 13000, 0, &Found));
  FINE(cuGetProcAddress("cuMemAlloc", &Allocate, 13000, 0, &Found));
  CHECK(Init == (void *)cuInit && Allocate == (void *)cuMemAlloc);
  DRIVER(CUDA_ERROR_INVALID_VALUE,
         cuGetProcAddress("cuNothing", &Init, 13000, 0, &Found));
  FINE(cuGetProcAddress("cuCtxCreate", &Function, 3020, 0, &Found));
  CHECK(Function != (void *)cuCtxCreate);
  FINE(((CUresult(*)(CUcontext *, unsigned, CUdevice))Function)(&C, 0, D));
  FINE(cuGetProcAddress("cuCtxCreate", &Other, 11040, 0, &Found));
  CHECK(Other != Function && Other != (void *)cuCtxCreate);
  FINE(cuGetProcAddress("cuCtxCreate", &Function, 12050, 0, &Found));
  CHECK(Function == (void *)cuCtxCreate);
  FINE(cuGetProcAddress("cuGetProcAddress", &Function, 11030, 0, &Found));
  CHECK(Function != (void *)cuGetProcAddress);
  FINE(cuGetProcAddress("cuCtxSynchronize", &Function, 12000, 0, &Found));
  CHECK(Function == (void *)cuCtxSynchronize);
  FINE(cuGetProcAddress("cuCtxSynchronize", &Function, 13000, 0, &Found));
  FINE(((CUresult(*)(CUcontext))Function)(C));
  FINE(cuGetProcAddress("cuCtxGetDevice", &Function, 13000, 0, &Found));
  Current = -1;
  FINE(((CUresult(*)(CUdevice *, CUcontext))Function)(&Current, C));
  CHECK(Current == D);

  CUarray A;
  CUDA_ARRAY_DESCRIPTOR Of = {4, 4, CU_AD_FORMAT_FLOAT, 1};
  // CHECK: mneme: error: cuArrayCreate_v2 is not available on the host device
  DRIVER(CUDA_ERROR_NOT_SUPPORTED, cuArrayCreate(&A, &Of));
  // CHECK-NEXT: all as it should be
  DRIVER(CUDA_ERROR_NOT_SUPPORTED, cuArrayCreate(&A, &Of));
  printf("all as it should be\n");
}
// CHECK: mneme: 1 launch seen, 1 recorded
