//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostAsync.h"
#include "HostABI.h"
#include "IntrinsicLibrary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

/// Calls a function of the executor. Pointers lose their address spaces.
static Value *callExecutor(IRBuilderBase &B, StringRef Name,
                           ArrayRef<Value *> Args, Type *ResultTy = nullptr) {
  SmallVector<Value *, 6> Values;
  SmallVector<Type *, 6> Types;
  for (Value *Arg : Args) {
    if (Arg->getType()->isPointerTy())
      Arg = convertBits(B, Arg, B.getPtrTy());
    Values.push_back(Arg);
    Types.push_back(Arg->getType());
  }
  Module &M = *B.GetInsertBlock()->getModule();
  FunctionCallee Callee = M.getOrInsertFunction(
      ("__mneme_host_" + Name).str(),
      FunctionType::get(ResultTy ? ResultTy : B.getVoidTy(), Types, false));
  CallInst *Call = B.CreateCall(Callee, Values);
  Call->setDoesNotThrow();
  return Call;
}

/// \returns the thread's number in its block. Only NVPTX has asynchronous
/// copies, so a warp has 32 lanes.
static Value *createThreadNumber(IRBuilderBase &B) {
  return B.CreateAdd(B.CreateShl(createPlaceholder(B, "warpid"), 5),
                     createPlaceholder(B, "laneid"));
}

void host::createAsyncCopy(IRBuilderBase &B, Value *To, Value *From,
                           Value *Size, Value *Read) {
  callExecutor(B, "async_copy",
               {createThreadNumber(B), B.getInt32(0), To, From, Size,
                Read ? Read : Size});
}

void host::createBulkLoad(IRBuilderBase &B, Value *To, Value *From, Value *Size,
                          Value *Barrier, Value *Blocks) {
  if (Blocks)
    callExecutor(
        B, "async_multicast",
        {To, From, Size, Barrier, B.CreateZExtOrTrunc(Blocks, B.getInt32Ty())});
  else
    callExecutor(B, "async_load", {To, From, Size, Barrier});
}

void host::createBulkStore(IRBuilderBase &B, Value *To, Value *From,
                           Value *Size) {
  callExecutor(B, "async_copy",
               {createThreadNumber(B), B.getInt32(1), To, From, Size, Size});
}

void host::createAsyncCommit(IRBuilderBase &B, bool IsBulk) {
  callExecutor(B, "async_commit", {createThreadNumber(B), B.getInt32(IsBulk)});
}

void host::createAsyncWait(IRBuilderBase &B, bool IsBulk, Value *Pending) {
  callExecutor(B, "async_wait",
               {createThreadNumber(B), B.getInt32(IsBulk), Pending});
}

void host::createAsyncArrive(IRBuilderBase &B, Value *Barrier,
                             bool IsExpected) {
  callExecutor(B, "async_arrive",
               {createThreadNumber(B), Barrier, B.getInt32(IsExpected)});
}

std::optional<BarrierOperation> host::parseBarrier(ArrayRef<StringRef> Parts) {
  BarrierOperation O;
  bool HasKind = false;
  auto Set = [&](BarrierOperation::KindTy Kind) {
    O.Kind = Kind;
    HasKind = true;
  };
  for (StringRef Part : Parts) {
    if (Part == "init")
      Set(BarrierOperation::Init);
    else if (Part == "inval")
      Set(BarrierOperation::Inval);
    else if (Part == "arrive" || Part == "arrive_drop")
      Set(BarrierOperation::Arrive);
    else if (Part.starts_with("expect") && HasKind)
      O.Expects = true;
    else if (Part.starts_with("expect"))
      Set(BarrierOperation::Expect);
    else if (Part.starts_with("complete"))
      Set(BarrierOperation::Complete);
    else if (Part.starts_with("pending"))
      Set(BarrierOperation::Pending);
    else if (Part.starts_with("test") || Part.starts_with("try"))
      Set(BarrierOperation::Test);
    else if (Part == "parity")
      O.IsParity = true;
    else if (!is_contained({"drop", "noComplete", "tx", "wait", "count", "tl",
                            "shared", "b64", "release", "acquire", "relaxed",
                            "scope", "space", "cta", "cluster"},
                           Part))
      return std::nullopt;
    O.Drops |= Part == "drop" || Part == "arrive_drop";
  }
  return HasKind ? std::optional(O) : std::nullopt;
}

Value *host::createBarrier(IRBuilderBase &B, const BarrierOperation &O,
                           Value *Barrier, Value *Operand) {
  Type *I32 = B.getInt32Ty();
  auto AsInt = [&](Value *V) { return B.CreateZExtOrTrunc(V, I32); };
  switch (O.Kind) {
  case BarrierOperation::Init:
    return callExecutor(B, "mbarrier_init", {Barrier, AsInt(Operand)});
  case BarrierOperation::Inval:
    return callExecutor(B, "mbarrier_inval", {Barrier});
  case BarrierOperation::Arrive: {
    Value *One = B.getInt32(1), *Zero = B.getInt32(0);
    Value *Given = Operand ? AsInt(Operand) : One;
    return callExecutor(B, "mbarrier_arrive",
                        {Barrier, O.Expects ? One : Given,
                         O.Expects ? Given : Zero, B.getInt32(O.Drops)},
                        B.getInt64Ty());
  }
  case BarrierOperation::Expect:
    return callExecutor(B, "mbarrier_expect", {Barrier, AsInt(Operand)});
  case BarrierOperation::Complete:
    return callExecutor(B, "mbarrier_expect",
                        {Barrier, B.CreateNeg(AsInt(Operand))});
  case BarrierOperation::Pending:
    return callExecutor(B, "mbarrier_pending", {Barrier}, I32);
  case BarrierOperation::Test: {
    // Programs test in loops, for threads that have not run yet.
    createSync(B, MNEME_OP_NONE);
    Value *State = B.CreateZExtOrTrunc(Operand, B.getInt64Ty());
    Value *R = callExecutor(B, "mbarrier_test",
                            {Barrier, State, B.getInt32(O.IsParity)}, I32);
    return B.CreateICmpNE(R, B.getInt32(0));
  }
  }
  llvm_unreachable("covered switch");
}
