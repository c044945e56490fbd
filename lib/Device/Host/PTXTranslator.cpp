//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, operands and statements. PTX registers are variables, and PTX branches
// are branches.
//
//===----------------------------------------------------------------------===//

#include "PTXTranslator.h"
#include "HostABI.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;
using namespace llvm::mneme::ptx;

//===----------------------------------------------------------------------===//
// Types and operands
//===----------------------------------------------------------------------===//

PTXType ptx::parseType(StringRef Name) {
  PTXType T;
  T.Pair = Name.consume_back("x2");
  if (Name == "pred")
    return {PTXType::Predicate, 1, false};
  if (Name.consume_front("bf"))
    T.Kind = PTXType::BFloat;
  else if (Name.consume_front("f"))
    T.Kind = PTXType::Float;
  else if (Name.consume_front("u"))
    T.Kind = PTXType::Unsigned;
  else if (Name.consume_front("s"))
    T.Kind = PTXType::Signed;
  else if (Name.consume_front("b"))
    T.Kind = PTXType::Untyped;
  if (Name.getAsInteger(10, T.Bits) || !isPowerOf2_32(T.Bits) || T.Bits < 8 ||
      T.Bits > 128)
    return {};
  if (T.Kind == PTXType::Float && T.Bits == 16)
    T.Kind = PTXType::Half;
  bool IsFloat = T.Kind == PTXType::Float || T.Kind == PTXType::BFloat;
  if (IsFloat && (T.Bits < 16 || T.Bits > 64 || (T.Bits != 16 && T.Pair) ||
                  (T.Kind == PTXType::BFloat && T.Bits != 16)))
    return {};
  return T;
}

Type *Translator::typeOf(PTXType T) {
  if (T.Kind == PTXType::Float && T.Bits >= 32)
    return T.Bits == 32 ? B.getFloatTy() : B.getDoubleTy();
  if (!T)
    Failed = true;
  return B.getIntNTy(T ? T.Bits * (T.Pair ? 2 : 1) : 32);
}

/// \returns the last part of the opcode that is a type, or the type \p FromEnd
/// before it. The type need not be the last part: min.s32.relu.
PTXType Translator::suffix(unsigned FromEnd) const {
  for (StringRef Part : reverse(drop_begin(S->Opcode)))
    if (PTXType T = parseType(Part); T && FromEnd-- == 0)
      return T;
  return {};
}

StringRef Translator::rounding(StringRef Default) const {
  for (StringRef Mode : {"rn", "rz", "rm", "rp", "rna"})
    if (has(Mode))
      return Mode;
  return Default;
}

void Translator::define(StringRef Name, Type *Ty, Value *Initial) {
  BasicBlock &Entry = F.getEntryBlock();
  AllocaInst *Slot =
      IRBuilder<>(&Entry, Entry.begin()).CreateAlloca(Ty, nullptr, Name);
  Variables[Name] = Slot;
  B.CreateStore(Initial ? Initial : Constant::getNullValue(Ty), Slot);
}

const Operand *Translator::operand(unsigned I) {
  if (I < S->Operands.size())
    return &S->Operands[I];
  Failed = true;
  return nullptr;
}

Value *Translator::load(StringRef Name, Type *Ty) {
  AllocaInst *Slot = Variables.lookup(Name);
  if (!Slot)
    return fail(Ty);
  Value *V = B.CreateLoad(Slot->getAllocatedType(), Slot);
  if (!canConvertBits(M.getDataLayout(), V->getType(), Ty))
    return fail(Ty);
  return convertBits(B, V, Ty);
}

/// \returns the address of shared memory that is reserved for the system, where
/// cooperative groups keep their state. It is a variable, laid out with the
/// others.
static Value *createReservedShared(IRBuilderBase &B, Module &M) {
  constexpr StringLiteral Name = "mneme.reserved.shared";
  constexpr unsigned Size = 1024, SharedSpace = 3;
  Type *Ty = ArrayType::get(B.getInt8Ty(), Size);
  GlobalVariable *G = M.getNamedGlobal(Name);
  if (!G) {
    G = new GlobalVariable(M, Ty, false, GlobalValue::InternalLinkage,
                           PoisonValue::get(Ty), Name, nullptr,
                           GlobalValue::NotThreadLocal, SharedSpace);
    G->setAlignment(Align(128));
  }
  return B.CreatePtrToInt(G, B.getInt32Ty());
}

