// HIP by CUDA's names, as far as the programs of ../../Cuda need it: they are
// compiled as HIP programs, after minihip.h.
#ifndef CUDA_AS_HIP_H
#define CUDA_AS_HIP_H

#include <cstdint>

#define cudaError_t hipError_t
#define cudaStream_t hipStream_t
#define cudaSuccess hipSuccess
constexpr hipError_t cudaErrorInvalidValue = hipError_t(1);
constexpr hipError_t cudaErrorMemoryAllocation = hipError_t(2);
constexpr hipError_t cudaErrorNotReady = hipError_t(600);
constexpr hipError_t cudaErrorIllegalAddress = hipError_t(700);
constexpr hipError_t cudaErrorPeerAccessAlreadyEnabled = hipError_t(704);

enum hipMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
};
enum { cudaMemAttachGlobal = 1, cudaStreamNonBlocking = 1 };
enum { cudaHostAllocMapped = 2, cudaHostRegisterMapped = 2 };
enum { cudaStreamCaptureModeGlobal = 0, cudaStreamCaptureModeRelaxed = 2 };
enum { cudaMemAllocationTypePinned = 1, cudaMemLocationTypeDevice = 1 };
enum { cudaMemHandleTypePosixFileDescriptor = 1 };
#define cudaStreamPerThread (reinterpret_cast<hipStream_t>(2))

#define cudaMemPool_t hipMemPool_t
using hipMemPool_t = struct ihipMemPool_t *;
struct cudaMemPoolProps {
  int allocType, handleTypes;
  struct {
    int type, id;
  } location;
  void *win32SecurityAttributes;
  unsigned char reserved[64];
};
struct cudaExtent {
  size_t width, height, depth;
};
inline cudaExtent make_cudaExtent(size_t Width, size_t Height, size_t Depth) {
  return {Width, Height, Depth};
}
struct cudaPitchedPtr {
  void *ptr;
  size_t pitch, xsize, ysize;
};
using cudaGraph_t = struct ihipGraph *;
using cudaGraphExec_t = struct hipGraphExec *;
using cudaGraphNode_t = struct hipGraphNode *;
struct cudaKernelNodeParams {
  dim3 blockDim;
  void **extra;
  void *func;
  dim3 gridDim;
  void **kernelParams;
  unsigned sharedMemBytes;
};
struct hipMemsetParams {
  void *dst;
  unsigned elementSize;
  size_t height, pitch;
  unsigned value;
  size_t width;
};
enum { cudaDevAttrConcurrentKernels = 8 };
enum { cudaLaunchAttributePriority = 8 };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
struct cudaLaunchAttribute {
  int id;
  union {
    char pad[64];
    int priority;
  } val alignas(8);
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  hipStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
};
/// The members are in another order than HIP's.
struct cudaMemsetParams {
  void *dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
  hipMemsetParams toHip() const {
    return {dst, elementSize, height, pitch, value, width};
  }
};

extern "C" {
#define cudaFree hipFree
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaFreeAsync hipFreeAsync
hipError_t hipFreeAsync(void *, hipStream_t);
#define cudaFreeHost hipHostFree
hipError_t hipHostFree(void *);
struct hipIpcMemHandle_t {
  char reserved[64];
};
#define cudaIpcMemHandle_t hipIpcMemHandle_t
#define cudaIpcMemLazyEnablePeerAccess 1
#define cudaIpcGetMemHandle hipIpcGetMemHandle
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *, void *);
#define cudaIpcOpenMemHandle hipIpcOpenMemHandle
hipError_t hipIpcOpenMemHandle(void **, hipIpcMemHandle_t, unsigned);
#define cudaIpcCloseMemHandle hipIpcCloseMemHandle
hipError_t hipIpcCloseMemHandle(void *);
#define cudaHostRegister hipHostRegister
hipError_t hipHostRegister(void *, size_t, unsigned);
#define cudaHostUnregister hipHostUnregister
hipError_t hipHostUnregister(void *);
#define cudaMemGetInfo hipMemGetInfo
hipError_t hipMemGetInfo(size_t *, size_t *);
#define cudaMemcpy hipMemcpy
hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind);
#define cudaMemcpyAsync hipMemcpyAsync
hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind,
                          hipStream_t = nullptr);
