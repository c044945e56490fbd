//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the recorder does with each intercepted call of the CUDA runtime and
/// driver, or of HIP.
///
//===----------------------------------------------------------------------===//

#include "LastError.h"
#include "RegisteredIR.h"
#include "Shortage.h"
#include "TapSession.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

using namespace mneme;

// Handlers of functions that only the other vendor has.
#pragma GCC diagnostic ignored "-Wunused-function"

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// The stream among a function's parameters, or null.
template <typename... Params>
static CUstream streamAmong(bool IsOfThread, Params... Parameters) {
  CUstream S = nullptr;
  auto Look = [&](auto P) {
    using T = decltype(P);
    if constexpr (std::is_same_v<T, CUstream> ||
                  std::is_same_v<T, CudaStream *>)
      S = reinterpret_cast<CUstream>(P);
    else if constexpr (std::is_same_v<T, CudaMaybeStream *>)
      S = AnyStream;
  };
  (Look(Parameters), ...);
  return IsOfThread ? toPtsz(S) : S;
}

/// Whether stream 0 of the function is the thread's own.
static constexpr bool isOfThread(std::string_view Symbol) {
  size_t Begin = Symbol.rfind('_');
  std::string_view Suffix =
      Begin == std::string_view::npos ? "" : Symbol.substr(Begin);
  return Suffix == "_ptsz" || Suffix == "_ptds" || Suffix == "_spt";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int onMalloc(const CudaRuntime &R, void **Ptr, size_t Size) {
  return TapSession::get().memory().allocate(
      R, Ptr, Size, [&] { return R.Malloc(Ptr, Size); });
}

static int onMallocPitch(const CudaRuntime &R, void **Ptr, size_t *Pitch,
                         size_t Width, size_t Height) {
  auto Original = [&] { return R.MallocPitch(Ptr, Pitch, Width, Height); };
  if (!Ptr || !Pitch || !Width || !Height)
    return Original();
  size_t Bytes = TapSession::get().memory().pitchOf(
      {Width, 0},
      [&](void **Row, size_t *P) { return R.MallocPitch(Row, P, Width, 1); });
  size_t Size;
  if (!Bytes || __builtin_mul_overflow(Bytes, Height, &Size))
    return Original();
  int E = TapSession::get().memory().allocate(R, Ptr, Size, Original);
  if (!E)
    *Pitch = Bytes;
  return E;
}

static int onMalloc3D(const CudaRuntime &R, CudaPitchedPtr *Ptr,
                      CudaExtent Extent) {
  auto Original = [&] { return R.Malloc3D(Ptr, Extent); };
  if (!Ptr || !Extent.Width || !Extent.Height || !Extent.Depth)
    return Original();
  size_t Bytes = TapSession::get().memory().pitchOf(
      {Extent.Width, 0}, [&](void **Row, size_t *P) {
        CudaPitchedPtr One = {};
        int E = R.Malloc3D(&One, {Extent.Width, 1, 1});
        *Row = One.Ptr;
        *P = One.Pitch;
        return E;
      });
  size_t Rows, Size;
  if (!Bytes || __builtin_mul_overflow(Extent.Height, Extent.Depth, &Rows) ||
      __builtin_mul_overflow(Bytes, Rows, &Size))
    return Original();
  void *Given = nullptr;
  int E = TapSession::get().memory().allocate(R, &Given, Size, [&] {
    int E = Original();
    Given = E ? nullptr : Ptr->Ptr;
    return E;
  });
  if (!E)
    *Ptr = {Given, Bytes, Extent.Width, Extent.Height};
  return E;
}

/// Allocates in the arena instead of a pool, unless other processes may get the
/// pool's memory.
template <typename Fn>
static int allocateInOrder(const CudaRuntime &R, void **Ptr, size_t Size,
                           CUstream S, Fn Original) {
  TappedMemory &Memory = TapSession::get().memory();
  if (!Memory.arePoolsShared())
    return Memory.allocate(R, Ptr, Size, Original, &S);
  int E = Original();
  if (!E)
    TapSession::get().foreignMemory().note(*Ptr, Size, MNEME_REGION_DEVICE,
                                           /*IsPortable=*/false);
  return E;
}

static int onMemPoolCreate(const CudaRuntime &R, CudaMemPool **Pool,
                           const CudaMemPoolProps *Props) {
  constexpr int OnDevice = 1;
  if (Props && (Props->HandleTypes || Props->Location.Type != OnDevice))
    TapSession::get().memory().sharePools();
  return R.MemPoolCreate(Pool, Props);
}

static int onMallocManaged(const CudaRuntime &R, void **Ptr, size_t Size,
                           unsigned Flags) {
  int E = R.MallocManaged(Ptr, Size, Flags);
  if (!E)
    TapSession::get().foreignMemory().note(*Ptr, Size, MNEME_REGION_MANAGED);
  return E;
}

/// cudaHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE.
static constexpr unsigned RegisterPortable = 1;

static int onHostRegister(const CudaRuntime &R, void *Ptr, size_t Size,
                          unsigned Flags) {
  constexpr unsigned IsDeviceIO = 4; // cudaHostRegisterIoMemory
  int E = R.HostRegister(Ptr, Size, Flags);
  if (!E && !(Flags & IsDeviceIO))
    TapSession::get().foreignMemory().note(Ptr, Size, MNEME_REGION_PINNED,
                                           Flags & RegisterPortable);
  return E;
}

/// Memory of a kind that the arena does not have, unless \p Flags are those of
/// hipMalloc.
static int onExtMallocWithFlags(const CudaRuntime &R, void **Ptr, size_t Size,
                                unsigned Flags) {
  auto Original = [&] { return R.ExtMallocWithFlags(Ptr, Size, Flags); };
  if (!Flags)
    return TapSession::get().memory().allocate(R, Ptr, Size, Original);
  int E = Original();
  if (!E)
    TapSession::get().foreignMemory().note(*Ptr, Size, MNEME_REGION_DEVICE,
                                           /*IsPortable=*/false);
  return E;
}

static int onIpcGetMemHandle(const CudaRuntime &R, IpcMemHandle *Handle,
                             void *Ptr) {
  return TapSession::get().sharedMemory().getHandle(
      Handle, Ptr, [&] { return R.IpcGetMemHandle(Handle, Ptr); });
}

static int onIpcOpenMemHandle(const CudaRuntime &R, void **Ptr,
                              IpcMemHandle Handle, unsigned Flags) {
  return TapSession::get().sharedMemory().openHandle(
      R, Ptr, Handle, [&] { return R.IpcOpenMemHandle(Ptr, Handle, Flags); });
}

static int onIpcCloseMemHandle(const CudaRuntime &R, void *Ptr) {
  return TapSession::get().sharedMemory().closeHandle(
      Ptr, [&] { return R.IpcCloseMemHandle(Ptr); });
}

static int onMemPoolImportPointer(const CudaRuntime &R, void **Ptr,
                                  CudaMemPool *Pool, void *Data) {
  int E = R.MemPoolImportPointer(Ptr, Pool, Data);
  if (!E)
    TapSession::get().sharedMemory().noteOpened(*Ptr);
  return E;
}

static int onMemGetInfo(const CudaRuntime &R, size_t *Free, size_t *Total) {
  TapSession::get().memory().trim();
  return R.MemGetInfo(Free, Total);
}

//===----------------------------------------------------------------------===//
// The driver's functions
//===----------------------------------------------------------------------===//

static void *toPointer(void *P) { return P; }
static void *toPointer(CUdeviceptr P) { return reinterpret_cast<void *>(P); }

/// Allocates in the current context, which the runtime uses, too.
template <typename Fn>
static int allocateForDriver(const CudaRuntime &R, CUdeviceptr *Ptr,
                             size_t Size, Fn Original,
                             const CUstream *Stream = nullptr) {
  TappedMemory &Memory = TapSession::get().memory();
  // Without a context the driver fails, where the runtime would make one.
  if (!Ptr || !Memory.hasContext())
    return Original();
  return Memory.allocate(R, reinterpret_cast<void **>(Ptr), Size, Original,
                         Stream);
}

/// Notes device memory that is recorded at its own address, unless \p E is an
/// error. \returns \p E.
static int noteForeign(int E, const CUdeviceptr *Ptr, size_t Size) {
  if (!E)
    TapSession::get().foreignMemory().note(
        toPointer(*Ptr), Size, MNEME_REGION_DEVICE, /*IsPortable=*/false);
  return E;
}

static int onDriverMemAlloc(const CudaRuntime &R, CUdeviceptr *Ptr,
                            size_t Size) {
  return allocateForDriver(R, Ptr, Size,
                           [&] { return R.DriverMemAlloc(Ptr, Size); });
}

static int onDriverMemAllocPitch(const CudaRuntime &R, CUdeviceptr *Ptr,
                                 size_t *Pitch, size_t Width, size_t Height,
                                 unsigned Element) {
  auto Original = [&] {
    return R.DriverMemAllocPitch(Ptr, Pitch, Width, Height, Element);
  };
  TappedMemory &Memory = TapSession::get().memory();
  if (!Ptr || !Pitch || !Width || !Height || !Memory.hasContext())
    return Original();
  size_t Bytes = Memory.pitchOf({Width, Element}, [&](void **Row, size_t *P) {
    return R.DriverMemAllocPitch(reinterpret_cast<CUdeviceptr *>(Row), P, Width,
                                 1, Element);
  });
  size_t Size;
  if (!Bytes || __builtin_mul_overflow(Bytes, Height, &Size))
    return Original();
  int E = Memory.allocate(R, reinterpret_cast<void **>(Ptr), Size, Original);
  if (!E)
    *Pitch = Bytes;
  return E;
}

/// Memory of a pool, or of the current one.
template <typename Fn>
static int allocateInOrder(const CudaRuntime &R, CUdeviceptr *Ptr, size_t Size,
                           CUstream S, Fn Original) {
  if (!TapSession::get().memory().arePoolsShared())
    return allocateForDriver(R, Ptr, Size, Original, &S);
  return noteForeign(Original(), Ptr, Size);
}

/// CUmemPoolProps and cudaMemPoolProps are the same.
static int onDriverMemPoolCreate(const CudaRuntime &R, CudaMemPool **Pool,
                                 const CudaMemPoolProps *Props) {
  constexpr int OnDevice = 1;
  if (Props && (Props->HandleTypes || Props->Location.Type != OnDevice))
    TapSession::get().memory().sharePools();
  return R.DriverMemPoolCreate(Pool, Props);
}

static int onDriverMemAddressReserve(const CudaRuntime &R, CUdeviceptr *Ptr,
                                     size_t Size, size_t Alignment,
                                     CUdeviceptr Hint,
                                     unsigned long long Flags) {
  auto Original = [&] {
    return R.DriverMemAddressReserve(Ptr, Size, Alignment, Hint, Flags);
  };
  TappedMemory &Memory = TapSession::get().memory();
  bool IsAnywhere = Ptr && Size && !Hint && !Flags && Memory.hasContext();
  return IsAnywhere && Memory.reserveAddresses(R, *Ptr, Size, Alignment)
             ? int(CUDA_SUCCESS)
             : Original();
}

static int onDriverMemAddressFree(const CudaRuntime &R, CUdeviceptr Ptr,
                                  size_t Size) {
  return TapSession::get().memory().freeAddresses(Ptr, Size)
             ? int(CUDA_SUCCESS)
             : R.DriverMemAddressFree(Ptr, Size);
}

static int onDriverMemMap(const CudaRuntime &R, CUdeviceptr Ptr, size_t Size,
                          size_t Offset, unsigned long long Handle,
                          unsigned long long Flags) {
  int E = R.DriverMemMap(Ptr, Size, Offset, Handle, Flags);
  if (E || !TapSession::get().sharedMemory().isImported(Handle))
    return noteForeign(E, &Ptr, Size);
  TapSession::get().foreignMemory().note(toPointer(Ptr), Size,
                                         ForeignMemory::OtherProcess,
                                         /*IsPortable=*/false);
  return E;
}

static int onDriverMemImport(const CudaRuntime &R, unsigned long long *Handle,
                             void *From, int Type) {
  int E = R.DriverMemImport(Handle, From, Type);
  if (!E)
    TapSession::get().sharedMemory().noteImported(*Handle);
  return E;
}

static int onDriverMemPoolImportPointer(const CudaRuntime &R, CUdeviceptr *Ptr,
                                        CudaMemPool *Pool, void *Data) {
  int E = R.DriverMemPoolImportPointer(Ptr, Pool, Data);
  if (!E)
    TapSession::get().sharedMemory().noteOpened(toPointer(*Ptr));
  return E;
}

static int onDriverMemGetAddressRange(const CudaRuntime &R, CUdeviceptr *Start,
                                      size_t *Size, CUdeviceptr Ptr) {
  CUdeviceptr Address;
  size_t Bytes;
  if (!TapSession::get().memory().findAllocation(Ptr, Address, Bytes))
    return R.DriverMemGetAddressRange(Start, Size, Ptr);
  if (Start)
    *Start = Address;
  if (Size)
    *Size = Bytes;
  return CUDA_SUCCESS;
}

static int onDriverIpcGetMemHandle(const CudaRuntime &R, IpcMemHandle *Handle,
                                   CUdeviceptr Ptr) {
  return TapSession::get().sharedMemory().getHandle(
      Handle, toPointer(Ptr),
      [&] { return R.DriverIpcGetMemHandle(Handle, Ptr); });
}

static int onDriverIpcOpenMemHandle(const CudaRuntime &R, CUdeviceptr *Ptr,
                                    IpcMemHandle Handle, unsigned Flags) {
  return TapSession::get().sharedMemory().openHandle(
      R, reinterpret_cast<void **>(Ptr), Handle,
      [&] { return R.DriverIpcOpenMemHandle(Ptr, Handle, Flags); });
}

static int onDriverIpcCloseMemHandle(const CudaRuntime &R, CUdeviceptr Ptr) {
  return TapSession::get().sharedMemory().closeHandle(
      toPointer(Ptr), [&] { return R.DriverIpcCloseMemHandle(Ptr); });
}

static int onDriverMemUnmap(const CudaRuntime &R, CUdeviceptr Ptr,
                            size_t Size) {
  int E = R.DriverMemUnmap(Ptr, Size);
  if (!E)
    TapSession::get().foreignMemory().forgetAll(toPointer(Ptr), Size);
  return E;
}

static int onDriverMemAllocManaged(const CudaRuntime &R, CUdeviceptr *Ptr,
                                   size_t Size, unsigned Flags) {
  int E = R.DriverMemAllocManaged(Ptr, Size, Flags);
  if (!E)
    TapSession::get().foreignMemory().note(toPointer(*Ptr), Size,
                                           MNEME_REGION_MANAGED);
  return E;
}

static int onDriverMemHostRegister(const CudaRuntime &R, void *Ptr, size_t Size,
                                   unsigned Flags) {
  constexpr unsigned IsDeviceIO = 4; // CU_MEMHOSTREGISTER_IOMEMORY
  int E = R.DriverMemHostRegister(Ptr, Size, Flags);
  if (!E && !(Flags & IsDeviceIO))
    TapSession::get().foreignMemory().note(Ptr, Size, MNEME_REGION_PINNED,
                                           Flags & RegisterPortable);
  return E;
}

static int onDriverMemGetInfo(const CudaRuntime &R, size_t *Free,
                              size_t *Total) {
  TapSession::get().memory().trim();
  return R.DriverMemGetInfo(Free, Total);
}

//===----------------------------------------------------------------------===//
// Classes of functions
//===----------------------------------------------------------------------===//

#define ALLOCATE(Name, Symbol, Parameters, ...)                                \
  template <typename Pointer, typename... Params>                              \
  static int on##Name(const CudaRuntime &R, Pointer *Ptr, size_t Size,         \
                      Params... P) {                                           \
    return allocateInOrder(R, Ptr, Size,                                       \
                           streamAmong(isOfThread(#Symbol), P...),             \
                           [&] { return R.Name(Ptr, Size, P...); });           \
  }
#define FREE(Name, Symbol, Parameters, ...)                                    \
  template <typename Pointer, typename... Stream>                              \
  static int on##Name(const CudaRuntime &R, Pointer Ptr, Stream... S) {        \
    return TapSession::get().memory().release(                                 \
        toPointer(Ptr), streamAmong(isOfThread(#Symbol), S)...,                \
        [&] { return R.Name(Ptr, S...); });                                    \
  }
#define PIN(Name, Symbol, Parameters, ...)                                     \
  template <typename... Flags>                                                 \
  static int on##Name(const CudaRuntime &R, void **Ptr, size_t Size,           \
                      Flags... F) {                                            \
    int E = R.Name(Ptr, Size, F...);                                           \
    if (!E)                                                                    \
      TapSession::get().foreignMemory().note(*Ptr, Size, MNEME_REGION_PINNED); \
    return E;                                                                  \
  }
#define UNPIN(Name, Symbol, Parameters, ...)                                   \
  static int on##Name(const CudaRuntime &R, void *Ptr) {                       \
    TapSession::get().foreignMemory().forget(Ptr);                             \
    return R.Name(Ptr);                                                        \
  }
#define CAPTURE(Function, Name, Symbol)                                        \
  template <typename... Params>                                                \
  static int on##Name(const CudaRuntime &R, Params... P) {                     \
    return TapSession::get().captures().Function(                              \
        streamAmong(isOfThread(#Symbol), P...), [&] { return R.Name(P...); }); \
  }
#define BEGIN_CAPTURE(Name, Symbol, Parameters, ...)                           \
  CAPTURE(begin, Name, Symbol)
#define END_CAPTURE(Name, Symbol, Parameters, ...) CAPTURE(end, Name, Symbol)
// Changes that no copy of the graph follows.
#define SPOIL(Name, Symbol, Parameters, ...)                                   \
  template <typename... Params>                                                \
  static int on##Name(const CudaRuntime &R, CUgraphExec Exec,                  \
                      CUgraphNode Node, Params... P) {                         \
    int E = R.Name(Exec, Node, P...);                                          \
    if (!E)                                                                    \
      TapSession::get().graphs().spoil(Exec, Node);                            \
    return E;                                                                  \
  }
#define CHANGE(Name, Symbol, Parameters, ...)                                  \
  template <typename... Params>                                                \
  static int on##Name(const CudaRuntime &R, Params... P) {                     \
    return TapSession::get().change(streamAmong(isOfThread(#Symbol), P...),    \
                                    [&] { return R.Name(P...); });             \
  }
#define PEER(Name, Symbol, Parameters, ...)                                    \
  template <typename... Params>                                                \
  static int on##Name(const CudaRuntime &R, Params... P) {                     \
    TapSession::get().devices().connect(R);                                    \
    return TapSession::get().change(streamAmong(isOfThread(#Symbol), P...),    \
                                    [&] { return R.Name(P...); });             \
  }
#include "VendorFunctions.def"
#undef CAPTURE

//===----------------------------------------------------------------------===//
// Launches and code
//===----------------------------------------------------------------------===//

template <typename Fn>
static int launchKernel(const KernelLaunch &L, Fn Original) {
  return TapSession::get().launch(L, Original);
}

template <typename Fn>
static int launchFunction(const KernelLaunch &L, void **Extra, Fn Original) {
  return TapSession::get().launchFunction(L, Extra, Original);
}

/// Launches on several devices at once are not recorded.
template <typename Fn> static int launchOnDevices(Fn Original) {
  return TapSession::get().change(AnyStream, Original);
}

/// A graph of the driver, which is not known.
template <typename Fn> static int launchForeignGraph(Fn Original) {
  int E = TapSession::get().change(AnyStream, Original);
  if (!E)
    TapSession::get().graphLaunches().countForeign();
  return E;
}

static DriverImages &code() { return TapSession::get().images(); }

#include "InterceptedCode.inc"

LOAD(DriverModuleLoadFatBinary)

static int onDriverModuleLoad(const CudaRuntime &R, CUmodule *M,
                              const char *Path) {
  int E = R.DriverModuleLoad(M, Path);
  if (!E)
    code().noteFile(*M, Path);
  return E;
}

static int onDriverLibraryLoadFromFile(const CudaRuntime &R, CUlibrary *L,
                                       const char *Path, int *JitOptions,
                                       void **JitValues, unsigned NumJit,
                                       int *Options, void **Values,
                                       unsigned Count) {
  int E = R.DriverLibraryLoadFromFile(L, Path, JitOptions, JitValues, NumJit,
                                      Options, Values, Count);
  if (!E)
    code().noteFile(*L, Path);
  return E;
}

static int onGetFuncBySymbol(const CudaRuntime &R, CUfunction *F,
                             const void *Stub) {
  int E = R.GetFuncBySymbol(F, Stub);
  if (!E)
    code().noteStub(*F, R, Stub);
  return E;
}

static int onDriverPrimaryCtxReset(const CudaRuntime &R, CUdevice Device) {
  TapSession::get().resetPrimary(Device);
  return R.DriverPrimaryCtxReset(Device);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static int onGraphAddKernelNode(const CudaRuntime &R, CUgraphNode *Node,
                                CUgraph Graph, const CUgraphNode *Nodes,
                                size_t Count, const KernelNodeParams *P) {
  int E = R.GraphAddKernelNode(Node, Graph, Nodes, Count, P);
  if (!E)
    TapSession::get().graphs().noteKernel(R, *Node, P->Func);
  return E;
}

static int onGraphKernelNodeSetParams(const CudaRuntime &R, CUgraphNode Node,
                                      const KernelNodeParams *P) {
  int E = R.GraphKernelNodeSetParams(Node, P);
  if (!E)
    TapSession::get().graphs().noteKernel(R, Node, P->Func);
  return E;
}

static int onGraphAddNodeV2(const CudaRuntime &R, CUgraphNode *Node,
                            CUgraph Graph, const CUgraphNode *Nodes,
                            const void *Edges, size_t Count,
                            GraphNodeParams *P) {
  int E = R.GraphAddNodeV2(Node, Graph, Nodes, Edges, Count, P);
  if (!E && P->Type == CudaGraphNodeKernel)
    TapSession::get().graphs().noteKernel(R, *Node, P->Kernel.Func);
  return E;
}

/// Before CUDA 13 there was no parameter \p Edges: the arguments behind it are
/// one position to the left.
static int onGraphAddNode(const CudaRuntime &R, CUgraphNode *Node,
                          CUgraph Graph, const CUgraphNode *Nodes,
                          const void *Edges, size_t Count, GraphNodeParams *P) {
  int Version = 0;
  int E = R.GraphAddNode(Node, Graph, Nodes, Edges, Count, P);
  if (E || !R.RuntimeGetVersion || R.RuntimeGetVersion(&Version))
    return E;
  if (Version < 13000)
    P = reinterpret_cast<GraphNodeParams *>(Count);
  if (P->Type == CudaGraphNodeKernel)
    TapSession::get().graphs().noteKernel(R, *Node, P->Kernel.Func);
  return E;
}

static int onGraphNodeSetParams(const CudaRuntime &R, CUgraphNode Node,
                                GraphNodeParams *P) {
  int E = R.GraphNodeSetParams(Node, P);
  if (!E && P->Type == CudaGraphNodeKernel)
    TapSession::get().graphs().noteKernel(R, Node, P->Kernel.Func);
  return E;
}

static int onHipGraphAddNode(const CudaRuntime &R, CUgraphNode *Node,
                             CUgraph Graph, const CUgraphNode *Nodes,
                             size_t Count, GraphNodeParams *P) {
  int E = R.HipGraphAddNode(Node, Graph, Nodes, Count, P);
  if (!E && P->Type == CudaGraphNodeKernel)
    TapSession::get().graphs().noteKernel(R, *Node, P->Kernel.Func);
  return E;
}

static int noteInstance(int Error, CUgraphExec *Exec, CUgraph Graph,
                        unsigned long long Flags) {
  if (!Error)
    TapSession::get().graphs().note(*Exec, Graph, Flags);
  return Error;
}

static int onGraphInstantiate(const CudaRuntime &R, CUgraphExec *Exec,
                              CUgraph Graph, unsigned long long Flags) {
  return noteInstance(R.GraphInstantiate(Exec, Graph, Flags), Exec, Graph,
                      Flags);
}

static int onHipGraphInstantiate(const CudaRuntime &R, CUgraphExec *Exec,
                                 CUgraph Graph, CUgraphNode *ErrorNode,
                                 char *Log, size_t LogSize) {
  return noteInstance(
      R.HipGraphInstantiate(Exec, Graph, ErrorNode, Log, LogSize), Exec, Graph,
      /*Flags=*/0);
}

static int onGraphInstantiateWithFlags(const CudaRuntime &R, CUgraphExec *Exec,
                                       CUgraph Graph,
                                       unsigned long long Flags) {
  return noteInstance(R.GraphInstantiateWithFlags(Exec, Graph, Flags), Exec,
                      Graph, Flags);
}

static int onGraphInstantiateWithParams(const CudaRuntime &R, CUgraphExec *Exec,
                                        CUgraph Graph,
                                        GraphInstantiateParams *P) {
  return noteInstance(R.GraphInstantiateWithParams(Exec, Graph, P), Exec, Graph,
                      P ? P->Flags : 0);
}

static int onGraphInstantiateWithParamsPtsz(const CudaRuntime &R,
                                            CUgraphExec *Exec, CUgraph Graph,
                                            GraphInstantiateParams *P) {
  return noteInstance(R.GraphInstantiateWithParamsPtsz(Exec, Graph, P), Exec,
                      Graph, P ? P->Flags : 0);
}

/// The graph is forgotten first: once it is destroyed, another thread may get
/// the same handle.
static int onGraphExecDestroy(const CudaRuntime &R, CUgraphExec Exec) {
  TapSession::get().graphs().forget(Exec);
  return R.GraphExecDestroy(Exec);
}

static int onGraphExecUpdate(const CudaRuntime &R, CUgraphExec Exec,
                             CUgraph Graph, void *Result) {
  int E = R.GraphExecUpdate(Exec, Graph, Result);
  if (!E)
    TapSession::get().graphs().update(Exec, Graph);
  return E;
}

static int onHipGraphExecUpdate(const CudaRuntime &R, CUgraphExec Exec,
                                CUgraph Graph, CUgraphNode *ErrorNode,
                                int *Result) {
  int E = R.HipGraphExecUpdate(Exec, Graph, ErrorNode, Result);
  if (!E)
    TapSession::get().graphs().update(Exec, Graph);
  return E;
}

static int onGraphExecKernelNodeSetParams(const CudaRuntime &R,
                                          CUgraphExec Exec, CUgraphNode Node,
                                          const KernelNodeParams *P) {
  int E = R.GraphExecKernelNodeSetParams(Exec, Node, P);
  if (!E)
    TapSession::get().graphs().change(
        Exec, Node, [&](TappedGraphs &G, TappedGraph &, CUgraphNode Copy) {
          return G.changeKernel(Copy, *P);
        });
  return E;
}

#define CHANGE_NODE(Name, Params, Function)                                    \
  static int onGraphExec##Name##NodeSetParams(                                 \
      const CudaRuntime &R, CUgraphExec Exec, CUgraphNode Node,                \
      const Params *P) {                                                       \
    int E = R.GraphExec##Name##NodeSetParams(Exec, Node, P);                   \
    if (!E)                                                                    \
      TapSession::get().graphs().change(                                       \
          Exec, Node, [&](TappedGraphs &G, TappedGraph &, CUgraphNode Copy) {  \
            return G.Function(Copy, *P);                                       \
          });                                                                  \
    return E;                                                                  \
  }
CHANGE_NODE(Memcpy, CudaMemcpy3DParms, changeCopy)
CHANGE_NODE(Memset, MemsetNodeParams, changeSet)
CHANGE_NODE(Host, CudaHostNodeParams, changeHost)
#undef CHANGE_NODE

static int onGraphExecMemcpyNodeSetParams1D(const CudaRuntime &R,
                                            CUgraphExec Exec, CUgraphNode Node,
                                            void *To, const void *From,
                                            size_t Size, int Kind) {
  int E = R.GraphExecMemcpyNodeSetParams1D(Exec, Node, To, From, Size, Kind);
  if (!E)
    TapSession::get().graphs().change(
        Exec, Node, [&](TappedGraphs &G, TappedGraph &, CUgraphNode Copy) {
          CudaMemcpy3DParms P = {};
          P.Dst = {To, Size, Size, 1};
          P.Src = {const_cast<void *>(From), Size, Size, 1};
          P.Extent = {Size, 1, 1};
          P.Kind = Kind;
          return G.changeCopy(Copy, P);
        });
  return E;
}

static int onGraphNodeSetEnabled(const CudaRuntime &R, CUgraphExec Exec,
                                 CUgraphNode Node, unsigned IsEnabled) {
  int E = R.GraphNodeSetEnabled(Exec, Node, IsEnabled);
  if (!E)
    TapSession::get().graphs().change(
        Exec, Node, [&](TappedGraphs &, TappedGraph &T, CUgraphNode Copy) {
          if (IsEnabled)
            T.Disabled.erase(Copy);
          else
            T.Disabled.insert(Copy);
          return true;
        });
  return E;
}

static int onGraphLaunch(const CudaRuntime &R, CUgraphExec Graph,
                         CudaStream *S) {
  return TapSession::get().graphLaunches().launch(
      R, Graph, toDriver(S), [&] { return R.GraphLaunch(Graph, S); });
}

static int onGraphLaunchPtsz(const CudaRuntime &R, CUgraphExec Graph,
                             CudaStream *S) {
  return TapSession::get().graphLaunches().launch(
      R, Graph, toDriverPtsz(S), [&] { return R.GraphLaunchPtsz(Graph, S); });
}

static int onDeviceEnablePeerAccess(const CudaRuntime &R, int Peer,
                                    unsigned Flags) {
  int E = R.DeviceEnablePeerAccess(Peer, Flags);
  // Now both have contexts.
  TapSession::get().devices().connect(R);
  return E;
}

static int onDriverCtxEnablePeerAccess(const CudaRuntime &R, CUcontext Peer,
                                       unsigned Flags) {
  int E = R.DriverCtxEnablePeerAccess(Peer, Flags);
  TapSession::get().devices().connect(R);
  return E;
}

static int onCreateTextureObject(const CudaRuntime &R,
                                 unsigned long long *Handle,
                                 const CudaResourceDesc *Resource,
                                 const CudaTextureDesc *D, const void *View) {
  int E = R.CreateTextureObject(Handle, Resource, D, View);
  if (!E)
    TapSession::get().textures().note(*Handle,
                                      {*Resource, *D, false, View != nullptr});
  return E;
}

static int onDestroyTextureObject(const CudaRuntime &R,
                                  unsigned long long Handle) {
  TapSession::get().textures().forget(Handle, /*IsSurface=*/false);
  return R.DestroyTextureObject(Handle);
}

static int onCreateSurfaceObject(const CudaRuntime &R,
                                 unsigned long long *Handle,
                                 const CudaResourceDesc *Resource) {
  int E = R.CreateSurfaceObject(Handle, Resource);
  if (!E)
    TapSession::get().textures().note(*Handle, {*Resource, {}, true, false});
  return E;
}

static int onDestroySurfaceObject(const CudaRuntime &R,
                                  unsigned long long Handle) {
  TapSession::get().textures().forget(Handle, /*IsSurface=*/true);
  return R.DestroySurfaceObject(Handle);
}

static int onDeviceReset(const CudaRuntime &R) {
  TapSession::get().reset();
  return R.DeviceReset();
}

static int onProfilerStart(const CudaRuntime &R) {
  setProfiled(true);
  return R.ProfilerStart();
}

static int onProfilerStop(const CudaRuntime &R) {
  setProfiled(false);
  return R.ProfilerStop();
}

#ifndef MNEME_HIP
static int onDriverProfilerStart(const CudaRuntime &R) {
  setProfiled(true);
  return R.DriverProfilerStart();
}

static int onDriverProfilerStop(const CudaRuntime &R) {
  setProfiled(false);
  return R.DriverProfilerStop();
}
#endif

static int onGetLastError(const CudaRuntime &) { return LastError::get(); }

static int onPeekAtLastError(const CudaRuntime &) { return LastError::peek(); }

#include "InterceptedRuntimes.inc"

MNEME_EXPORT void __mneme_annotate(const void *Ptr, uint64_t Bytes,
                                   uint32_t DType, uint32_t Tolerance,
                                   double Value, uint32_t Norm,
                                   const char *Tag) {
  if (!attempt([&] {
        TapSession::get().memory().annotate({reinterpret_cast<uint64_t>(Ptr),
                                             Bytes, DType, Tolerance, Norm,
                                             Value, Tag ? Tag : ""});
      }))
    tell("mneme: warning: an annotation is lost: out of memory\n");
}

MNEME_EXPORT int __mneme_register_ir(const void *Image, size_t ImageSize,
                                     const char *Symbol, const void *IR,
                                     size_t IRSize, const char *Options) {
  return Selection::get().includesRank() &&
         registerIR(Image, ImageSize, Symbol, IR, IRSize, Options);
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// The functions that mneme/annotate.h and mneme/record.h call.
static void *findInterface(const char *Name) {
  if (!strcmp(Name, "__mneme_annotate"))
    return reinterpret_cast<void *>(__mneme_annotate);
  if (!strcmp(Name, "__mneme_register_ir"))
    return reinterpret_cast<void *>(__mneme_register_ir);
  return findRegionFunction(Name);
}

void mneme::patchSlots(MnemeHook *Begin, MnemeHook *End) {
  // Calls of a rank that is not recorded are not intercepted.
  if (!Selection::get().includesRank())
    return;
  for (MnemeHook *H = Begin; H < End; ++H) {
    // Linkers pad merged sections with zeros.
    if (!H->Name)
      continue;
    if (!H->Fn) {
      H->Fn = findInterface(H->Name);
      continue;
    }
    patchSlot(*H, Begin);
  }
}
