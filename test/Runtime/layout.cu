// The runtime declares what it needs of CUDA's interface by itself: the SDK's
// headers have the last word.
//
// REQUIRES: cuda-toolkit
// RUN: %clangxx -std=c++17 -fsyntax-only -x c++ -I%cuda_path/include -I%mneme_src/lib/Runtime/Driver %s

#include "CudaTypes.h"
#include <cstddef>

// The names of errors and copy kinds are macros-free enumerators in both.
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000
using Properties = mneme::CudaDeviceProp13;
#else
using Properties = mneme::CudaDeviceProp12;
#endif
static_assert(sizeof(Properties) == sizeof(cudaDeviceProp), "");
#define SAME(Field)                                                            \
  static_assert(offsetof(Properties, Field) == offsetof(cudaDeviceProp, Field) \
                    && sizeof(Properties::Field) ==                            \
                           sizeof(cudaDeviceProp::Field),                      \
                #Field);
#define PROPERTY(Type, Name, Suffix) SAME(Name)
#define PROPERTY12(Type, Name, Suffix)
#if CUDART_VERSION >= 13000
#define PROPERTY13(Type, Name, Suffix) SAME_13_##Name
#define SAME_13_deviceNumaConfig SAME(deviceNumaConfig)
#define SAME_13_deviceNumaId SAME(deviceNumaId)
#define SAME_13_mpsEnabled SAME(mpsEnabled)
#define SAME_13_hostNumaId SAME(hostNumaId)
#define SAME_13_gpuPciDeviceID SAME(gpuPciDeviceID)
#define SAME_13_gpuPciSubsystemID SAME(gpuPciSubsystemID)
#define SAME_13_hostNumaMultinodeIpcSupported SAME(hostNumaMultinodeIpcSupported)
#define SAME_13_reserved13
#endif
#include "CudaDeviceProp.def"

#define CUDA_ERROR(Code, Name, Text)                                           \
  static_assert(int(::Name) == int(mneme::Name) && int(::Name) == Code, #Name);
#include "CudaErrors.def"

template <typename Ours, typename Theirs> constexpr bool fits() {
  return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
}
static_assert(fits<mneme::Dim3, dim3>(), "");
static_assert(fits<mneme::CudaFuncAttributes, cudaFuncAttributes>(), "");
static_assert(fits<mneme::CudaLaunchConfig, cudaLaunchConfig_t>(), "");
static_assert(fits<mneme::CudaLaunchAttribute, cudaLaunchAttribute>(), "");
static_assert(fits<mneme::CudaPitchedPtr, cudaPitchedPtr>(), "");
static_assert(fits<mneme::CudaExtent, cudaExtent>(), "");
static_assert(fits<mneme::CudaMemcpy3DParms, cudaMemcpy3DParms>(), "");
static_assert(fits<mneme::CudaMemcpy3DPeerParms, cudaMemcpy3DPeerParms>(), "");
static_assert(fits<mneme::CudaKernelNodeParams, cudaKernelNodeParams>(), "");
static_assert(fits<mneme::CudaMemsetParams, cudaMemsetParams>(), "");
static_assert(fits<mneme::CudaHostNodeParams, cudaHostNodeParams>(), "");
static_assert(fits<mneme::CudaMemAllocNodeParams, cudaMemAllocNodeParams>(), "");
static_assert(fits<mneme::CudaGraphNodeParams, cudaGraphNodeParams>(), "");
// Later versions append reserved words.
static_assert(sizeof(mneme::CudaPointerAttributes) <=
                  sizeof(cudaPointerAttributes), "");

#define AT(Ours, Field, Theirs, TheirField)                                    \
  static_assert(offsetof(mneme::Ours, Field) == offsetof(Theirs, TheirField),  \
                #Field);
AT(CudaFuncAttributes, MaxThreadsPerBlock, cudaFuncAttributes, maxThreadsPerBlock)
AT(CudaFuncAttributes, NumRegs, cudaFuncAttributes, numRegs)
AT(CudaFuncAttributes, BinaryVersion, cudaFuncAttributes, binaryVersion)
AT(CudaFuncAttributes, MaxDynamicSharedSizeBytes, cudaFuncAttributes, maxDynamicSharedSizeBytes)
AT(CudaFuncAttributes, PreferredShmemCarveout, cudaFuncAttributes, preferredShmemCarveout)
AT(CudaPointerAttributes, Device, cudaPointerAttributes, device)
AT(CudaPointerAttributes, DevicePointer, cudaPointerAttributes, devicePointer)
AT(CudaPointerAttributes, HostPointer, cudaPointerAttributes, hostPointer)
AT(CudaLaunchConfig, DynamicShared, cudaLaunchConfig_t, dynamicSmemBytes)
AT(CudaLaunchConfig, Stream, cudaLaunchConfig_t, stream)
AT(CudaLaunchConfig, Attributes, cudaLaunchConfig_t, attrs)
AT(CudaLaunchConfig, NumAttributes, cudaLaunchConfig_t, numAttrs)
AT(CudaLaunchAttribute, Words, cudaLaunchAttribute, val)
AT(CudaMemcpy3DParms, SrcPos, cudaMemcpy3DParms, srcPos)
AT(CudaMemcpy3DParms, Src, cudaMemcpy3DParms, srcPtr)
AT(CudaMemcpy3DParms, DstPos, cudaMemcpy3DParms, dstPos)
AT(CudaMemcpy3DParms, Dst, cudaMemcpy3DParms, dstPtr)
AT(CudaMemcpy3DParms, Extent, cudaMemcpy3DParms, extent)
AT(CudaMemcpy3DParms, Kind, cudaMemcpy3DParms, kind)
AT(CudaMemcpy3DPeerParms, DstDevice, cudaMemcpy3DPeerParms, dstDevice)
AT(CudaKernelNodeParams, Grid, cudaKernelNodeParams, gridDim)
AT(CudaKernelNodeParams, Args, cudaKernelNodeParams, kernelParams)
AT(CudaKernelNodeParams, Extra, cudaKernelNodeParams, extra)
AT(CudaMemsetParams, ElementSize, cudaMemsetParams, elementSize)
AT(CudaMemsetParams, Height, cudaMemsetParams, height)
AT(CudaMemAllocNodeParams, Size, cudaMemAllocNodeParams, bytesize)
AT(CudaMemAllocNodeParams, Ptr, cudaMemAllocNodeParams, dptr)
AT(CudaGraphNodeParams, Kernel, cudaGraphNodeParams, kernel)
AT(CudaGraphInstantiateParams, Result, cudaGraphInstantiateParams, result_out)
AT(CudaGraphExecUpdateResult, ErrorFromNode, cudaGraphExecUpdateResultInfo, errorFromNode)
AT(CudaMemcpy3DPeerParms, Extent, cudaMemcpy3DPeerParms, extent)

static_assert(int(mneme::CudaLaunchAttributeCooperative) == cudaLaunchAttributeCooperative, "");
static_assert(int(mneme::CudaLaunchAttributeClusterDim) == cudaLaunchAttributeClusterDimension, "");
static_assert(int(mneme::cudaMemcpyDefault) == ::cudaMemcpyDefault, "");
static_assert(int(mneme::cudaMemoryTypeManaged) == ::cudaMemoryTypeManaged, "");

// Attribute numbers, which have no names in the runtime.
struct Attribute { int Number, Expected; };
constexpr Attribute Attributes[] = {
    {1, cudaDevAttrMaxThreadsPerBlock}, {2, cudaDevAttrMaxBlockDimX},
    {8, cudaDevAttrMaxSharedMemoryPerBlock}, {10, cudaDevAttrWarpSize},
    {16, cudaDevAttrMultiProcessorCount}, {38, cudaDevAttrL2CacheSize},
    {39, cudaDevAttrMaxThreadsPerMultiProcessor},
    {75, cudaDevAttrComputeCapabilityMajor},
    {81, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
    {83, cudaDevAttrManagedMemory}, {89, cudaDevAttrConcurrentManagedAccess},
    {95, cudaDevAttrCooperativeLaunch},
    {97, cudaDevAttrMaxSharedMemoryPerBlockOptin},
    {99, cudaDevAttrHostRegisterSupported},
    {106, cudaDevAttrMaxBlocksPerMultiprocessor},
    {115, cudaDevAttrMemoryPoolsSupported}, {120, cudaDevAttrClusterLaunch}};
constexpr bool allSame() {
  for (const Attribute &A : Attributes)
    if (A.Number != A.Expected)
      return false;
  return true;
}
static_assert(allSame(), "");