#define cudaMemcpyPeer hipMemcpyPeer
hipError_t hipMemcpyPeer(void *, int, const void *, int, size_t);
#define cudaMemset hipMemset
hipError_t hipMemset(void *, int, size_t);
#define cudaMemsetAsync hipMemsetAsync
hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t = nullptr);
hipError_t hipMemcpyToSymbol(const void *, const void *, size_t, size_t,
                             hipMemcpyKind);
hipError_t hipMemcpyFromSymbol(void *, const void *, size_t, size_t,
                               hipMemcpyKind);
#define cudaMalloc3D hipMalloc3D
hipError_t hipMalloc3D(cudaPitchedPtr *, cudaExtent);
#define cudaMemPoolCreate hipMemPoolCreate
hipError_t hipMemPoolCreate(hipMemPool_t *, const cudaMemPoolProps *);
#define cudaMemPoolDestroy hipMemPoolDestroy
hipError_t hipMemPoolDestroy(hipMemPool_t);
#define cudaStreamCreate hipStreamCreate
hipError_t hipStreamCreate(hipStream_t *);
#define cudaStreamCreateWithFlags hipStreamCreateWithFlags
hipError_t hipStreamCreateWithFlags(hipStream_t *, unsigned);
#define cudaStreamDestroy hipStreamDestroy
hipError_t hipStreamDestroy(hipStream_t);
#define cudaStreamSynchronize hipStreamSynchronize
hipError_t hipStreamSynchronize(hipStream_t);
#define cudaStreamQuery hipStreamQuery
hipError_t hipStreamQuery(hipStream_t);
#define cudaStreamBeginCapture hipStreamBeginCapture
hipError_t hipStreamBeginCapture(hipStream_t, int);
#define cudaStreamEndCapture hipStreamEndCapture
hipError_t hipStreamEndCapture(hipStream_t, cudaGraph_t *);
#define cudaGraphLaunch hipGraphLaunch
hipError_t hipGraphLaunch(cudaGraphExec_t, hipStream_t);
hipError_t hipGraphInstantiate(cudaGraphExec_t *, cudaGraph_t,
                               cudaGraphNode_t *, char *, size_t);
#define cudaGraphCreate hipGraphCreate
hipError_t hipGraphCreate(cudaGraph_t *, unsigned);
#define cudaGraphDestroy hipGraphDestroy
hipError_t hipGraphDestroy(cudaGraph_t);
#define cudaGraphExecDestroy hipGraphExecDestroy
hipError_t hipGraphExecDestroy(cudaGraphExec_t);
#define cudaGraphAddKernelNode hipGraphAddKernelNode
hipError_t hipGraphAddKernelNode(cudaGraphNode_t *, cudaGraph_t,
                                 const cudaGraphNode_t *, size_t,
                                 const cudaKernelNodeParams *);
#define cudaGraphExecKernelNodeSetParams hipGraphExecKernelNodeSetParams
hipError_t hipGraphExecKernelNodeSetParams(cudaGraphExec_t, cudaGraphNode_t,
                                           const cudaKernelNodeParams *);
hipError_t hipGraphAddMemsetNode(cudaGraphNode_t *, cudaGraph_t,
                                 const cudaGraphNode_t *, size_t,
                                 const hipMemsetParams *);
hipError_t hipGraphExecMemsetNodeSetParams(cudaGraphExec_t, cudaGraphNode_t,
                                           const hipMemsetParams *);
#define cudaGraphAddMemcpyNode1D hipGraphAddMemcpyNode1D
hipError_t hipGraphAddMemcpyNode1D(cudaGraphNode_t *, cudaGraph_t,
                                   const cudaGraphNode_t *, size_t, void *,
                                   const void *, size_t, hipMemcpyKind);
#define cudaGraphExecMemcpyNodeSetParams1D hipGraphExecMemcpyNodeSetParams1D
hipError_t hipGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t, cudaGraphNode_t,
                                             void *, const void *, size_t,
                                             hipMemcpyKind);
