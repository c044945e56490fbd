//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the lowering passes share: the layouts that the executor fixes
/// (HostExec.h), the placeholders that the passes speak in (HostPasses.h), and
/// builders for code that several of them emit.
///
/// How a strategy pass (loop, region, coroutine, fiber) behaves: for each
/// function with KernelAttr it either calls createEntry, fills the entry, and
/// ends with retireKernel; or leaves the kernel alone and calls setReason with
/// why it does not apply. So "is there still a kernel" tells whether the next
/// strategy must run.
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

/// A field of the structure at \p Base. \p Invariant: it does not change while
/// a kernel runs, so that the load may move freely.
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
inline constexpr StringLiteral CooperativeAttr = "mneme-cooperative";
inline constexpr StringLiteral ReasonAttr = "mneme-reason";
inline constexpr StringLiteral OrderedAttr = "mneme-ordered";

/// On a function that a pointer from device memory may mean, although nothing
/// that the kernel mentions takes its address.
inline constexpr StringLiteral IndirectAttr = "mneme-indirect";

/// What a pointer to \p F is in every image and in device memory: addresses of
/// code differ between images, and data outlives them. Made of the name alone;
/// no address that could be called or read by mistake.
uint64_t getFunctionHandle(const Function &F);
/// May a pointer mean \p F?
bool isPointerTarget(const Function &F);
/// Does \p F call through pointers?
bool hasIndirectCall(const Function &F);

/// Marks a plain access that was a shared memory atomic.
inline constexpr StringLiteral SharedAccessMD = "mneme.shared";

/// The kernels that are still to be turned into entries.
SmallVector<Function *, 4> findKernels(Module &M);
/// An integer attribute, or \p Default when \p F does not have it.
uint64_t getIntAttr(const Function &F, StringRef Name, uint64_t Default = 0);
void setIntAttr(Function &F, StringRef Name, uint64_t Value);
/// Says why a strategy does not apply to \p Kernel. A later reason is appended.
void setReason(Function &Kernel, const Twine &Reason);
/// Lanes of a wave: the attribute that HostNormalize sets.
unsigned getWaveSize(const Function &Kernel);

/// An empty function mneme.entry.<kernel> with the kernel's "mneme-*" facts,
/// the host's target attributes and \p Strategy ("loop", "region", "coroutine",
/// "fiber") as EntryAttr. \p Ty takes (block or thread, array of argument
/// pointers).
Function *createEntry(Function &Kernel, FunctionType *Ty, StringRef Strategy);
/// The kernel has its entry: an ordinary internal function from here on, gone
/// when nothing uses it.
void retireKernel(Function &Kernel);
/// Gives \p F the CPU and features of this machine.
void setHostTarget(Function &F);

/// The kernel's parameters, read through \p Args (void **). What a by-value
/// parameter points to stays where it is: call the kernel with copyParamAttrs,
/// and inlining makes the thread's own copy.
SmallVector<Value *, 8> loadArguments(IRBuilderBase &B, const Function &Kernel,
                                      Value *Args);
/// Calls \p Kernel with \p Args so that it can be inlined at once.
CallInst *callKernel(IRBuilderBase &B, Function &Kernel,
                     ArrayRef<Value *> Args);

/// Functions with a body that \p Root may call, \p Root first. An indirect call
/// may reach every function whose address is taken.
SetVector<Function *> findReachable(Function &Root);

//===----------------------------------------------------------------------===//
// Placeholders
//===----------------------------------------------------------------------===//

/// Declares (once) the placeholder mneme.host.<Name>; see HostPasses.h.
/// \p Name is one that list knows, such as "tid.x" or "sync".
FunctionCallee getPlaceholder(Module &M, StringRef Name);
/// "tid.x" for a call of @mneme.host.tid.x, empty for anything else.
StringRef getPlaceholderName(const Value &V);
CallInst *createPlaceholder(IRBuilderBase &B, StringRef Name,
                            ArrayRef<Value *> Args = {});

/// Reads a call of @mneme.host.sync.
class SyncCall {
  CallInst *Call;

public:
  explicit SyncCall(CallInst *Call) : Call(Call) {}
  static bool classof(const Value *V) {
    return getPlaceholderName(*V) == "sync";
  }
  CallInst *getCall() const { return Call; }
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

/// Calls of any placeholder in \p F, in program order.
SmallVector<CallInst *, 16> findPlaceholders(Function &F);
/// Calls of @mneme.host.sync in \p F, in program order.
SmallVector<CallInst *, 8> findSyncs(Function &F);

/// Emits a sync point; operands left null are zero, a null mask is all ones.
/// The site is 0 until renumberSites has run.
CallInst *createSync(IRBuilderBase &B, unsigned Op, unsigned Mode = 0,
                     Value *Mask = nullptr, Value *V = nullptr,
                     Value *OperandB = nullptr, Value *OperandC = nullptr);
/// Numbers all sync points of the module in program order, from 1.
void renumberSites(Module &M);

/// A value as the 64 bits of a sync operand, and back.
Value *toBits64(IRBuilderBase &B, Value *V);
Value *fromBits64(IRBuilderBase &B, Value *Bits, Type *Ty);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Is \p Ptr known to point to shared memory, or possibly pointing there?
bool isShared(const Value *Ptr);
bool mayBeShared(const Value *Ptr);
/// Atomics on what is known to be shared memory become plain accesses that
/// carry SharedAccessMD.
void makeSharedAtomicsPlain(Function &F);

//===----------------------------------------------------------------------===//
// Code that strategies emit
//===----------------------------------------------------------------------===//

/// Values that stand for placeholders in one function. Null: leave the
/// placeholder.
struct ThreadValues {
  std::array<Value *, 3> Tid{}, NTid{}, CTAId{}, NCTAId{};
  Value *LaneId = nullptr, *WarpId = nullptr;
  Value *Shared = nullptr, *DynShared = nullptr, *DynSize = nullptr;
  Value *ImplicitArg = nullptr;

  /// The value for the placeholder \p Name, or null.
  Value *lookup(StringRef Name) const;
};

/// Loads everything that is the same for all threads of the block at \p Block.
/// \p Kernel's static shared memory, if known, makes DynShared a constant.
ThreadValues loadBlockValues(IRBuilderBase &B, Value *Block,
                             const Function *Kernel = nullptr);
/// Adds what one thread knows of itself, from its MnemeHostThread.
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
/// Builds them behind \p B's position (an unterminated block) and leaves \p B
/// in Body behind Linear.
ThreadLoops createThreadLoops(IRBuilderBase &B, const ThreadValues &V);

/// Tells the vectorizer that the loop whose branch is \p LatchBranch has no
/// dependence between iterations through memory in \p Blocks. Leaves out
/// accesses marked SharedAccessMD, atomics, and accesses to allocas.
void markParallel(Instruction *LatchBranch, ArrayRef<BasicBlock *> Blocks);

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_HOSTABI_H
