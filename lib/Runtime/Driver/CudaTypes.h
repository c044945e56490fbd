//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The types that cross the CUDA runtime's C interface, so that the build needs
/// no CUDA SDK. The layouts are those of CUDA 12 and 13 on x86-64;
/// test/Runtime/layout.cu compares them with the SDK's headers.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_CUDATYPES_H
#define MNEME_LIB_RUNTIME_DRIVER_CUDATYPES_H

#include "Vendor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mneme {

enum CudaError : int {
#define CUDA_ERROR(Code, Name, Text) Name = Code,
#include "CudaErrors.def"
};

struct Dim3 {
  uint32_t X, Y, Z;
};

struct LaunchShape {
  Dim3 Grid;
  Dim3 Block;
  uint64_t DynamicShared;
  bool Cooperative;
  Dim3 Cluster = {1, 1, 1}; ///< Size of a cluster of blocks.
};

/// Grid, block, and bytes of dynamic shared memory.
using ShapeNumbers = std::array<uint64_t, 7>;

struct CudaStream;
/// A parameter that is a stream in some versions of a function only.
struct CudaMaybeStream;
struct CudaEvent;
struct CudaMemPool;
struct CudaGraph;
struct CudaGraphNode;
struct CudaGraphExec;

/// cudaIpcMemHandle_t and CUipcMemHandle.
struct IpcMemHandle {
  char Reserved[64];
};