#define cudaGraphAddChildGraphNode hipGraphAddChildGraphNode
hipError_t hipGraphAddChildGraphNode(cudaGraphNode_t *, cudaGraph_t,
                                     const cudaGraphNode_t *, size_t,
                                     cudaGraph_t);
#define cudaGraphChildGraphNodeGetGraph hipGraphChildGraphNodeGetGraph
hipError_t hipGraphChildGraphNodeGetGraph(cudaGraphNode_t, cudaGraph_t *);
#define cudaGraphGetNodes hipGraphGetNodes
hipError_t hipGraphGetNodes(cudaGraph_t, cudaGraphNode_t *, size_t *);
#define cudaGraphNodeSetEnabled hipGraphNodeSetEnabled
hipError_t hipGraphNodeSetEnabled(cudaGraphExec_t, cudaGraphNode_t, unsigned);
#define cudaLaunchHostFunc hipLaunchHostFunc
hipError_t hipLaunchHostFunc(hipStream_t, void (*)(void *), void *);
#define cudaDeviceReset hipDeviceReset
hipError_t hipDeviceReset();
#define cudaGetDeviceCount hipGetDeviceCount
hipError_t hipGetDeviceCount(int *);
#define cudaDeviceGetAttribute hipDeviceGetAttribute
hipError_t hipDeviceGetAttribute(int *, int, int);
#define cudaSetDevice hipSetDevice
hipError_t hipSetDevice(int);
#define cudaDeviceCanAccessPeer hipDeviceCanAccessPeer
hipError_t hipDeviceCanAccessPeer(int *, int, int);
#define cudaDeviceEnablePeerAccess hipDeviceEnablePeerAccess
hipError_t hipDeviceEnablePeerAccess(int, unsigned);
#define cudaGetLastError hipGetLastError
hipError_t hipGetLastError();
#define cudaPeekAtLastError hipPeekAtLastError
hipError_t hipPeekAtLastError();
#define cudaGetErrorString hipGetErrorString
const char *hipGetErrorString(hipError_t);
#define cudaGetErrorName hipGetErrorName
const char *hipGetErrorName(hipError_t);
hipError_t hipMallocPitch(void **, size_t *, size_t, size_t);
hipError_t hipMallocAsync(void **, size_t, hipStream_t);
hipError_t hipMallocFromPoolAsync(void **, size_t, hipMemPool_t, hipStream_t);
hipError_t hipMallocManaged(void **, size_t, unsigned);
hipError_t hipHostMalloc(void **, size_t, unsigned);
hipError_t hipHostGetDevicePointer(void **, void *, unsigned);
#define cudaLaunchKernelExC hipLaunchKernelExC
hipError_t hipLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);
hipError_t hipFuncSetAttribute(const void *, int, int);
hipError_t hipGetSymbolAddress(void **, const void *);
hipError_t hipMemcpyToSymbolAsync(const void *, const void *, size_t, size_t,
                                  hipMemcpyKind, hipStream_t);
}