Value *Translator::readSpecial(StringRef Name, Type *Ty) {
  if (Name == "%reserved_smem_offset_1" && Ty->isIntegerTy())
    return convertBits(B, createReservedShared(B, M), Ty);
  std::string Intrinsic =
      ("llvm.nvvm.read.ptx.sreg." + Name.drop_front()).str();
  llvm::replace(Intrinsic, '_', '.');
  // Only names of lane masks have a dot in place of their underscore.
  Intrinsic::ID ID = Intrinsic::lookupIntrinsicID(Intrinsic);
  if (ID == Intrinsic::not_intrinsic)
    ID = Intrinsic::lookupIntrinsicID(
        ("llvm.nvvm.read.ptx.sreg." + Name.drop_front()).str());
  if (ID == Intrinsic::not_intrinsic)
    return fail(Ty);
  return convertBits(B, B.CreateIntrinsic(ID, {}), Ty);
}

Value *Translator::readOperand(const Operand &O, Type *Ty) {
  switch (O.Kind) {
  case Operand::Integer:
    if (Ty->isIntegerTy())
      return ConstantInt::get(Ty, O.Bits, false, /*ImplicitTrunc=*/true);
    if (Ty->isPointerTy())
      return B.CreateIntToPtr(B.getInt64(O.Bits), Ty);
    return B.CreateBitCast(
        ConstantInt::get(B.getIntNTy(Ty->getPrimitiveSizeInBits()), O.Bits,
                         false, /*ImplicitTrunc=*/true),
        Ty);
  case Operand::Real:
    return Ty->isFloatingPointTy() ? ConstantFP::get(Ty, O.Number) : fail(Ty);
  case Operand::Vector: {
    // The first element is the lowest.
    unsigned Bits = Ty->getPrimitiveSizeInBits();
    if (O.Elements.empty() || Bits % O.Elements.size())
      return fail(Ty);
    unsigned Step = Bits / O.Elements.size();
    Type *IntTy = B.getIntNTy(Bits);
    Value *R = ConstantInt::get(IntTy, 0);
    for (auto [I, Element] : enumerate(O.Elements)) {
      Value *V = readOperand(Element, B.getIntNTy(Step));
      R = B.CreateOr(R, B.CreateShl(B.CreateZExt(V, IntTy), I * Step));
    }
    return convertBits(B, R, Ty);
  }
  case Operand::Name: {
    if (O.Text == "WARP_SZ" && Ty->isIntegerTy())
      return ConstantInt::get(Ty, 32);
    Value *V = O.Text.starts_with("%") && !Variables.count(O.Text)
                   ? readSpecial(O.Text, Ty)
                   : load(O.Text, Ty);
    if (O.Negated && !Ty->isIntegerTy())
      return fail(Ty);
    return O.Negated ? B.CreateNot(V) : V;
  }
  case Operand::Address:
    return fail(Ty);
  }
  llvm_unreachable("covered switch");
}

Value *Translator::read(unsigned I, Type *Ty) {
  const Operand *O = operand(I);
  return O ? readOperand(*O, Ty) : PoisonValue::get(Ty);
}

Value *Translator::address(unsigned I) {
  const Operand *O = operand(I);
  if (!O || O->Kind != Operand::Address)
    return fail(B.getPtrTy());
  Value *Base = readOperand(O->Elements.front(), B.getPtrTy());
  return O->Bits ? B.CreatePtrAdd(Base, B.getInt64(O->Bits)) : Base;
}

void Translator::store(StringRef Name, Value *V, bool IsSigned) {
  if (Name == "_")
    return;
  AllocaInst *Slot = Variables.lookup(Name);
  if (!Slot) {
    Failed = true;
    return;
  }
  Type *Ty = Slot->getAllocatedType();
  if (IsSigned && V->getType()->isIntegerTy() && Ty->isIntegerTy())
    V = B.CreateSExtOrTrunc(V, Ty);
  if (!canConvertBits(M.getDataLayout(), V->getType(), Ty)) {
    Failed = true;
    return;
  }
  B.CreateStore(convertBits(B, V, Ty), Slot);
}