enum CudaMemcpyKind : int {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

enum CudaMemoryType : int {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};

struct CudaDeviceProp12 {
#define PROPERTY(Type, Name, Suffix) Type Name Suffix;
#define PROPERTY12(Type, Name, Suffix) Type Name Suffix;
#include "CudaDeviceProp.def"
};
static_assert(sizeof(CudaDeviceProp12) == 1032, "layout of CUDA 12");

struct CudaDeviceProp13 {
#define PROPERTY(Type, Name, Suffix) Type Name Suffix;
#define PROPERTY13(Type, Name, Suffix) Type Name Suffix;
#include "CudaDeviceProp.def"
};
static_assert(sizeof(CudaDeviceProp13) == 1008, "layout of CUDA 13");

/// hipDeviceProp_tR0600 of HIP 6: the layout of CUDA 12, extended.
struct HipDeviceProp6 {
#define PROPERTY(Type, Name, Suffix) Type Name Suffix;
#define PROPERTY12(Type, Name, Suffix) Type Name Suffix;
#include "CudaDeviceProp.def"
  int hipReserved[32];
  char gcnArchName[256];
  size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  unsigned arch; ///< One bit per feature.
  unsigned *hdpMemFlushCntl;
  unsigned *hdpRegFlushCntl;
  int cooperativeMultiDeviceUnmatched[4];
  int isLargeBar;
  int asicRevision;
};

/// hipDeviceProp_t of HIP 5, hipDeviceProp_tR0000 of HIP 6.
struct HipDeviceProp5 {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  int memoryClockRate;
  int memoryBusWidth;
  size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  int computeMode;
  int clockInstructionRate;
  unsigned arch; ///< One bit per feature.
  int concurrentKernels;
  int pciDomainID;
  int pciBusID;
  int pciDeviceID;
  size_t maxSharedMemoryPerMultiProcessor;
  int isMultiGpuBoard;
  int canMapHostMemory;
  int gcnArch;
  char gcnArchName[256];
  int integrated;
  int cooperativeLaunch;
  int cooperativeMultiDeviceLaunch;
  int maxTexture1DLinear;
  int maxTexture1D;
  int maxTexture2D[2];
  int maxTexture3D[3];
  unsigned *hdpMemFlushCntl;
  unsigned *hdpRegFlushCntl;
  size_t memPitch;
  size_t textureAlignment;
  size_t texturePitchAlignment;
  int kernelExecTimeoutEnabled;
  int ECCEnabled;
  int tccDriver;
  int cooperativeMultiDeviceUnmatched[4];
  int isLargeBar;
  int asicRevision;
  int managedMemory;
  int directManagedMemAccessFromHost;
  int concurrentManagedAccess;
  int pageableMemoryAccess;
  int pageableMemoryAccessUsesHostPageTables;
};
static_assert(sizeof(HipDeviceProp5) == 792, "layout of HIP 5");

/// A function of HIP that fills the properties of a device.
using HipGetProperties = int (*)(void *, int);

/// Returns the architecture of a device of HIP, "gfx90a:sramecc+:xnack-"; empty
/// if it is not known.
/// \param GetSix  hipGetDevicePropertiesR0600; null if the runtime is older.
/// \param GetFive  hipGetDeviceProperties; null if there is none.
inline std::string readHipArch(HipGetProperties GetSix,
                               HipGetProperties GetFive, int Device) {
  if (GetSix) {
    HipDeviceProp6 P = {};
    return GetSix(&P, Device) ? "" : P.gcnArchName;
  }
  HipDeviceProp5 P = {};
  return !GetFive || GetFive(&P, Device) ? "" : P.gcnArchName;
}

struct CudaFuncAttributes {
  size_t SharedSizeBytes;
  size_t ConstSizeBytes;
  size_t LocalSizeBytes;
  int MaxThreadsPerBlock;
  int NumRegs;
  int PtxVersion;
  int BinaryVersion;
  int CacheModeCA;
  int MaxDynamicSharedSizeBytes;
  int PreferredShmemCarveout;
  int ClusterDimMustBeSet;
  int RequiredClusterWidth;
  int RequiredClusterHeight;
  int RequiredClusterDepth;
  int ClusterSchedulingPolicyPreference;
  int NonPortableClusterSizeAllowed;
  int Reserved[16];
};
static_assert(sizeof(CudaFuncAttributes) == 144, "layout of CUDA 12 and 13");

/// CUDA 13 appends reserved words, which are not used.
struct CudaPointerAttributes {
  int Type;
  int Device;
  void *DevicePointer;
  void *HostPointer;
};

/// hipPointerAttribute_t. HIP 5 numbers the types differently.
struct HipPointerAttributes {
  CudaPointerAttributes Common;
  int IsManaged;
  unsigned AllocationFlags;
};

struct HipFuncAttributes {
  int BinaryVersion;
  int CacheModeCA;
  size_t ConstSizeBytes;
  size_t LocalSizeBytes;
  int MaxDynamicSharedSizeBytes;
  int MaxThreadsPerBlock;
  int NumRegs;
  int PreferredShmemCarveout;
  int PtxVersion;
  size_t SharedSizeBytes;
};

struct CudaLaunchAttribute {
  uint32_t Id;
  uint32_t Pad;
  union {
    uint32_t Words[16];
    uint64_t Align;
  };
};
static_assert(sizeof(CudaLaunchAttribute) == 72, "layout of CUDA 12 and 13");

enum {
  CudaLaunchAttributeCooperative = 2,
  CudaLaunchAttributeClusterDim = 4,
  CudaLaunchAttributePreferredClusterDim = 11,
};

/// Whether clusters of this size have several blocks: the value of an
/// attribute.
inline bool isCluster(const uint32_t *Size) {
  return Size[0] > 1 || Size[1] > 1 || Size[2] > 1;
}

/// Attributes of functions: cudaFuncAttribute, CUfunction_attribute.
enum {
  CudaFunctionMaxDynamicShared = 8,
  CudaFunctionClusterWidth = 11,
  CudaFunctionClusterDepth = 13,
  CudaFunctionNonPortableCluster = 14,
};

/// Whether an attribute of a function makes its launches have clusters.
inline bool requiresCluster(int Attribute, int Value) {
  return Attribute >= CudaFunctionClusterWidth &&
         Attribute <= CudaFunctionClusterDepth && Value > 1;
}

/// Takes what an attribute of a launch says about its shape, which means the
/// same to the runtime and to the driver.
inline void setShapeAttribute(LaunchShape &Shape, int Id,
                              const uint32_t *Words) {
  if (Id == CudaLaunchAttributeCooperative)
    Shape.Cooperative = Words[0];
  if (Id == CudaLaunchAttributeClusterDim)
    Shape.Cluster = {Words[0], Words[1], Words[2]};
}

struct CudaLaunchConfig {
  Dim3 Grid;
  Dim3 Block;
  size_t DynamicShared;
  CudaStream *Stream;
  const CudaLaunchAttribute *Attributes;
  uint32_t NumAttributes;
};

/// Finds the buffer of arguments in the \p Extra of a launch: pairs of a key
/// and a pointer, up to another key. \returns null if there is none.
inline char *findBuffer(void *const *Extra, size_t &Size) {
  constexpr uintptr_t BufferPointer = 1, BufferSize = 2;
  char *Buffer = nullptr;
  for (; Extra; Extra += 2) {
    auto Key = reinterpret_cast<uintptr_t>(*Extra);
    if (Key == BufferPointer)
      Buffer = static_cast<char *>(Extra[1]);
    else if (Key == BufferSize)
      Size = *static_cast<const size_t *>(Extra[1]);
    else
      break;
  }
  return Buffer;
}

struct CudaPitchedPtr {
  void *Ptr;
  size_t Pitch, XSize, YSize;
};

struct CudaExtent {
  size_t Width, Height, Depth;
};

struct CudaMemLocation {
  int Type; ///< 1: a device
  int Id;
};

struct CudaMemPoolProps {
  int Type; ///< 1: pinned
  int HandleTypes;
  CudaMemLocation Location;
  void *SecurityAttributes;
  size_t MaxSize;
  unsigned short Usage;
  unsigned char Reserved[54];
};
static_assert(sizeof(CudaMemPoolProps) == 88, "layout of CUDA 12 and 13");

struct CudaPos {
  size_t X, Y, Z;
};

struct CudaMemcpy3DParms {
  void *SrcArray;
  CudaPos SrcPos;
  CudaPitchedPtr Src;
  void *DstArray;
  CudaPos DstPos;
  CudaPitchedPtr Dst;
  CudaExtent Extent;
  int Kind;
};
static_assert(sizeof(CudaMemcpy3DParms) == 160, "layout of CUDA 12 and 13");

struct CudaMemcpy3DPeerParms {
  void *SrcArray;
  CudaPos SrcPos;
  CudaPitchedPtr Src;
  int SrcDevice;
  void *DstArray;
  CudaPos DstPos;
  CudaPitchedPtr Dst;
  int DstDevice;
  CudaExtent Extent;
};

struct CudaChannelFormatDesc {
  int X, Y, Z, W, Format;
};

//===----------------------------------------------------------------------===//
// Textures and surfaces
//===----------------------------------------------------------------------===//

enum CudaChannelFormat : int {
  CudaChannelSigned = 0,
  CudaChannelUnsigned = 1,
  CudaChannelFloat = 2,
};

struct CudaArray;

enum CudaResourceType : int {
  CudaResourceArray = 0,
  CudaResourceMipmappedArray = 1,
  CudaResourceLinear = 2,
  CudaResourcePitch2D = 3,
};

/// In CUDA 12 the union is shorter; the fields after it are not read.
struct CudaResourceDesc {
  int Type;
  union {
    CudaArray *Array; ///< Also for a mipmapped array.
    struct {
      void *Ptr;
      CudaChannelFormatDesc Format;
      size_t Size;
    } Linear;
    struct {
      void *Ptr;
      CudaChannelFormatDesc Format;
      size_t Width, Height, Pitch;
    } Pitch2D;
  };
};

struct CudaTextureDesc {
  int AddressModes[3];
  int FilterMode; ///< 1: linear
  int ReadMode;   ///< 1: integers as floats
  int SRGB;
  float Border[4];
  int NormalizedCoordinates;
  unsigned MaxAnisotropy;
  int MipFilterMode;
  float MipBias, MinLevel, MaxLevel;
  int DisableTrilinearOptimization;
  int SeamlessCubemap;
};
static_assert(sizeof(CudaTextureDesc) == 72, "layout of CUDA 12 and 13");

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

enum CudaGraphNodeType : int {
  CudaGraphNodeKernel = 0,
  CudaGraphNodeMemcpy = 1,
  CudaGraphNodeMemset = 2,
  CudaGraphNodeHost = 3,
  CudaGraphNodeGraph = 4,
  CudaGraphNodeEmpty = 5,
  CudaGraphNodeWaitEvent = 6,
  CudaGraphNodeEventRecord = 7,
  CudaGraphNodeMemAlloc = 10,
  CudaGraphNodeMemFree = 11,
};

struct CudaKernelNodeParams {
  const void *Func;
  Dim3 Grid, Block;
  unsigned DynamicShared;
  void **Args;
  void **Extra;
};
static_assert(sizeof(CudaKernelNodeParams) == 56, "layout of CUDA 12 and 13");

struct CudaMemsetParams {
  void *Dst;
  size_t Pitch;
  unsigned Value;
  unsigned ElementSize;
  size_t Width; ///< In elements.
  size_t Height;
};

struct CudaHostNodeParams {
  void (*Fn)(void *);
  void *UserData;
};

struct CudaMemAllocNodeParams {
  CudaMemPoolProps PoolProps;
  const void *AccessDescs;
  size_t NumAccessDescs;
  size_t Size;
  void *Ptr;
};
static_assert(sizeof(CudaMemAllocNodeParams) == 120,
              "layout of CUDA 12 and 13");

/// For nodes of all types.
struct CudaGraphNodeParams {
  int Type;
  int Reserved0[3];
  union {
    long long Reserved1[29];
    CudaKernelNodeParams Kernel;
    struct {
      int Reserved[4];
      CudaMemcpy3DParms Params;
    } Copy;
    CudaMemsetParams Set;
    CudaHostNodeParams Host;
    CudaGraph *Child;
    CudaEvent *Event;
    CudaMemAllocNodeParams Alloc;
    void *Freed;
  };
  long long Reserved2;
};
static_assert(sizeof(CudaGraphNodeParams) == 256, "layout of CUDA 12 and 13");

struct CudaGraphInstantiateParams {
  unsigned long long Flags;
  CudaStream *UploadStream;
  CudaGraphNode *ErrorNode;
  int Result;
};

// Those that HIP has with other layouts (hip_runtime_api.h).

struct HipKernelNodeParams {
  Dim3 Block;
  void **Extra;
  const void *Func;
  Dim3 Grid;
  void **Args;
  unsigned DynamicShared;
};
static_assert(sizeof(HipKernelNodeParams) == 64, "layout of HIP 5 to 7");

struct HipMemsetParams {
  void *Dst;
  unsigned ElementSize;
  size_t Height;
  size_t Pitch;
  unsigned Value;
  size_t Width; ///< In elements.
};
static_assert(sizeof(HipMemsetParams) == 48, "layout of HIP 5 to 7");

struct HipGraphNodeParams {
  int Type;
  int Reserved0[3];
  union {
    long long Reserved1[29];
    HipKernelNodeParams Kernel;
  };
  long long Reserved2;
};

struct HipGraphInstantiateParams {
  CudaGraphNode *ErrorNode;
  unsigned long long Flags;
  int Result;
  CudaStream *UploadStream;
};

struct CudaGraphExecUpdateResult {
  int Result;
  CudaGraphNode *ErrorNode, *ErrorFromNode;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_CUDATYPES_H
