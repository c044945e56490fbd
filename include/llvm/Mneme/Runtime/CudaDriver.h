//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The CUDA driver or the HIP runtime, loaded on demand, and device memory at
/// fixed addresses through its virtual memory management. Shared by the
/// recording runtime and replay, so that both place memory in the same way: no
/// LLVM, no vendor SDK.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_CUDADRIVER_H
#define LLVM_MNEME_RUNTIME_CUDADRIVER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mneme {

// Types of cuda.h.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
/// Code that belongs to no context.
using CUlibrary = struct CUlib_st *;
/// A kernel of a library; launch functions take it as a CUfunction, for the
/// stream's or the current context.
using CUkernel = struct CUkern_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUmemHandle = unsigned long long;

struct CUlaunchConfig {
  unsigned GridX, GridY, GridZ, BlockX, BlockY, BlockZ;
  unsigned DynamicShared;
  CUstream Stream;
  const void *Attributes; ///< CUlaunchAttribute, as cudaLaunchAttribute.
  unsigned NumAttributes;
};
static_assert(sizeof(CUlaunchConfig) == 56, "layout of CUDA 12 and 13");

/// CUDA_KERNEL_NODE_PARAMS_v2
struct CUkernelNodeParams {
  CUfunction Function;
  unsigned GridX, GridY, GridZ, BlockX, BlockY, BlockZ;
  unsigned DynamicShared;
  void **Args;
  void **Extra;
  void *Kernel; ///< If Function is null.
  CUcontext Context;
};

struct CUmemsetNodeParams {
  CUdeviceptr To;
  size_t Pitch;
  unsigned Value;
  unsigned ElementSize;
  size_t Width; ///< In elements.
  size_t Height;
};

struct CUhostNodeParams {
  void (*Function)(void *);
  void *Data;
};

using CUarray = struct CUarray_st *;
using CUtexObject = unsigned long long;

/// CUDA_ARRAY3D_DESCRIPTOR
struct CUarrayDescriptor {
  size_t Width, Height, Depth;
  int Format; ///< CUarray_format
  unsigned NumChannels;
  unsigned Flags; ///< 1 layered, 2 for surfaces, 4 cubemap, 8 for gathers
};

/// CUDA_RESOURCE_DESC
struct CUresourceDesc {
  int Type; ///< MNEME_RESOURCE_*
  union {
    CUarray Array; ///< Also a mipmapped array.
    struct {
      CUdeviceptr Address;
      int Format;
      unsigned NumChannels;
      size_t Size;
    } Linear;
    struct {
      CUdeviceptr Address;
      int Format;
      unsigned NumChannels;
      size_t Width, Height, Pitch;
    } Pitch2D;
    int Reserved[32];
  };
  unsigned Flags;
};
static_assert(sizeof(CUresourceDesc) == 144, "layout of CUDA 12 and 13");

/// CUDA_TEXTURE_DESC
struct CUtextureDesc {
  int AddressModes[3];
  int FilterMode;
  unsigned Flags; ///< 1 read integers, 2 normalized coordinates, 16 sRGB
  unsigned MaxAnisotropy;
  int MipFilterMode;
  float MipBias, MinLevel, MaxLevel;
  float Border[4];
  int Reserved[12];
};
static_assert(sizeof(CUtextureDesc) == 104, "layout of CUDA 12 and 13");

/// One side of CUDA_MEMCPY3D.
struct CUmemcpySide {
  size_t XInBytes, Y, Z, Level;
  int MemoryType; ///< 1 host, 2 device, 3 array, 4 unified
  const void *Host;
  CUdeviceptr Device;
  void *Array;
  void *Reserved;
  size_t Pitch, Height;
};

/// CUDA_MEMCPY3D
struct CUmemcpy3D {
  CUmemcpySide From, To;
  size_t WidthInBytes, Height, Depth;
};

struct CUmemLocation {
  int Type; ///< 1: a device
  int Id;
};

struct CUmemAllocationProp {
  int Type; ///< 1: pinned
  int RequestedHandleTypes;
  CUmemLocation Location;
  void *Win32HandleMetaData;
  unsigned char CompressionType;
  unsigned char GPUDirectRDMACapable;
  unsigned short Usage;
  unsigned char Reserved[4];
};

struct CUmemAccessDesc {
  CUmemLocation Location;
  int Flags; ///< 3: read and write
};

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
  CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
  CUDA_ERROR_UNKNOWN = 999,
};

/// Whether a kernel failed, after which its context is of no use.
inline bool isDeviceFault(CUresult R) {
  switch (R) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
    return true;
  }
  return false;
}