void Translator::writeOperand(const Operand &O, Value *V, bool IsSigned) {
  if (O.Kind == Operand::Name)
    return store(O.Text, V, IsSigned);
  if (O.Kind != Operand::Vector || O.Elements.empty()) {
    Failed = true;
    return;
  }
  unsigned Bits = V->getType()->getPrimitiveSizeInBits();
  unsigned Step = Bits / O.Elements.size();
  V = convertBits(B, V, B.getIntNTy(Bits));
  for (auto [I, Element] : enumerate(O.Elements))
    writeOperand(Element,
                 B.CreateTrunc(B.CreateLShr(V, I * Step), B.getIntNTy(Step)),
                 IsSigned);
}

void Translator::write(Value *V, bool IsSigned) {
  if (const Operand *O = operand(0))
    writeOperand(*O, V, IsSigned);
}

Value *Translator::callLibrary(const Twine &Name, ArrayRef<Value *> Args,
                               Type *Ty) {
  SmallString<48> Buffer;
  Function *Callee = Library.declare(Name.toStringRef(Buffer));
  Value *R = Callee ? Library.call(B, Callee, Args, Ty) : nullptr;
  return R ? R : fail(Ty);
}

/// Applies \p Fn to the 16-bit elements of \p T, one or two.
Value *Translator::perHalf(PTXType T, ArrayRef<Value *> Args,
                           function_ref<Value *(ArrayRef<Value *>)> Fn) {
  if (!T.Pair)
    return Fn(Args);
  Type *I16 = B.getInt16Ty(), *I32 = B.getInt32Ty();
  SmallVector<Value *, 3> Low, High;
  for (Value *Arg : Args) {
    Low.push_back(B.CreateTrunc(Arg, I16));
    High.push_back(B.CreateTrunc(B.CreateLShr(Arg, 16), I16));
  }
  Value *Upper = B.CreateShl(B.CreateZExt(Fn(High), I32), 16);
  return B.CreateOr(B.CreateZExt(Fn(Low), I32), Upper);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Translator::translate(const Statement &Next) {
  S = &Next;
  if (Next.Kind == Statement::Declaration) {
    PTXType T = parseType(Next.Opcode.front());
    if (!T) {
      Failed = true;
      return;
    }
    Type *Ty = typeOf(T);
    for (const Operand &O : Next.Operands) {
      if (Next.Count == 0)
        define(O.Text, Ty);
      for (unsigned I = 0; I != Next.Count; ++I)
        define((O.Text + Twine(I)).str(), Ty);
    }
    return;
  }
  if (Next.Kind == Statement::Label) {
    BasicBlock *Block = Labels.lookup(Next.Opcode.front());
    B.CreateBr(Block);
    B.SetInsertPoint(Block);
    return;
  }

  BasicBlock *Behind = nullptr;
  if (Next.Predicate) {
    Value *P = readOperand(*Next.Predicate, B.getInt1Ty());
    BasicBlock *Then = BasicBlock::Create(M.getContext(), "", &F);
    Behind = BasicBlock::Create(M.getContext(), "", &F);
    B.CreateCondBr(P, Then, Behind);
    B.SetInsertPoint(Then);
  }
  bool Known = false;
#define PTX_OPCODE(NAME, METHOD)                                               \
  if (!Known && opcode() == NAME) {                                            \
    Known = true;                                                              \
    METHOD();                                                                  \
  }
#include "PTXOpcodes.def"
  Failed |= !Known;
  if (Behind) {
    B.CreateBr(Behind);
    B.SetInsertPoint(Behind);
  }
}

bool Translator::run(ArrayRef<Statement> Statements) {
  for (const Statement &Next : Statements)
    if (Next.Kind == Statement::Label)
      Labels[Next.Opcode.front()] =
          BasicBlock::Create(M.getContext(), Next.Opcode.front(), &F);
  for (const Statement &Next : Statements) {
    translate(Next);
    if (Failed)
      return false;
  }
  return true;
}