// As HIP's headers: pointers of any type.
template <typename T> hipError_t cudaMalloc(T **P, size_t Size) {
  return hipMalloc(reinterpret_cast<void **>(P), Size);
}
template <typename T>
hipError_t cudaMallocPitch(T **P, size_t *Pitch, size_t Width, size_t Height) {
  return hipMallocPitch(reinterpret_cast<void **>(P), Pitch, Width, Height);
}
template <typename T>
hipError_t cudaMallocAsync(T **P, size_t Size, hipStream_t S) {
  return hipMallocAsync(reinterpret_cast<void **>(P), Size, S);
}
template <typename T>
hipError_t cudaMallocFromPoolAsync(T **P, size_t Size, hipMemPool_t Pool,
                                   hipStream_t S) {
  return hipMallocFromPoolAsync(reinterpret_cast<void **>(P), Size, Pool, S);
}
template <typename T>
hipError_t cudaMallocManaged(T **P, size_t Size,
                             unsigned Flags = cudaMemAttachGlobal) {
  return hipMallocManaged(reinterpret_cast<void **>(P), Size, Flags);
}
template <typename T>
hipError_t cudaMallocHost(T **P, size_t Size, unsigned Flags = 0) {
  return hipHostMalloc(reinterpret_cast<void **>(P), Size, Flags);
}
template <typename T>
hipError_t cudaHostAlloc(T **P, size_t Size, unsigned Flags) {
  return hipHostMalloc(reinterpret_cast<void **>(P), Size, Flags);
}
template <typename T>
hipError_t cudaHostGetDevicePointer(T **P, void *Host, unsigned Flags) {
  return hipHostGetDevicePointer(reinterpret_cast<void **>(P), Host, Flags);
}
template <typename T>
hipError_t cudaMemcpyToSymbol(const T &Symbol, const void *From, size_t Size,
                              size_t Offset = 0,
                              hipMemcpyKind Kind = cudaMemcpyHostToDevice) {
  return hipMemcpyToSymbol(&Symbol, From, Size, Offset, Kind);
}
template <typename T>
hipError_t cudaMemcpyFromSymbol(void *To, const T &Symbol, size_t Size,
                                size_t Offset = 0,
                                hipMemcpyKind Kind = cudaMemcpyDeviceToHost) {
  return hipMemcpyFromSymbol(To, &Symbol, Size, Offset, Kind);
}
template <typename T>
hipError_t cudaMemcpyToSymbolAsync(const T &Symbol, const void *From,
                                   size_t Size, size_t Offset,
                                   hipMemcpyKind Kind, hipStream_t S) {
  return hipMemcpyToSymbolAsync(&Symbol, From, Size, Offset, Kind, S);
}
template <typename T>
hipError_t cudaGetSymbolAddress(void **P, const T &Symbol) {
  return hipGetSymbolAddress(P, &Symbol);
}
template <typename T>
hipError_t cudaLaunchKernel(T *F, dim3 Grid, dim3 Block, void **Args,
                            size_t Shared, hipStream_t S) {
  return hipLaunchKernel(reinterpret_cast<const void *>(F), Grid, Block, Args,
                         Shared, S);
}
template <typename T>
hipError_t cudaLaunchCooperativeKernel(T *F, dim3 Grid, dim3 Block, void **Args,
                                       size_t Shared, hipStream_t S) {
  return hipLaunchCooperativeKernel(reinterpret_cast<const void *>(F), Grid,
                                    Block, Args, Shared, S);
}
template <typename T>
hipError_t cudaFuncSetAttribute(T *F, int Attribute, int Value) {
  return hipFuncSetAttribute(reinterpret_cast<const void *>(F), Attribute,
                             Value);
}
inline hipError_t cudaGraphInstantiate(cudaGraphExec_t *Exec, cudaGraph_t Graph,
                                       unsigned long long = 0) {
  return hipGraphInstantiate(Exec, Graph, nullptr, nullptr, 0);
}

inline hipError_t cudaGraphAddMemsetNode(cudaGraphNode_t *Node, cudaGraph_t G,
                                         const cudaGraphNode_t *Nodes,
                                         size_t Count,
                                         const cudaMemsetParams *P) {
  hipMemsetParams New = P->toHip();
  return hipGraphAddMemsetNode(Node, G, Nodes, Count, &New);
}
inline hipError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t Exec,
                                                   cudaGraphNode_t Node,
                                                   const cudaMemsetParams *P) {
  hipMemsetParams New = P->toHip();
  return hipGraphExecMemsetNodeSetParams(Exec, Node, &New);
}

struct MiniHipGridDim {
  __device__ static unsigned getX() {
    return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
  }
  __declspec(property(get = getX)) unsigned x;
};
static constexpr __device__ MiniHipGridDim gridDim{};

__device__ inline void __trap() { __builtin_trap(); }
__device__ inline long long clock64() { return __builtin_readcyclecounter(); }

template <typename T> __device__ T atomicAdd(T *P, T V) {
  return __hip_atomic_fetch_add(P, V, __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_AGENT);
}

#endif // CUDA_AS_HIP_H
