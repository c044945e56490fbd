//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that the lowering passes share: the layouts that the executor defines
/// (HostExec.h), the placeholders between passes (HostPasses.h), and builders
/// for code that several passes emit.
///
/// A strategy pass (loop, region, coroutine, fiber) handles each function with
/// KernelAttr. Either it calls createEntry, fills the entry, and calls
/// retireKernel; or it leaves the kernel unchanged and calls setReason with the
/// reason why it does not apply. If a kernel remains, the next strategy must
/// run.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_HOST_HOSTABI_H
#define LLVM_MNEME_LIB_DEVICE_HOST_HOSTABI_H

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include <array>
#include <cstddef>
#include <optional>

namespace llvm {
class Module;
namespace mneme {
namespace host {

/// The address space of shared memory, on NVPTX and AMDGPU.
inline constexpr unsigned SharedAS = 3;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Byte offsets in MnemeHostThread and MnemeHostBlock.
enum ThreadField : unsigned {
  ThreadIdx = 0,
  ThreadLinear = 12,
  ThreadBlock = 16,
  ThreadValue = 24,
  ThreadResult = 32,
  ThreadOp = 40,
  ThreadMode = 44,
  ThreadMask = 48,
  ThreadB = 56,
  ThreadC = 60,
  ThreadSite = 64,
  ThreadResult2 = 72,
  ThreadHandle = 80,
};
enum BlockField : unsigned {
  BlockDim = 0,
  BlockIdx = 12,
  BlockGridDim = 24,
  BlockNumThreads = 36,
  BlockShared = 40,
  BlockDynamicOffset = 48,
  BlockDynamicSize = 52,
  BlockThreads = 56,
  BlockContext = 64,
  BlockFrames = 72,
  BlockFramesUsed = 80,
  BlockImplicitArgs = 96,
};

#define MNEME_CHECK_FIELD(TYPE, MEMBER, OFFSET)                                \
  static_assert(offsetof(TYPE, MEMBER) == OFFSET,                              \
                #TYPE "::" #MEMBER " has moved")
MNEME_CHECK_FIELD(MnemeHostThread, ThreadIdx, ThreadIdx);
MNEME_CHECK_FIELD(MnemeHostThread, Linear, ThreadLinear);
MNEME_CHECK_FIELD(MnemeHostThread, Block, ThreadBlock);
MNEME_CHECK_FIELD(MnemeHostThread, Value, ThreadValue);
MNEME_CHECK_FIELD(MnemeHostThread, Result, ThreadResult);
MNEME_CHECK_FIELD(MnemeHostThread, Op, ThreadOp);
MNEME_CHECK_FIELD(MnemeHostThread, Mode, ThreadMode);
MNEME_CHECK_FIELD(MnemeHostThread, Mask, ThreadMask);
MNEME_CHECK_FIELD(MnemeHostThread, B, ThreadB);
MNEME_CHECK_FIELD(MnemeHostThread, C, ThreadC);
MNEME_CHECK_FIELD(MnemeHostThread, Site, ThreadSite);
MNEME_CHECK_FIELD(MnemeHostThread, Result2, ThreadResult2);
MNEME_CHECK_FIELD(MnemeHostThread, Handle, ThreadHandle);
static_assert(sizeof(MnemeHostThread) == 128, "MnemeHostThread has grown");
MNEME_CHECK_FIELD(MnemeHostBlock, BlockDim, BlockDim);
MNEME_CHECK_FIELD(MnemeHostBlock, BlockIdx, BlockIdx);
MNEME_CHECK_FIELD(MnemeHostBlock, GridDim, BlockGridDim);
MNEME_CHECK_FIELD(MnemeHostBlock, NumThreads, BlockNumThreads);
MNEME_CHECK_FIELD(MnemeHostBlock, Shared, BlockShared);
MNEME_CHECK_FIELD(MnemeHostBlock, DynamicOffset, BlockDynamicOffset);
MNEME_CHECK_FIELD(MnemeHostBlock, DynamicSize, BlockDynamicSize);
MNEME_CHECK_FIELD(MnemeHostBlock, Threads, BlockThreads);
MNEME_CHECK_FIELD(MnemeHostBlock, Context, BlockContext);
MNEME_CHECK_FIELD(MnemeHostBlock, Frames, BlockFrames);
MNEME_CHECK_FIELD(MnemeHostBlock, FramesUsed, BlockFramesUsed);
MNEME_CHECK_FIELD(MnemeHostBlock, ImplicitArgs, BlockImplicitArgs);
#undef MNEME_CHECK_FIELD

/// Loads a field of the structure at \p Base. An \p Invariant field does not
/// change while a kernel runs, so the load may be moved freely.
LoadInst *loadField(IRBuilderBase &B, Value *Base, unsigned Offset, Type *Ty,
                    const Twine &Name = "", bool Invariant = true);
StoreInst *storeField(IRBuilderBase &B, Value *V, Value *Base, unsigned Offset);
Value *fieldAddress(IRBuilderBase &B, Value *Base, unsigned Offset,
                    const Twine &Name = "");

//===----------------------------------------------------------------------===//
// Attributes of kernels and entries
//===----------------------------------------------------------------------===//

inline constexpr StringLiteral KernelAttr = "mneme-kernel";
inline constexpr StringLiteral EntryAttr = "mneme-entry";
inline constexpr StringLiteral StaticSharedAttr = "mneme-static-shared";
inline constexpr StringLiteral WaveSizeAttr = "mneme-wave-size";
inline constexpr StringLiteral ContextSizeAttr = "mneme-context-size";
inline constexpr StringLiteral ReasonAttr = "mneme-reason";
inline constexpr StringLiteral OrderedAttr = "mneme-ordered";

/// On a function that a pointer from device memory may denote, although no code
/// that the kernel mentions takes its address.
inline constexpr StringLiteral IndirectAttr = "mneme-indirect";

/// \returns the value of a pointer to \p F in every image and in device memory.
/// Addresses of code differ between images, and data outlives images, so the
/// handle depends only on the name. It is not an address that could be called
/// or loaded from by mistake.
uint64_t getFunctionHandle(const Function &F);
/// \returns whether a pointer may denote \p F.
bool isPointerTarget(const Function &F);
/// \returns whether \p F calls through pointers.
bool hasIndirectCall(const Function &F);

/// Marks a plain access that was a shared memory atomic.
inline constexpr StringLiteral SharedAccessMD = "mneme.shared";

/// \returns the kernels that have no entries yet.
SmallVector<Function *, 4> findKernels(Module &M);
/// \returns an integer attribute, or \p Default if \p F does not have it.
uint64_t getIntAttr(const Function &F, StringRef Name, uint64_t Default = 0);
void setIntAttr(Function &F, StringRef Name, uint64_t Value);
/// Records why a strategy does not apply to \p Kernel. Later reasons are
/// appended.
void setReason(Function &Kernel, const Twine &Reason);
/// \returns the number of lanes of a wave, as set by HostNormalize.
unsigned getWaveSize(const Function &Kernel);

/// Creates an empty function mneme.entry.<kernel> with the kernel's "mneme-*"
/// attributes, the host's target attributes and \p Strategy ("loop", "region",
/// "coroutine", "fiber") as EntryAttr. The parameters of \p Ty are the block or
/// thread, and the array of argument pointers.
Function *createEntry(Function &Kernel, FunctionType *Ty, StringRef Strategy);
/// Makes a kernel that has its entry an ordinary internal function, which is
/// removed when it is unused.
void retireKernel(Function &Kernel);
/// Gives \p F the CPU and features of this machine.
void setHostTarget(Function &F);

/// Loads the kernel's parameters through \p Args (void **). The data of a
/// by-value parameter is not copied. Call the kernel with callKernel, so that
/// inlining makes each thread's own copy.
SmallVector<Value *, 8> loadArguments(IRBuilderBase &B, const Function &Kernel,
                                      Value *Args);
/// Calls \p Kernel with \p Args so that it can be inlined at once.
CallInst *callKernel(IRBuilderBase &B, Function &Kernel,
                     ArrayRef<Value *> Args);

/// \returns the functions with a body that \p Root may call, \p Root first. An
/// indirect call may reach every function whose address is taken.
SetVector<Function *> findReachable(Function &Root);

//===----------------------------------------------------------------------===//
// Placeholders
//===----------------------------------------------------------------------===//

/// Declares the placeholder mneme.host.<Name> if necessary. HostPasses.h lists
/// the valid names, such as "tid.x" or "sync".
FunctionCallee getPlaceholder(Module &M, StringRef Name);
/// \returns "tid.x" for a call of @mneme.host.tid.x, and "" for other values.
StringRef getPlaceholderName(const Value &V);
CallInst *createPlaceholder(IRBuilderBase &B, StringRef Name,
                            ArrayRef<Value *> Args = {});

/// A call of @mneme.host.sync with its operands.
class SyncCall {
  CallInst *Call;

public:
  explicit SyncCall(CallInst *Call) : Call(Call) {}
  static bool classof(const Value *V) {
    return getPlaceholderName(*V) == "sync";
  }
  unsigned getOp() const { return constant(0); }
  unsigned getMode() const { return constant(1); }
  Value *getMask() const { return Call->getArgOperand(2); }
  Value *getValue() const { return Call->getArgOperand(3); }
  Value *getB() const { return Call->getArgOperand(4); }
  Value *getC() const { return Call->getArgOperand(5); }
  unsigned getSite() const { return constant(6); }

private:
  unsigned constant(unsigned I) const {
    return cast<ConstantInt>(Call->getArgOperand(I))->getZExtValue();
  }
};

/// \returns the calls of placeholders in \p F, in program order.
SmallVector<CallInst *, 16> findPlaceholders(Function &F);
/// \returns the calls of @mneme.host.sync in \p F, in program order.
SmallVector<CallInst *, 8> findSyncs(Function &F);

/// Emits a sync point. Null operands are zero, a null mask is all ones. The
/// site is 0 until renumberSites has run.
CallInst *createSync(IRBuilderBase &B, unsigned Op, unsigned Mode = 0,
                     Value *Mask = nullptr, Value *V = nullptr,
                     Value *OperandB = nullptr, Value *OperandC = nullptr);
/// Numbers all sync points of the module in program order, from 1.
void renumberSites(Module &M);

/// Convert a value to the 64 bits of a sync operand, and back.
Value *toBits64(IRBuilderBase &B, Value *V);
Value *fromBits64(IRBuilderBase &B, Value *Bits, Type *Ty);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// \returns whether \p Ptr is known to point to shared memory, or may do so.
bool isShared(const Value *Ptr);
bool mayBeShared(const Value *Ptr);
/// Replaces atomics on known shared memory by plain accesses with
/// SharedAccessMD.
void makeSharedAtomicsPlain(Function &F);

//===----------------------------------------------------------------------===//
// Code that strategies emit
//===----------------------------------------------------------------------===//

/// Values that replace placeholders in one function. Placeholders with a null
/// value remain.
struct ThreadValues {
  std::array<Value *, 3> Tid{}, NTid{}, CTAId{}, NCTAId{};
  Value *LaneId = nullptr, *WarpId = nullptr;
  Value *Shared = nullptr, *DynShared = nullptr, *DynSize = nullptr;
  Value *ImplicitArg = nullptr;

  /// The value for the placeholder \p Name, or null.
  Value *lookup(StringRef Name) const;
};

/// Loads the values that are the same for all threads of the block at \p Block.
/// DynShared is a constant if the static shared memory of \p Kernel is known.
ThreadValues loadBlockValues(IRBuilderBase &B, Value *Block,
                             const Function *Kernel = nullptr);
/// Adds the values of one thread, from its MnemeHostThread.
void loadThreadValues(IRBuilderBase &B, Value *Thread, unsigned WaveSize,
                      ThreadValues &V);
/// Sets LaneId and WarpId from the thread's linear index.
void setLane(IRBuilderBase &B, Value *Linear, unsigned WaveSize,
             ThreadValues &V);
/// Replaces the placeholders in \p F that \p V has a value for.
void replacePlaceholders(Function &F, const ThreadValues &V);

/// Three nested loops over the threads of a block, x innermost.
struct ThreadLoops {
  BasicBlock *Body = nullptr;  ///< Emit one thread here; has no terminator.
  BasicBlock *Latch = nullptr; ///< Where the thread's code must branch.
  BasicBlock *Exit = nullptr;  ///< After the last thread; empty.
  std::array<PHINode *, 3> Tid{};
  Value *Linear = nullptr;            ///< i32, computed in Body.
  Instruction *LatchBranch = nullptr; ///< The x loop's: takes !llvm.loop.
};
/// Builds the loops after \p B's position (an unterminated block) and leaves \p
/// B in Body after Linear.
ThreadLoops createThreadLoops(IRBuilderBase &B, const ThreadValues &V);

/// Tells the vectorizer that iterations of the loop with branch \p LatchBranch
/// do not depend on each other through memory in \p Blocks. Excludes accesses
/// with SharedAccessMD, atomics, and accesses to allocas.
void markParallel(Instruction *LatchBranch, ArrayRef<BasicBlock *> Blocks);

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_HOSTABI_H
