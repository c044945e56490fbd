//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory, synchronization and control instructions. Synchronization and control
// become the intrinsics that HostIntrinsics lowers next.
//
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostAsync.h"
#include "PTXTranslator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;
using namespace llvm::mneme::ptx;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static unsigned getVectorSize(const Statement &S) {
  return S.has("v8") ? 8 : S.has("v4") ? 4 : S.has("v2") ? 2 : 1;
}

void Translator::lowerLoad() {
  PTXType T = suffix();
  Type *Ty = typeOf(T);
  Value *P = address(1);
  const Operand *To = operand(0);
  unsigned Count = getVectorSize(*S);
  if (!To || (Count > 1 && To->Elements.size() != Count)) {
    Failed = true;
    return;
  }
  unsigned Bytes = M.getDataLayout().getTypeStoreSize(Ty);
  for (unsigned I = 0; I != Count; ++I) {
    LoadInst *V = B.CreateAlignedLoad(
        Ty, I ? B.CreateConstGEP1_32(B.getInt8Ty(), P, I * Bytes) : P,
        Align(Bytes), has("volatile"));
    if (has("acquire") || has("relaxed") || has("mmio"))
      V->setAtomic(has("acquire") ? AtomicOrdering::Acquire
                                  : AtomicOrdering::Monotonic);
    writeOperand(Count > 1 ? To->Elements[I] : *To, V, T.isSigned());
  }
}

void Translator::lowerStore() {
  PTXType T = suffix();
  Type *Ty = typeOf(T);
  Value *P = address(0);
  const Operand *From = operand(1);
  unsigned Count = getVectorSize(*S);
  const bool IsAsync = has("async"); // Stores at once, to any block.
  if (!From || has("bulk") || S->Operands.size() != (IsAsync ? 3 : 2) ||
      (Count > 1 && From->Elements.size() != Count)) {
    Failed = true;
    return;
  }
  unsigned Bytes = M.getDataLayout().getTypeStoreSize(Ty);
  for (unsigned I = 0; I != Count; ++I) {
    Value *V = readOperand(Count > 1 ? From->Elements[I] : *From, Ty);
    StoreInst *Store = B.CreateAlignedStore(
        V, I ? B.CreateConstGEP1_32(B.getInt8Ty(), P, I * Bytes) : P,
        Align(Bytes), has("volatile"));
    if (has("release") || has("relaxed") || has("mmio"))
      Store->setAtomic(has("release") ? AtomicOrdering::Release
                                      : AtomicOrdering::Monotonic);
  }
  if (IsAsync) {
    BarrierOperation Arrived;
    Arrived.Kind = BarrierOperation::Complete;
    createBarrier(B, Arrived, address(2), B.getInt32(Count * Bytes));
  }
}

void Translator::lowerAtomic() {
  PTXType T = suffix();
  bool HasResult = opcode() == "atom";
  unsigned I = HasResult ? 1 : 0;
  Value *P = address(I);
  Type *Ty = typeOf(T);
  if (unsigned Count = getVectorSize(*S); Count > 1)
    return lowerVectorAtomic(P, I, Count);
  if (T.Bits < 16 || T.Bits > 64 || has("async")) {
    Failed = true;
    return;
  }
  Value *V = read(I + 1, Ty), *R;
  constexpr auto Order = AtomicOrdering::SequentiallyConsistent;
  if (has("cas")) {
    Type *IntTy = B.getIntNTy(T.Bits);
    Value *Pair = B.CreateAtomicCmpXchg(
        P, read(I + 1, IntTy), read(I + 2, IntTy), MaybeAlign(), Order, Order);
    R = B.CreateExtractValue(Pair, 0);
  } else if (T.isHalf()) {
    Failed |= !has("add");
    R = callPTX("atom_add_" + T.halfName() + (T.Pair ? "x2" : ""), {P, V}, Ty);
  } else {
    bool IsFloat = T.Kind == PTXType::Float, IsSigned = T.isSigned();
    auto Op =
        has("add")    ? (IsFloat ? AtomicRMWInst::FAdd : AtomicRMWInst::Add)
        : has("exch") ? AtomicRMWInst::Xchg
        : has("min")  ? (IsSigned ? AtomicRMWInst::Min : AtomicRMWInst::UMin)
        : has("max")  ? (IsSigned ? AtomicRMWInst::Max : AtomicRMWInst::UMax)
        : has("inc")  ? AtomicRMWInst::UIncWrap
        : has("dec")  ? AtomicRMWInst::UDecWrap
        : has("and")  ? AtomicRMWInst::And
        : has("or")   ? AtomicRMWInst::Or
        : has("xor")  ? AtomicRMWInst::Xor
                      : AtomicRMWInst::BAD_BINOP;
    if (Op == AtomicRMWInst::BAD_BINOP ||
        (IsFloat && Op != AtomicRMWInst::FAdd && Op != AtomicRMWInst::Xchg)) {
      Failed = true;
      return;
    }
    R = B.CreateAtomicRMW(Op, P, V, MaybeAlign(), Order);
  }
  if (HasResult)
    write(R, T.isSigned());
}

