// What a reproducer uses of ROCm's header of this name. Tests link the emulated runtime.
#pragma once
#include <cstddef>

typedef int hipError_t, hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipMemGenericAllocationHandle *hipMemGenericAllocationHandle_t;

enum { hipSuccess = 0 };
enum hipMemAllocationType { hipMemAllocationTypePinned = 1 };
enum hipMemLocationType { hipMemLocationTypeDevice = 1 };
enum hipMemAccessFlags { hipMemAccessFlagsProtReadWrite = 3 };
enum hipMemAllocationGranularity_flags { hipMemAllocationGranularityMinimum = 0 };
struct hipMemLocation {
  hipMemLocationType type;
  int id;
};
struct hipMemAllocationProp {
  hipMemAllocationType type;
  int requestedHandleType;
  hipMemLocation location;
  void *win32HandleMetaData;
  unsigned char allocFlags[8];
};
struct hipMemAccessDesc {
  hipMemLocation location;
  hipMemAccessFlags flags;
};
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
#define HIP_LAUNCH_PARAM_END ((void *)3)

extern "C" {
hipError_t hipInit(unsigned);
hipError_t hipDeviceGet(hipDevice_t *, int);
hipError_t hipSetDevice(int);
hipError_t hipDeviceSynchronize();
const char *hipGetErrorName(hipError_t);
hipError_t hipMemGetAllocationGranularity(size_t *, const hipMemAllocationProp *, hipMemAllocationGranularity_flags);
hipError_t hipMemAddressReserve(void **, size_t, size_t, void *, unsigned long long);
hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *, size_t, const hipMemAllocationProp *, unsigned long long);
hipError_t hipMemMap(void *, size_t, size_t, hipMemGenericAllocationHandle_t, unsigned long long);
hipError_t hipMemSetAccess(void *, size_t, const hipMemAccessDesc *, size_t);
hipError_t hipMemsetD8Async(hipDeviceptr_t, unsigned char, size_t, hipStream_t);
hipError_t hipMemcpyHtoD(hipDeviceptr_t, void *, size_t);
hipError_t hipMemcpyDtoH(void *, hipDeviceptr_t, size_t);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t, hipDeviceptr_t, size_t, hipStream_t);
hipError_t hipModuleLoadData(hipModule_t *, const void *);
hipError_t hipModuleGetFunction(hipFunction_t *, hipModule_t, const char *);
hipError_t hipModuleGetGlobal(hipDeviceptr_t *, size_t *, hipModule_t, const char *);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t,
                                 void **, void **);
}