/// The driver's functions; null before load().
struct CudaDriver {
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters)                 \
  CUresult(*Name) Parameters;
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
  /// The functions are HIP's; those that it lacks are null.
  bool IsHip;

  /// Loads libcuda.so.1 and looks up its functions, once per process. Does not
  /// initialize the driver (cuInit). \returns the driver, or null and the
  /// reason in \p Error: no driver on this machine, or a driver that lacks a
  /// function.
  static const CudaDriver *load(std::string &Error);
  /// The same for HIP: libamdhip64.so, of release 5 or later.
  static const CudaDriver *loadHip(std::string &Error);

  /// "out of memory (CUDA_ERROR_OUT_OF_MEMORY)"
  std::string describe(CUresult R) const;
  /// "13.0", "6.3.0"; the number is that of DriverGetVersion.
  std::string describeVersion(int Version) const;
  /// The architecture of a device, "sm_90" or "gfx90a:sramecc+:xnack-"; empty
  /// if the driver does not report it. After Init.
  std::string archOf(CUdevice Device) const;
};

/// Whether launchTimed() is available. After CudaDriver::loadHip().
bool canLaunchTimed();
/// Launches a function of HIP. The time between the events is that of the
/// kernel alone, as the GPU notes it in the signal of its dispatch.
CUresult launchTimed(CUfunction F, const unsigned (&Grid)[3],
                     const unsigned (&Block)[3], unsigned DynamicShared,
                     CUstream S, void **Args, CUevent Start, CUevent Stop);

/// HIP's name of a device's architecture. After CudaDriver::loadHip().
std::string readHipArch(CUdevice Device);

/// After a reset of \p Device, which unloads its modules: the libraries of
/// CudaDriver::LibraryLoadData are loaded again when they are used next.
void forgetHipCode(CUdevice Device);

/// Device memory at fixed addresses: a reserved range of addresses, parts of
/// which are mapped. Physical memory is mapped in granules, usually of 2 MiB.
/// Ranges may share a granule, which is in use until the last of them is
/// unmapped. Not thread-safe. A context of the device must be current.
///
/// Functions that return a string return an error message, or an empty string
/// on success. If the bookkeeping runs out of memory, they throw std::bad_alloc
/// and change nothing.
class CudaMapping {
public:
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

  CudaMapping(const CudaDriver &Driver, CUdevice Device)
      : Driver(Driver), Device(Device) {}
  CudaMapping(const CudaMapping &) = delete;
  CudaMapping &operator=(const CudaMapping &) = delete;
  ~CudaMapping();

  /// Reserves exactly [Base, Base + Size), which must consist of whole
  /// granules.
  std::string reserve(uint64_t Base, uint64_t Size);
  /// Backs [Address, Address + Size) with memory of undefined contents. Appends
  /// the ranges (address, size) of newly allocated granules to \p Fresh, if not
  /// null.
  std::string map(uint64_t Address, uint64_t Size, Ranges *Fresh = nullptr);
  /// Gives another device access to all memory, including later mappings.
  /// Ignores failures.
  void share(CUdevice Peer);
  /// Lets exportRange() export memory that is mapped from now on, if the system
  /// can.
  void makeExportable() { HandleTypes = PosixFile; }
  /// A granule or several in a row, with a descriptor of their memory.
  struct ExportedChunk {
    uint64_t Address, Size;
    int File;
  };
  /// Appends to \p Exported what contains [Address, Address + Size). The
  /// descriptors are the caller's.
  std::string exportRange(uint64_t Address, uint64_t Size,
                          std::vector<ExportedChunk> &Exported) const;
  /// Undoes one map(). Granules without a range stay mapped until trim(), for
  /// later calls of map().
  void unmap(uint64_t Address, uint64_t Size);
  /// Frees the memory of unused granules. \returns the number of bytes.
  uint64_t trim();

  uint64_t base() const { return Base; }
  uint64_t size() const { return Size; }
  uint64_t granularity() const { return Granularity; }
  /// Returns the number of bytes that trim() would free.
  uint64_t unusedBytes() const { return Unused; }

private:
  struct Chunk {
    uint64_t Size;
    CUmemHandle Handle;
    unsigned Uses;
  };

  static constexpr int PosixFile = 1; ///< A bit of handle types.

  std::string mapNext(uint64_t &At, uint64_t End, Ranges *Fresh);
  std::string createChunk(uint64_t Address, uint64_t Bytes);
  CUresult createMemory(Chunk &C);
  CUresult mapChunk(uint64_t Address, Chunk &C);
  CUresult allow(CUdevice Who, uint64_t Address, uint64_t Bytes);
  void dropChunk(std::map<uint64_t, Chunk>::iterator I);

  const CudaDriver &Driver;
  CUdevice Device;
  uint64_t Base = 0, Size = 0, Granularity = 0, Unused = 0;
  int HandleTypes = 0;
  std::vector<CUdevice> Peers;
  std::map<uint64_t, Chunk> Chunks; ///< By address; whole granules.
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_CUDADRIVER_H