/// atom.add.v2.f32 {a, b}, [p], {c, d}: each element is a separate atomic.
void Translator::lowerVectorAtomic(Value *P, unsigned AddressIndex,
                                   unsigned Count) {
  PTXType T = suffix();
  const Operand *To = AddressIndex ? operand(0) : nullptr;
  const Operand *From = operand(AddressIndex + 1);
  if (T.Kind != PTXType::Float || !has("add") || !From ||
      From->Elements.size() != Count || (To && To->Elements.size() != Count)) {
    Failed = true;
    return;
  }
  for (unsigned I = 0; I != Count; ++I) {
    Value *R = B.CreateAtomicRMW(
        AtomicRMWInst::FAdd,
        B.CreateConstGEP1_32(B.getInt8Ty(), P, I * T.Bits / 8),
        readOperand(From->Elements[I], typeOf(T)), MaybeAlign(),
        AtomicOrdering::SequentiallyConsistent);
    if (To)
      writeOperand(To->Elements[I], R, false);
  }
}

void Translator::lowerFence() {
  if (has("proxy") || has("mbarrier_init"))
    return;
  bool IsBlock = S->Opcode.back() == "cta";
  B.CreateIntrinsic(
      IsBlock ? Intrinsic::nvvm_membar_cta : Intrinsic::nvvm_membar_gl, {});
}

//===----------------------------------------------------------------------===//
// Synchronization and control: intrinsics, which the next pass lowers
//===----------------------------------------------------------------------===//

void Translator::lowerBarrier() {
  Type *I32 = B.getInt32Ty();
  if (has("warp")) {
    B.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, {read(0, I32)});
    return;
  }
  if (has("cluster")) {
    B.CreateIntrinsic(has("wait") ? Intrinsic::nvvm_barrier_cluster_wait
                                  : Intrinsic::nvvm_barrier_cluster_arrive,
                      {});
    return;
  }
  if (has("red")) {
    bool Count = S->Operands.size() == 4;
    Value *P = read(Count ? 3 : 2, B.getInt1Ty());
    Intrinsic::ID ID;
    if (has("popc"))
      ID = Count ? Intrinsic::nvvm_barrier_cta_red_popc_count
                 : Intrinsic::nvvm_barrier_cta_red_popc_all;
    else if (has("and"))
      ID = Count ? Intrinsic::nvvm_barrier_cta_red_and_count
                 : Intrinsic::nvvm_barrier_cta_red_and_all;
    else
      ID = Count ? Intrinsic::nvvm_barrier_cta_red_or_count
                 : Intrinsic::nvvm_barrier_cta_red_or_all;
    SmallVector<Value *, 3> Args = {read(1, I32)};
    if (Count)
      Args.push_back(read(2, I32));
    Args.push_back(P);
    return write(B.CreateIntrinsic(ID, Args));
  }
  SmallVector<Value *, 2> Args = {read(0, I32)};
  if (S->Operands.size() > 1)
    Args.push_back(read(1, I32));
  Intrinsic::ID ID = has("arrive") ? Intrinsic::nvvm_barrier_cta_arrive_count
                     : Args.size() == 2 ? Intrinsic::nvvm_barrier_cta_sync_count
                                        : Intrinsic::nvvm_barrier_cta_sync_all;
  if (has("arrive") && Args.size() != 2) {
    Failed = true;
    return;
  }
  B.CreateIntrinsic(ID, Args);
}

void Translator::lowerShuffle() {
  Type *I32 = B.getInt32Ty();
  bool Masked = has("sync");
  const Operand *To = operand(0);
  SmallVector<Value *, 4> Args;
  if (Masked)
    Args.push_back(read(4, I32));
  for (unsigned I = 1; I != 4; ++I)
    Args.push_back(read(I, I32));
  Intrinsic::ID ID =
      has("up")     ? (Masked ? Intrinsic::nvvm_shfl_sync_up_i32p
                              : Intrinsic::nvvm_shfl_up_i32p)
      : has("down") ? (Masked ? Intrinsic::nvvm_shfl_sync_down_i32p
                              : Intrinsic::nvvm_shfl_down_i32p)
      : has("bfly") ? (Masked ? Intrinsic::nvvm_shfl_sync_bfly_i32p
                              : Intrinsic::nvvm_shfl_bfly_i32p)
                    : (Masked ? Intrinsic::nvvm_shfl_sync_idx_i32p
                              : Intrinsic::nvvm_shfl_idx_i32p);
  if (Failed)
    return;
  Value *R = B.CreateIntrinsic(ID, Args);
  store(To->Text, B.CreateExtractValue(R, 0), false);
  if (!To->Second.empty())
    store(To->Second, B.CreateExtractValue(R, 1), false);
}

void Translator::lowerVote() {
  bool Masked = has("sync");
  SmallVector<Value *, 2> Args;
  if (Masked)
    Args.push_back(read(2, B.getInt32Ty()));
  Args.push_back(read(1, B.getInt1Ty()));
  Intrinsic::ID ID =
      has("ballot") ? (Masked ? Intrinsic::nvvm_vote_ballot_sync
                              : Intrinsic::nvvm_vote_ballot)
      : has("any")
          ? (Masked ? Intrinsic::nvvm_vote_any_sync : Intrinsic::nvvm_vote_any)
      : has("all")
          ? (Masked ? Intrinsic::nvvm_vote_all_sync : Intrinsic::nvvm_vote_all)
          : (Masked ? Intrinsic::nvvm_vote_uni_sync : Intrinsic::nvvm_vote_uni);
  write(B.CreateIntrinsic(ID, Args));
}

void Translator::lowerMatch() {
  PTXType T = suffix();
  if (T.Kind != PTXType::Untyped || T.Pair || T.Bits < 32 || T.Bits > 64) {
    Failed = true;
    return;
  }
  Value *Mask = read(2, B.getInt32Ty()), *V = read(1, T);
  bool Long = T.Bits == 64;
  if (has("any"))
    return write(B.CreateIntrinsic(Long ? Intrinsic::nvvm_match_any_sync_i64
                                        : Intrinsic::nvvm_match_any_sync_i32,
                                   {Mask, V}));
  Value *R = B.CreateIntrinsic(Long ? Intrinsic::nvvm_match_all_sync_i64p
                                    : Intrinsic::nvvm_match_all_sync_i32p,
                               {Mask, V});
  write(B.CreateExtractValue(R, 0));
  if (operand(0) && !operand(0)->Second.empty())
    store(operand(0)->Second, B.CreateExtractValue(R, 1), false);
}

void Translator::lowerRedux() {
  PTXType T = suffix();
  std::string Name = "llvm.nvvm.redux.sync.";
  bool IsFloat = T.Kind == PTXType::Float;
  for (StringRef Op : {"add", "min", "max", "and", "or", "xor"})
    if (has(Op))
      Name += ((IsFloat                                              ? "f"
                : T.Kind == PTXType::Unsigned && Op.starts_with("m") ? "u"
                                                                     : "") +
               Op)
                  .str();
  if (has("abs"))
    Name += ".abs";
  if (has("NaN"))
    Name += ".NaN";
  Intrinsic::ID ID = Intrinsic::lookupIntrinsicID(Name);
  if (ID == Intrinsic::not_intrinsic || T.Bits != 32 || T.Pair) {
    Failed = true;
    return;
  }
  write(B.CreateIntrinsic(ID, {read(1, T), read(2, B.getInt32Ty())}));
}

void Translator::lowerActiveMask() {
  write(B.CreateIntrinsic(Intrinsic::nvvm_activemask, {}));
}

void Translator::lowerElect() {
  Value *R =
      B.CreateIntrinsic(Intrinsic::nvvm_elect_sync, {read(1, B.getInt32Ty())});
  write(B.CreateExtractValue(R, 0));
  if (operand(0) && !operand(0)->Second.empty())
    store(operand(0)->Second, B.CreateExtractValue(R, 1), false);
}

void Translator::lowerBranch() {
  const Operand *To = operand(0);
  BasicBlock *Target =
      To && To->Kind == Operand::Name ? Labels.lookup(To->Text) : nullptr;
  if (!Target) {
    Failed = true;
    return;
  }
  B.CreateBr(Target);
  B.SetInsertPoint(BasicBlock::Create(M.getContext(), "", &F));
}

void Translator::lowerExit() { B.CreateIntrinsic(Intrinsic::nvvm_exit, {}); }

void Translator::lowerTrap() { B.CreateIntrinsic(Intrinsic::trap, {}); }

void Translator::lowerSleep() {
  B.CreateIntrinsic(Intrinsic::nvvm_nanosleep, {read(0, B.getInt32Ty())});
}
