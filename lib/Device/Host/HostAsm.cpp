//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// HostAsmPass: inline PTX becomes IR. Each asm statement is translated to a
/// function of its own, in which PTX registers are variables and PTX branches
/// are branches, and which is then inlined at the statement. Computations are
/// calls into the intrinsic library; special registers and synchronization
/// become the intrinsics that HostIntrinsics lowers next. A statement that is
/// not understood becomes an error where it stands, raised only if it is
/// executed.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "IntrinsicLibrary.h"
#include "PTXParser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;
using ptx::Operand;
using ptx::Statement;

namespace {
/// A type suffix of an instruction: u32, f16x2, pred, ...
struct PTXType {
  enum KindTy {
    None,
    Unsigned,
    Signed,
    Untyped,
    Float,
    Half,
    BFloat,
    Predicate
  };
  KindTy Kind = None;
  unsigned Bits = 0; ///< Of one element.
  bool Pair = false;

  explicit operator bool() const { return Kind != None; }
  bool isInteger() const {
    return Kind == Unsigned || Kind == Signed || Kind == Untyped;
  }
  bool isSigned() const { return Kind == Signed; }
  bool isHalf() const { return Kind == Half || Kind == BFloat; }
};

/// Translates one asm statement into the body of a function.
class Translator {
  Module &M;
  IntrinsicLibrary &Library;
  Function &F;
  IRBuilder<> B;
  StringMap<AllocaInst *> Variables;
  StringMap<BasicBlock *> Labels;
  const Statement *S = nullptr; ///< The one being translated.
  bool Failed = false;

public:
  Translator(Module &M, IntrinsicLibrary &Library, Function &F)
      : M(M), Library(Library), F(F),
        B(BasicBlock::Create(M.getContext(), "", &F)) {
    define("cc", B.getInt1Ty());
  }

  void define(StringRef Name, Type *Ty, Value *Initial = nullptr);
  /// \returns whether all of \p Statements were understood. The function then
  /// lacks only its terminator, where the builder stands.
  bool run(ArrayRef<Statement> Statements);
  IRBuilder<> &builder() { return B; }
  Value *load(StringRef Name, Type *Ty);

private:
  StringRef opcode() const { return S->Opcode.front(); }
  bool has(StringRef Modifier) const { return S->has(Modifier); }
  PTXType suffix(unsigned FromEnd = 0) const;
  StringRef rounding(StringRef Default) const;
  Type *typeOf(PTXType T);

  Value *fail(Type *Ty) {
    Failed = true;
    return PoisonValue::get(Ty);
  }
  const Operand *operand(unsigned I);
  Value *readOperand(const Operand &O, Type *Ty);
  Value *readSpecial(StringRef Name, Type *Ty);
  Value *read(unsigned I, Type *Ty);
  Value *read(unsigned I, PTXType T) { return read(I, typeOf(T)); }
  Value *address(unsigned I);
  void store(StringRef Name, Value *V, bool IsSigned);
  void writeOperand(const Operand &O, Value *V, bool IsSigned);
  void write(Value *V, bool IsSigned = false);

  Value *callLibrary(const Twine &Name, ArrayRef<Value *> Args, Type *Ty);
  Value *callNVVM(const Twine &Name, ArrayRef<Value *> Args, Type *Ty) {
    return callLibrary("mneme_nvvm_" + Name, Args, Ty);
  }
  Value *callPTX(const Twine &Name, ArrayRef<Value *> Args, Type *Ty) {
    return callLibrary("mneme_ptx_" + Name, Args, Ty);
  }
  Value *perHalf(PTXType T, ArrayRef<Value *> Args,
                 function_ref<Value *(ArrayRef<Value *>)> Fn);

  void translate(const Statement &Next);
  Value *addWithCarry(Value *X, Value *Y, bool Subtract);
  void lowerHalf(PTXType T);
  Value *clamp(Value *V, PTXType From, PTXType To);
  Value *widenHalf(Value *V, PTXType T);
  Value *narrowDouble(Value *V, PTXType To, StringRef Mode);
  Value *floatToInteger(Value *V, PTXType From, PTXType To);
  Value *integerToFloat(Value *V, PTXType From, PTXType To);
  Value *floatToFloat(Value *V, PTXType From, PTXType To);
  Value *roundToIntegral(Value *V, StringRef Mode);
  bool convertPacked();
  Value *compare(StringRef Op, PTXType T, Value *X, Value *Y);
  StringRef comparison() const;
  void lowerVectorAtomic(Value *P, unsigned AddressIndex, unsigned Count);
  Value *combine(Value *Result);

  // One for each METHOD of PTXOpcodes.def.
  void lowerMove();
  void lowerConvert();
  void lowerIdentity();
  void lowerIsSpace();
  void lowerAddSub();
  void lowerMultiply();
  void lowerMultiply24();
  void lowerFloat();
  void lowerDivide();
  void lowerSign();
  void lowerMinMax();
  void lowerSad();
  void lowerCopySign();
  void lowerTest();
  void lowerSetPredicate();
  void lowerSet();
  void lowerSelect();
  void lowerSelectBySign();
  void lowerLogic();
  void lowerLogic3();
  void lowerShift();
  void lowerByName();
  void lowerFindLeading();
  void lowerCount();
  void lowerPermuteBytes();
  void lowerNVVM();
  void lowerExtend();
  void lowerDot();
  void lowerVideo();
  void lowerLoad();
  void lowerStore();
  void lowerAtomic();
  void lowerFence();
  void lowerAsyncCopy();
  void lowerNothing() {}
  void lowerBarrier();
  void lowerShuffle();
  void lowerVote();
  void lowerMatch();
  void lowerRedux();
  void lowerActiveMask();
  void lowerElect();
  void lowerBranch();
  void lowerExit();
  void lowerTrap();
  void lowerSleep();
};
} // namespace

//===----------------------------------------------------------------------===//
// Types and operands
//===----------------------------------------------------------------------===//

static PTXType parseType(StringRef Name) {
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

/// The last of the opcode's parts that is a type, or one before that:
/// min.s32.relu.
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

/// The address of the shared memory that the system keeps for itself, where
/// cooperative groups put their state: a variable, laid out with the others.
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
  // Only the lane masks have their underscore turned into a dot.
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

static StringRef getHalfName(PTXType T) {
  return T.Kind == PTXType::Half ? "f16" : "bf16";
}

//===----------------------------------------------------------------------===//
// Moves and conversions
//===----------------------------------------------------------------------===//

void Translator::lowerMove() {
  PTXType T = suffix();
  const Operand *From = operand(1);
  if (T.Kind == PTXType::Predicate)
    return write(read(1, B.getInt1Ty()));
  // A bare vector: mov.b32 {lo, hi}, x.
  if (From)
    write(readOperand(*From, B.getIntNTy(T ? T.Bits : 32)));
  Failed |= !T;
}

void Translator::lowerIdentity() { write(read(1, suffix())); }

void Translator::lowerIsSpace() {
  StringRef Space = S->Opcode.back();
  write(callNVVM("isspacep_" + Space, {read(1, B.getPtrTy())}, B.getInt1Ty()));
}

/// Limits the integer \p V to the range of \p To.
Value *Translator::clamp(Value *V, PTXType From, PTXType To) {
  unsigned Bits = V->getType()->getIntegerBitWidth();
  bool Wider = To.Bits > From.Bits ||
               (To.Bits == From.Bits && To.isSigned() == From.isSigned());
  if (Wider && (To.isSigned() || !From.isSigned()))
    return V;
  auto Constant = [&](APInt X) { return ConstantInt::get(V->getType(), X); };
  if (From.isSigned()) {
    APInt Low =
        To.isSigned()
            ? APInt::getSignedMinValue(To.Bits).sext(std::max(Bits, To.Bits))
            : APInt(std::max(Bits, To.Bits), 0);
    V = B.CreateBinaryIntrinsic(Intrinsic::smax, V, Constant(Low.trunc(Bits)));
  }
  if (To.Bits > From.Bits || (To.Bits == From.Bits && From.isSigned()))
    return V;
  APInt High = To.isSigned() ? APInt::getSignedMaxValue(To.Bits)
                             : APInt::getMaxValue(To.Bits);
  return B.CreateBinaryIntrinsic(From.isSigned() ? Intrinsic::smin
                                                 : Intrinsic::umin,
                                 V, Constant(High.zext(Bits)));
}

Value *Translator::widenHalf(Value *V, PTXType T) {
  return callPTX("f32_" + getHalfName(T), {V}, B.getFloatTy());
}

Value *Translator::narrowDouble(Value *V, PTXType To, StringRef Mode) {
  return callPTX(getHalfName(To) + "_f64_" + Mode, {V}, B.getInt16Ty());
}

Value *Translator::floatToInteger(Value *V, PTXType From, PTXType To) {
  StringRef Mode = StringSwitch<StringRef>(S->Opcode[1])
                       .Case("rni", "rn")
                       .Case("rzi", "rz")
                       .Case("rmi", "rm")
                       .Case("rpi", "rp")
                       .Default("rz");
  if (From.isHalf()) {
    V = widenHalf(V, From);
    From = {PTXType::Float, 32, false};
  }
  PTXType Wide = {To.isSigned() ? PTXType::Signed : PTXType::Unsigned,
                  std::max(To.Bits, 32u), false};
  StringRef Name = Wide.Bits == 64 ? (To.isSigned() ? "ll" : "ull")
                                   : (To.isSigned() ? "i" : "ui");
  bool Flush = has("ftz") && From.Bits == 32;
  V = callNVVM((From.Bits == 64 ? "d2" : "f2") + Name + "_" + Mode +
                   (Flush ? "_ftz" : ""),
               {V}, typeOf(Wide));
  return B.CreateTrunc(clamp(V, Wide, To), typeOf(To));
}

Value *Translator::integerToFloat(Value *V, PTXType From, PTXType To) {
  StringRef Mode = rounding("rn");
  if (From.Bits < 32)
    V = From.isSigned() ? B.CreateSExt(V, B.getInt32Ty())
                        : B.CreateZExt(V, B.getInt32Ty());
  bool Long = From.Bits == 64;
  if (To.isHalf() && Long)
    return callPTX(getHalfName(To) + (From.isSigned() ? "_s64_" : "_u64_") +
                       Mode,
                   {V}, B.getInt16Ty());
  if (To.isHalf())
    return narrowDouble(From.isSigned() ? B.CreateSIToFP(V, B.getDoubleTy())
                                        : B.CreateUIToFP(V, B.getDoubleTy()),
                        To, Mode);
  StringRef Name =
      Long ? (From.isSigned() ? "ll" : "ull") : (From.isSigned() ? "i" : "ui");
  V = callNVVM(Name + (To.Bits == 64 ? "2d_" : "2f_") + Mode, {V}, typeOf(To));
  return V;
}

Value *Translator::roundToIntegral(Value *V, StringRef Mode) {
  Intrinsic::ID ID = StringSwitch<Intrinsic::ID>(Mode)
                         .Case("rni", Intrinsic::roundeven)
                         .Case("rzi", Intrinsic::trunc)
                         .Case("rmi", Intrinsic::floor)
                         .Case("rpi", Intrinsic::ceil)
                         .Default(Intrinsic::not_intrinsic);
  return ID ? B.CreateUnaryIntrinsic(ID, V) : V;
}

Value *Translator::floatToFloat(Value *V, PTXType From, PTXType To) {
  StringRef Mode = rounding("rn");
  Type *Float = B.getFloatTy();
  bool Flush = has("ftz");
  // Everything but f64 passes through f32.
  if (From.isHalf())
    V = widenHalf(V, From);
  if (Flush && V->getType()->isFloatTy())
    V = callNVVM("mul_rn_ftz_f", {V, ConstantFP::get(Float, 1)}, Float);
  V = roundToIntegral(V, S->Opcode[1]);
  bool IsDouble = V->getType()->isDoubleTy();

  if (To.isHalf()) {
    if (IsDouble)
      V = narrowDouble(V, To, Mode);
    else
      V = callNVVM("f2" + getHalfName(To) + "_" + Mode +
                       (has("relu") ? "_relu" : "") +
                       (has("satfinite") ? "_satfinite" : ""),
                   {V}, B.getInt16Ty());
    return has("sat")
               ? callPTX("saturate_" + getHalfName(To), {V}, B.getInt16Ty())
               : V;
  }
  if (To.Bits == 64)
    V = IsDouble ? V : B.CreateFPExt(V, B.getDoubleTy());
  else if (IsDouble)
    V = callNVVM("d2f_" + Mode + (Flush ? "_ftz" : ""), {V}, Float);
  if (has("sat"))
    V = callNVVM(To.Bits == 64 ? "saturate_d" : "saturate_f", {V}, typeOf(To));
  return V;
}

/// Conversions to and from packed and narrow formats. \returns false if this is
/// none.
bool Translator::convertPacked() {
  if (S->Opcode.size() < 3)
    return false;
  StringRef To = S->Opcode.back(), From = To;
  To = S->Opcode[S->Opcode.size() - 2];
  bool IsNarrow = To.starts_with("e") || To.starts_with("ue") ||
                  From.starts_with("e") || From.starts_with("ue");
  bool IsTF32 = To == "tf32";
  if (!IsNarrow && !IsTF32 && !To.ends_with("x2"))
    return false;

  std::string Modes = ("_" + rounding("rn")).str();
  if (has("relu"))
    Modes += "_relu";
  // The 8-bit floats always saturate, so that it is not in the name.
  bool Implied = To == "e4m3x2" || To == "e5m2x2";
  if (has("satfinite") && !Implied)
    Modes += "_satfinite";
  Type *Float = B.getFloatTy(), *I32 = B.getInt32Ty(), *I16 = B.getInt16Ty();
  if (IsTF32)
    write(callNVVM("f2tf32" + Modes, {read(1, Float)}, I32));
  else if (From == "f32" && S->Operands.size() == 3)
    write(callNVVM((IsNarrow ? "ff_to_" : "ff2") + To + Modes,
                   {read(1, Float), read(2, Float)}, IsNarrow ? I16 : I32));
  else if (From == "ue8m0x2")
    write(callNVVM("ue8m0x2_to_" + To, {read(1, I16)}, I32));
  else if (From.starts_with("e"))
    write(callNVVM(From + "_to_" + To + Modes, {read(1, I16)}, I32));
  else if (IsNarrow)
    write(callNVVM(From + "_to_" + To + Modes, {read(1, I32)}, I16));
  else
    return false;
  return true;
}

void Translator::lowerConvert() {
  if (convertPacked())
    return;
  PTXType To = suffix(1), From = suffix();
  if (!To || !From || To.Pair || From.Pair || To.Kind == PTXType::Predicate ||
      From.Kind == PTXType::Predicate || std::max(To.Bits, From.Bits) > 64) {
    Failed = true;
    return;
  }
  // The source may be a wider register.
  Value *V = read(1, From);
  Value *R;
  if (From.isInteger() && To.isInteger()) {
    R = has("sat") ? clamp(V, From, To) : V;
    R = From.isSigned() ? B.CreateSExtOrTrunc(R, typeOf(To))
                        : B.CreateZExtOrTrunc(R, typeOf(To));
  } else if (From.isInteger()) {
    R = integerToFloat(V, From, To);
    if (has("sat") && !To.isHalf())
      R = callNVVM(To.Bits == 64 ? "saturate_d" : "saturate_f", {R},
                   typeOf(To));
  } else if (To.isInteger()) {
    R = floatToInteger(V, From, To);
  } else {
    R = floatToFloat(V, From, To);
  }
  write(R, To.isSigned());
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// X + Y or X - Y, with the carry flag in (addc) and out (.cc) as the opcode
/// says. PTX keeps a borrow in the same flag.
Value *Translator::addWithCarry(Value *X, Value *Y, bool Subtract) {
  Type *Ty = X->getType();
  Type *Wide = B.getIntNTy(Ty->getIntegerBitWidth() + 1);
  X = B.CreateZExt(X, Wide);
  Y = B.CreateZExt(Y, Wide);
  bool CarryIn = opcode() == "addc" || opcode() == "subc" || opcode() == "madc";
  if (CarryIn) {
    // Cannot overflow: Y is one bit narrower.
    Value *In = B.CreateZExt(load("cc", B.getInt1Ty()), Wide);
    Y = B.CreateAdd(Y, In);
  }
  Value *R = Subtract ? B.CreateSub(X, Y) : B.CreateAdd(X, Y);
  if (has("cc"))
    store(
        "cc",
        B.CreateTrunc(B.CreateLShr(R, Ty->getIntegerBitWidth()), B.getInt1Ty()),
        false);
  return B.CreateTrunc(R, Ty);
}

void Translator::lowerAddSub() {
  PTXType T = suffix();
  bool Subtract = opcode().starts_with("sub");
  if (T.Kind == PTXType::Float)
    return lowerFloat();
  if (T.isHalf())
    return lowerHalf(T);
  Type *Ty = typeOf(T);
  if (!T.isInteger()) {
    Failed = true;
    return;
  }
  Value *X = read(1, Ty), *Y = read(2, Ty);
  if (T.Pair && T.Bits == 16)
    return write(perHalf(T, {X, Y}, [&](ArrayRef<Value *> V) {
      return Subtract ? B.CreateSub(V[0], V[1]) : B.CreateAdd(V[0], V[1]);
    }));
  if (has("sat"))
    return write(B.CreateBinaryIntrinsic(
        Subtract ? Intrinsic::ssub_sat : Intrinsic::sadd_sat, X, Y));
  write(addWithCarry(X, Y, Subtract), T.isSigned());
}

void Translator::lowerMultiply() {
  PTXType T = suffix();
  if (T.Kind == PTXType::Float)
    return lowerFloat();
  if (T.isHalf())
    return lowerHalf(T);
  Type *Ty = typeOf(T);
  if (!T.isInteger() || T.Pair) {
    Failed = true;
    return;
  }
  Value *X = read(1, Ty), *Y = read(2, Ty);
  Type *Wide = B.getIntNTy(2 * Ty->getIntegerBitWidth());
  Value *R;
  if (has("lo")) {
    R = B.CreateMul(X, Y);
  } else if (has("wide") || has("hi")) {
    X = T.isSigned() ? B.CreateSExt(X, Wide) : B.CreateZExt(X, Wide);
    Y = T.isSigned() ? B.CreateSExt(Y, Wide) : B.CreateZExt(Y, Wide);
    R = B.CreateMul(X, Y);
    if (has("hi"))
      R = B.CreateTrunc(B.CreateLShr(R, T.Bits), Ty);
  } else {
    Failed = true;
    return;
  }
  if (opcode() != "mul") {
    Value *Z = read(3, R->getType());
    R = has("sat") ? B.CreateBinaryIntrinsic(Intrinsic::sadd_sat, R, Z)
                   : addWithCarry(R, Z, false);
  }
  write(R, T.isSigned());
}

void Translator::lowerMultiply24() {
  PTXType T = suffix();
  Type *I32 = B.getInt32Ty();
  Failed |= !has("lo") || has("sat");
  Value *R = callNVVM(T.isSigned() ? "mul24_i" : "mul24_ui",
                      {read(1, I32), read(2, I32)}, I32);
  write(opcode() == "mad24" ? B.CreateAdd(R, read(3, I32)) : R);
}

/// add, sub, mul, fma, ex2, tanh of f16 and bf16.
void Translator::lowerHalf(PTXType T) {
  StringRef Type16 = getHalfName(T);
  SmallVector<Value *, 3> Args;
  for (unsigned I = 1; I < S->Operands.size(); ++I)
    Args.push_back(read(I, T));
  Type *I16 = B.getInt16Ty();
  auto Each = [&](StringRef Name, Value *V) {
    return callPTX(Name + "_" + Type16, {V}, I16);
  };
  bool Flush = has("ftz");
  write(perHalf(T, Args, [&](ArrayRef<Value *> V) -> Value * {
    if (opcode() == "fma" || opcode() == "mad")
      return callNVVM(Twine("fma_rn_") + (Flush ? "ftz_" : "") +
                          (has("sat")    ? "sat_"
                           : has("relu") ? "relu_"
                                         : "") +
                          Type16,
                      V, I16);
    SmallVector<Value *, 2> Inputs;
    for (Value *X : V)
      Inputs.push_back(Flush ? Each("flush", X) : X);
    bool Approximate = opcode() == "ex2" || opcode() == "tanh";
    Value *R = callPTX(opcode() + (Approximate ? "_approx_" : "_") + Type16,
                       Inputs, I16);
    R = Flush ? Each("flush", R) : R;
    return has("sat") ? Each("saturate", R) : R;
  }));
}

/// Library functions of f32 and f64: fma.rn.ftz.f32 is mneme_nvvm_fma_rn_ftz_f.
void Translator::lowerFloat() {
  PTXType T = suffix();
  if (T.isHalf())
    return lowerHalf(T);
  if (T.Kind != PTXType::Float) {
    Failed = true;
    return;
  }
  Type *Ty = typeOf(T);
  SmallVector<Value *, 3> Args;
  for (unsigned I = 1; I < S->Operands.size(); ++I)
    Args.push_back(read(I, Ty));
  StringRef Name = opcode();
  if (Name == "tanh")
    return write(callPTX("tanh_approx_f32", Args, Ty));
  if (Name == "sub") {
    Name = "add";
    if (Args.size() == 2)
      Args[1] = B.CreateFNeg(Args[1]);
  } else if (Name == "mad") {
    Name = "fma";
  }
  std::string Full = Name.str();
  if (has("full"))
    Full += "_full";
  else
    Full += has("approx") ? "_approx" : ("_" + rounding("rn")).str();
  if (has("ftz"))
    Full += "_ftz";
  if (!has("full"))
    Full += T.Bits == 64 ? "_d" : "_f";
  Value *R = callNVVM(Full, Args, Ty);
  if (has("sat"))
    R = callNVVM(T.Bits == 64 ? "saturate_d" : "saturate_f", {R}, Ty);
  write(R);
}

void Translator::lowerDivide() {
  PTXType T = suffix();
  if (T.Kind == PTXType::Float && opcode() == "div")
    return lowerFloat();
  if (!T.isInteger() || T.Pair) {
    Failed = true;
    return;
  }
  Type *Ty = typeOf(T);
  Value *X = read(1, Ty), *Y = read(2, Ty);
  // By zero: all ones. The smallest number by -1: itself.
  Value *IsZero = B.CreateICmpEQ(Y, ConstantInt::get(Ty, 0));
  Value *Unsafe = IsZero;
  if (T.isSigned())
    Unsafe =
        B.CreateOr(IsZero, B.CreateICmpEQ(Y, Constant::getAllOnesValue(Ty)));
  Value *Divisor = B.CreateSelect(Unsafe, ConstantInt::get(Ty, 1), Y);
  bool IsDiv = opcode() == "div";
  Value *R =
      T.isSigned()
          ? (IsDiv ? B.CreateSDiv(X, Divisor) : B.CreateSRem(X, Divisor))
          : (IsDiv ? B.CreateUDiv(X, Divisor) : B.CreateURem(X, Divisor));
  if (T.isSigned() && IsDiv)
    R = B.CreateSelect(Unsafe, B.CreateNeg(X), R);
  write(B.CreateSelect(IsZero, Constant::getAllOnesValue(Ty), R), T.isSigned());
}

void Translator::lowerSign() {
  PTXType T = suffix();
  bool Negate = opcode() == "neg";
  Type *Ty = typeOf(T);
  Value *V = read(1, Ty);
  if (T.isHalf()) {
    unsigned Bits = Ty->getIntegerBitWidth();
    APInt Mask = APInt::getSplat(Bits, APInt::getSignMask(16));
    return write(Negate ? B.CreateXor(V, ConstantInt::get(Ty, Mask))
                        : B.CreateAnd(V, ConstantInt::get(Ty, ~Mask)));
  }
  if (T.isInteger())
    return write(Negate
                     ? B.CreateNeg(V)
                     : B.CreateBinaryIntrinsic(Intrinsic::abs, V, B.getFalse()),
                 T.isSigned());
  if (T.Kind != PTXType::Float) {
    Failed = true;
    return;
  }
  if (has("ftz") && T.Bits == 32)
    V = callNVVM("mul_rn_ftz_f", {V, ConstantFP::get(Ty, 1)}, Ty);
  write(Negate ? B.CreateFNeg(V) : B.CreateUnaryIntrinsic(Intrinsic::fabs, V));
}

void Translator::lowerMinMax() {
  PTXType T = suffix();
  Type *Ty = typeOf(T);
  Value *X = read(1, Ty), *Y = read(2, Ty);
  bool IsMin = opcode() == "min";
  if (!T || T.Kind == PTXType::Predicate || (T.Pair && T.Bits != 16)) {
    Failed = true;
    return;
  }
  if (T.isInteger()) {
    Intrinsic::ID ID = T.isSigned()
                           ? (IsMin ? Intrinsic::smin : Intrinsic::smax)
                           : (IsMin ? Intrinsic::umin : Intrinsic::umax);
    Value *R = perHalf(T, {X, Y}, [&](ArrayRef<Value *> V) {
      Value *Each = B.CreateBinaryIntrinsic(ID, V[0], V[1]);
      if (has("relu"))
        Each = B.CreateBinaryIntrinsic(Intrinsic::smax, Each,
                                       ConstantInt::get(Each->getType(), 0));
      return Each;
    });
    return write(R, T.isSigned());
  }
  std::string Name = IsMin ? "fmin" : "fmax";
  if (has("ftz"))
    Name += "_ftz";
  if (has("NaN"))
    Name += "_nan";
  if (has("xorsign"))
    Name += "_xorsign_abs";
  if (T.isHalf())
    return write(perHalf(T, {X, Y}, [&](ArrayRef<Value *> V) {
      return callNVVM(Name + "_" + getHalfName(T), V, B.getInt16Ty());
    }));
  Value *R = callNVVM(Name + (T.Bits == 64 ? "_d" : "_f"), {X, Y}, Ty);
  // Three operands: min(min(a, b), c).
  if (S->Operands.size() == 4)
    R = callNVVM(Name + "_f", {R, read(3, Ty)}, Ty);
  write(R);
}

void Translator::lowerSad() {
  PTXType T = suffix();
  StringRef Name = T.Bits == 16   ? (T.isSigned() ? "sad_s" : "sad_us")
                   : T.Bits == 32 ? (T.isSigned() ? "sad_i" : "sad_ui")
                                  : (T.isSigned() ? "sad_ll" : "sad_ull");
  write(callNVVM(Name, {read(1, T), read(2, T), read(3, T)}, typeOf(T)));
}

void Translator::lowerCopySign() {
  PTXType T = suffix();
  if (T.Kind != PTXType::Float) {
    Failed = true;
    return;
  }
  write(B.CreateBinaryIntrinsic(Intrinsic::copysign, read(2, T), read(1, T)));
}

void Translator::lowerTest() {
  FPClassTest Mask = StringSwitch<FPClassTest>(
                         S->Opcode.size() > 1 ? S->Opcode[1] : StringRef())
                         .Case("finite", fcFinite)
                         .Case("infinite", fcInf)
                         .Case("number", ~fcNan)
                         .Case("notanumber", fcNan)
                         .Case("normal", fcNormal)
                         .Case("subnormal", fcSubnormal)
                         .Default(fcNone);
  Failed |= Mask == fcNone || suffix().Kind != PTXType::Float;
  if (!Failed)
    write(B.createIsFPClass(read(1, suffix()), Mask));
}

//===----------------------------------------------------------------------===//
// Comparison and selection
//===----------------------------------------------------------------------===//

Value *Translator::compare(StringRef Op, PTXType T, Value *X, Value *Y) {
  if (T.isHalf()) {
    X = widenHalf(X, T);
    Y = widenHalf(Y, T);
  } else if (T.Kind != PTXType::Float) {
    bool IsSigned = T.isSigned();
    auto P = StringSwitch<CmpInst::Predicate>(Op)
                 .Case("eq", CmpInst::ICMP_EQ)
                 .Case("ne", CmpInst::ICMP_NE)
                 .Case("lt", IsSigned ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT)
                 .Case("le", IsSigned ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE)
                 .Case("gt", IsSigned ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT)
                 .Case("ge", IsSigned ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE)
                 .Case("lo", CmpInst::ICMP_ULT)
                 .Case("ls", CmpInst::ICMP_ULE)
                 .Case("hi", CmpInst::ICMP_UGT)
                 .Case("hs", CmpInst::ICMP_UGE)
                 .Default(CmpInst::BAD_ICMP_PREDICATE);
    return P == CmpInst::BAD_ICMP_PREDICATE ? fail(B.getInt1Ty())
                                            : B.CreateICmp(P, X, Y);
  }
  if (has("ftz") && X->getType()->isFloatTy()) {
    Type *Ty = X->getType();
    X = callNVVM("mul_rn_ftz_f", {X, ConstantFP::get(Ty, 1)}, Ty);
    Y = callNVVM("mul_rn_ftz_f", {Y, ConstantFP::get(Ty, 1)}, Ty);
  }
  auto P = StringSwitch<CmpInst::Predicate>(Op)
               .Case("eq", CmpInst::FCMP_OEQ)
               .Case("ne", CmpInst::FCMP_ONE)
               .Case("lt", CmpInst::FCMP_OLT)
               .Case("le", CmpInst::FCMP_OLE)
               .Case("gt", CmpInst::FCMP_OGT)
               .Case("ge", CmpInst::FCMP_OGE)
               .Case("equ", CmpInst::FCMP_UEQ)
               .Case("neu", CmpInst::FCMP_UNE)
               .Case("ltu", CmpInst::FCMP_ULT)
               .Case("leu", CmpInst::FCMP_ULE)
               .Case("gtu", CmpInst::FCMP_UGT)
               .Case("geu", CmpInst::FCMP_UGE)
               .Case("num", CmpInst::FCMP_ORD)
               .Case("nan", CmpInst::FCMP_UNO)
               .Default(CmpInst::BAD_FCMP_PREDICATE);
  return P == CmpInst::BAD_FCMP_PREDICATE ? fail(B.getInt1Ty())
                                          : B.CreateFCmp(P, X, Y);
}

StringRef Translator::comparison() const {
  return S->Opcode.size() > 1 ? S->Opcode[1] : StringRef();
}

/// setp.lt.and.f32 p, a, b, c: the comparison and c.
Value *Translator::combine(Value *Result) {
  if (S->Operands.size() < 4)
    return Result;
  Value *C = read(3, B.getInt1Ty());
  if (has("and"))
    return B.CreateAnd(Result, C);
  if (has("or"))
    return B.CreateOr(Result, C);
  return has("xor") ? B.CreateXor(Result, C) : fail(B.getInt1Ty());
}

void Translator::lowerSetPredicate() {
  PTXType T = suffix();
  Type *Ty = typeOf(T);
  Value *X = read(1, Ty), *Y = read(2, Ty);
  const Operand *To = operand(0);
  if (!To || To->Kind != Operand::Name) {
    Failed = true;
    return;
  }
  if (T.Pair) {
    // p|q are the results of the low and the high element.
    Type *I16 = B.getInt16Ty();
    T.Pair = false;
    store(
        To->Text,
        compare(comparison(), T, B.CreateTrunc(X, I16), B.CreateTrunc(Y, I16)),
        false);
    if (!To->Second.empty())
      store(To->Second,
            compare(comparison(), T, B.CreateTrunc(B.CreateLShr(X, 16), I16),
                    B.CreateTrunc(B.CreateLShr(Y, 16), I16)),
            false);
    return;
  }
  Value *R = compare(comparison(), T, X, Y);
  store(To->Text, combine(R), false);
  if (!To->Second.empty())
    store(To->Second, combine(B.CreateNot(R)), false);
}

void Translator::lowerSet() {
  PTXType To = suffix(1), T = suffix();
  Type *Ty = typeOf(T);
  Value *X = read(1, Ty), *Y = read(2, Ty);
  // True is 1.0, or all bits.
  auto Truth = [&](Value *P, unsigned Bits) -> Value * {
    if (To.Kind == PTXType::Float)
      return B.CreateUIToFP(P, typeOf(To));
    if (To.isHalf())
      return B.CreateSelect(
          P, B.getInt16(To.Kind == PTXType::Half ? 0x3c00 : 0x3f80),
          B.getInt16(0));
    return B.CreateSExt(P, B.getIntNTy(Bits));
  };
  if (T.Pair) {
    PTXType Each = T;
    Each.Pair = false;
    return write(perHalf(T, {X, Y}, [&](ArrayRef<Value *> V) {
      return Truth(compare(comparison(), Each, V[0], V[1]), 16);
    }));
  }
  write(Truth(combine(compare(comparison(), T, X, Y)), To ? To.Bits : 32));
}

void Translator::lowerSelect() {
  PTXType T = suffix();
  Value *P = read(3, B.getInt1Ty());
  write(B.CreateSelect(P, read(1, T), read(2, T)));
}

void Translator::lowerSelectBySign() {
  PTXType T = suffix(1), By = suffix();
  if (!T || By.isHalf()) {
    Failed = true;
    return;
  }
  Value *C = read(3, By);
  Value *Positive = By.Kind == PTXType::Float
                        ? B.CreateFCmpOGE(C, ConstantFP::get(C->getType(), 0))
                        : B.CreateICmpSGE(C, ConstantInt::get(C->getType(), 0));
  write(B.CreateSelect(Positive, read(1, T), read(2, T)));
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

void Translator::lowerLogic() {
  PTXType T = suffix();
  Type *Ty = typeOf(T);
  if (!Ty->isIntegerTy()) {
    Failed = true;
    return;
  }
  Value *X = read(1, Ty);
  if (opcode() == "not")
    return write(B.CreateNot(X));
  if (opcode() == "cnot")
    return write(B.CreateZExt(B.CreateICmpEQ(X, ConstantInt::get(Ty, 0)), Ty));
  Value *Y = read(2, Ty);
  write(opcode() == "and"  ? B.CreateAnd(X, Y)
        : opcode() == "or" ? B.CreateOr(X, Y)
                           : B.CreateXor(X, Y));
}

void Translator::lowerLogic3() {
  Type *I32 = B.getInt32Ty();
  // lop3.or.b32 has a predicate result as well.
  Failed |= S->Operands.size() != 5 || S->Opcode.size() != 2;
  write(callPTX("lop3",
                {read(1, I32), read(2, I32), read(3, I32), read(4, I32)}, I32));
}

void Translator::lowerShift() {
  PTXType T = suffix();
  std::string Name = opcode().str();
  Name += opcode() == "shl" ? "_b" : T.isSigned() ? "_s" : "_u";
  write(callPTX(Name + utostr(T.Bits), {read(1, T), read(2, B.getInt32Ty())},
                typeOf(T)),
        T.isSigned());
}

/// shf, bfe and bfi are in the library under their whole opcode.
void Translator::lowerByName() {
  PTXType T = suffix();
  SmallVector<Value *, 4> Args;
  unsigned Values = opcode() == "bfe" ? 1 : 2;
  for (unsigned I = 1; I < S->Operands.size(); ++I)
    Args.push_back(I <= Values ? read(I, T) : read(I, B.getInt32Ty()));
  write(callPTX(join(S->Opcode, "_"), Args, typeOf(T)), T.isSigned());
}

void Translator::lowerFindLeading() {
  PTXType T = suffix();
  write(callNVVM(Twine("flo_") + (T.isSigned() ? "s" : "u") + "_i" +
                     Twine(T.Bits),
                 {read(1, T), B.getInt1(has("shiftamt"))}, B.getInt32Ty()));
}

void Translator::lowerCount() {
  PTXType T = suffix();
  if (!T.isInteger() || T.Pair) {
    Failed = true;
    return;
  }
  Value *V = read(1, T);
  if (opcode() == "brev")
    return write(B.CreateUnaryIntrinsic(Intrinsic::bitreverse, V));
  V = opcode() == "popc"
          ? B.CreateUnaryIntrinsic(Intrinsic::ctpop, V)
          : B.CreateBinaryIntrinsic(Intrinsic::ctlz, V, B.getFalse());
  write(B.CreateTrunc(V, B.getInt32Ty()));
}

void Translator::lowerPermuteBytes() {
  Type *I32 = B.getInt32Ty();
  Value *X = read(1, I32), *Y = read(2, I32), *Z = read(3, I32);
  if (S->Opcode.size() == 2)
    return write(callNVVM("prmt", {X, Y, Z}, I32));
  StringRef Mode = S->Opcode.back();
  if (Mode == "f4e" || Mode == "b4e")
    return write(callNVVM("prmt_" + Mode, {X, Y, Z}, I32));
  write(callNVVM("prmt_" + Mode, {X, Z}, I32));
}

/// bmsk.clamp.b32, fns.b32: functions of u32 under their opcode without the
/// type.
void Translator::lowerNVVM() {
  Type *I32 = B.getInt32Ty();
  SmallVector<Value *, 3> Args;
  for (unsigned I = 1; I < S->Operands.size(); ++I)
    Args.push_back(read(I, I32));
  write(callNVVM(join(ArrayRef(S->Opcode).drop_back(), "_"), Args, I32));
}

void Translator::lowerExtend() {
  Type *I32 = B.getInt32Ty();
  write(callNVVM(Twine(suffix().isSigned() ? "sext_" : "zext_") +
                     (has("wrap") ? "wrap" : "clamp"),
                 {read(1, I32), read(2, I32)}, I32));
}

void Translator::lowerDot() {
  Type *I32 = B.getInt32Ty();
  PTXType TA = suffix(1), TB = suffix();
  std::string Name = ("i" + opcode() + (TA.isSigned() ? "_s" : "_u") +
                      (TB.isSigned() ? "_s" : "_u"))
                         .str();
  SmallVector<Value *, 4> Args = {read(1, I32), read(2, I32)};
  if (opcode() == "dp2a")
    Args.push_back(B.getInt1(has("hi")));
  Args.push_back(read(3, I32));
  write(callNVVM(Name, Args, I32));
}

void Translator::lowerVideo() {
  Type *I32 = B.getInt32Ty();
  // vset4.u32.u32.lt: the comparison follows the types.
  PTXType T = S->Opcode.size() > 1 ? parseType(S->Opcode[1]) : PTXType();
  StringRef From = opcode().starts_with("vset") && S->Opcode.size() > 2
                       ? S->Opcode[2]
                   : S->Opcode.size() > 1 ? S->Opcode[1]
                                          : StringRef();
  std::string Name = (opcode() + "_" + From).str();
  if (opcode().starts_with("vset"))
    for (StringRef Op : {"eq", "ne", "lt", "le", "gt", "ge"})
      if (has(Op))
        Name += ("_" + Op).str();
  Name += has("sat") ? "_sat" : has("add") ? "_add" : "";
  Failed |= !T;
  write(callPTX(Name, {read(1, I32), read(2, I32), read(3, I32)}, I32));
}

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
  if (!From || has("async") || has("bulk") ||
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
    R = callPTX("atom_add_" + getHalfName(T) + (T.Pair ? "x2" : ""), {P, V},
                Ty);
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

/// atom.add.v2.f32 {a, b}, [p], {c, d}: each element is atomic by itself.
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
  if (has("proxy"))
    return;
  bool IsBlock = S->Opcode.back() == "cta";
  B.CreateIntrinsic(
      IsBlock ? Intrinsic::nvvm_membar_cta : Intrinsic::nvvm_membar_gl, {});
}

/// cp.async copies at once; waiting for it is nothing.
void Translator::lowerAsyncCopy() {
  if (!has("async") || has("bulk") || has("mbarrier")) {
    Failed = true;
    return;
  }
  if (has("commit_group") || has("wait_group") || has("wait_all"))
    return;
  const Operand *Size = operand(2);
  if (!Size || Size->Kind != Operand::Integer ||
      !is_contained({4, 8, 16}, Size->Bits)) {
    Failed = true;
    return;
  }
  Value *To = address(0), *From = address(1);
  MaybeAlign Alignment(Size->Bits);
  if (S->Operands.size() == 3) {
    B.CreateMemCpyInline(To, Alignment, From, Alignment,
                         B.getInt64(Size->Bits));
    return;
  }
  Value *Read = B.CreateBinaryIntrinsic(
      Intrinsic::umin, read(3, B.getInt32Ty()), B.getInt32(Size->Bits));
  B.CreateMemSet(To, B.getInt8(0), Size->Bits, Alignment);
  B.CreateMemCpy(To, Alignment, From, MaybeAlign(1), Read);
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
    if (has("wait"))
      B.CreateIntrinsic(Intrinsic::nvvm_barrier_cluster_wait, {});
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

//===----------------------------------------------------------------------===//
// The asm statement
//===----------------------------------------------------------------------===//

/// LLVM's escapes: $$ is a dollar of the program, ${0:x} is operand 0.
static std::string unescape(StringRef Asm) {
  std::string Text;
  while (!Asm.empty()) {
    if (Asm.consume_front("$$")) {
      Text += "$$";
      continue;
    }
    if (Asm.consume_front("${")) {
      StringRef Operand = Asm.take_until([](char C) { return C == '}'; });
      Asm = Asm.drop_front(std::min(Operand.size() + 1, Asm.size()));
      Text += "$" + Operand.split(':').first.str();
      continue;
    }
    Text += Asm.front();
    Asm = Asm.drop_front();
  }
  return Text + ";";
}

/// Puts the value of the asm at \p Call into its place: one output is the
/// result, more are a structure.
static void setResults(IRBuilderBase &B, ArrayRef<Value *> Outputs, Type *Ty) {
  if (Outputs.empty()) {
    B.CreateRetVoid();
    return;
  }
  if (Outputs.size() == 1 && !Ty->isStructTy()) {
    B.CreateRet(Outputs.front());
    return;
  }
  Value *R = PoisonValue::get(Ty);
  for (auto [I, V] : enumerate(Outputs))
    R = B.CreateInsertValue(R, V, I);
  B.CreateRet(R);
}

/// A function that does what the asm of \p Call does, or null.
static Function *translateAsm(CallInst &Call, IntrinsicLibrary &Library) {
  Module &M = *Call.getModule();
  auto *Asm = cast<InlineAsm>(Call.getCalledOperand());
  std::string Text = unescape(Asm->getAsmString());
  StringRef Trimmed = StringRef(Text).trim();
  // Nothing but a comment of an assembler that starts these with a semicolon.
  bool IsEmpty = Trimmed.starts_with(";") && !Trimmed.contains('\n');
  auto Statements = IsEmpty ? SmallVector<Statement, 0>() : ptx::parse(Text);
  if (!Statements)
    return nullptr;

  FunctionType *Ty = Asm->getFunctionType();
  Function *F =
      Function::Create(Ty, GlobalValue::InternalLinkage, "mneme.asm", M);
  setHostTarget(*F);
  F->addFnAttr(Attribute::NoUnwind);
  Translator T(M, Library, *F);

  // Operands are numbered in the order of the constraints, outputs first. An
  // input that is tied to an output is its initial value.
  Type *RetTy = Ty->getReturnType();
  SmallVector<std::string, 4> Outputs;
  unsigned NextArg = 0, Number = 0;
  bool Understood = true;
  for (const InlineAsm::ConstraintInfo &Info : Asm->ParseConstraints()) {
    if (Info.Type == InlineAsm::isClobber)
      continue;
    std::string Name = "$" + utostr(Number++);
    if (Info.isIndirect || Info.Type == InlineAsm::isLabel) {
      Understood = false;
      break;
    }
    if (Info.Type == InlineAsm::isOutput) {
      Type *OutTy = RetTy->isStructTy()
                        ? RetTy->getStructElementType(Outputs.size())
                        : RetTy;
      T.define(Name, OutTy);
      Outputs.push_back(Name);
      continue;
    }
    Argument *Arg = F->getArg(NextArg++);
    T.define(Name, Arg->getType(), Arg);
    StringRef Code = Info.Codes.empty() ? StringRef() : Info.Codes.front();
    unsigned Tied;
    if (!Code.getAsInteger(10, Tied) && Tied < Outputs.size())
      T.define(Outputs[Tied], Arg->getType(), Arg);
  }

  if (!Understood || !T.run(*Statements)) {
    F->eraseFromParent();
    return nullptr;
  }
  SmallVector<Value *, 4> Results;
  for (auto [I, Name] : enumerate(Outputs))
    Results.push_back(T.load(
        Name, RetTy->isStructTy() ? RetTy->getStructElementType(I) : RetTy));
  setResults(T.builder(), Results, RetTy);

  removeUnreachableBlocks(*F);
  SmallVector<AllocaInst *, 16> Slots;
  for (Instruction &I : F->getEntryBlock())
    if (auto *Slot = dyn_cast<AllocaInst>(&I))
      Slots.push_back(Slot);
  DominatorTree DT(*F);
  PromoteMemToReg(Slots, DT);
  return F;
}

PreservedAnalyses HostAsmPass::run(Module &M, ModuleAnalysisManager &) {
  SmallVector<CallInst *, 16> Calls;
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->isInlineAsm())
        Calls.push_back(Call);
  if (Calls.empty())
    return PreservedAnalyses::all();

  IntrinsicLibrary Library(M);
  // InlineAsm objects are unique: the same text and constraints are the same
  // object.
  DenseMap<InlineAsm *, Function *> Translated;
  for (CallInst *Call : Calls) {
    auto *Asm = cast<InlineAsm>(Call->getCalledOperand());
    auto [It, New] = Translated.try_emplace(Asm);
    if (New)
      It->second = translateAsm(*Call, Library);
    if (Function *Body = It->second) {
      Call->setCalledOperand(Body);
      Call->setAttributes({});
      InlineFunctionInfo Info;
      InlineFunction(*Call, Info);
      continue;
    }
    IRBuilder<> B(Call);
    createUnsupported(B, Asm->getAsmString());
    if (!Call->getType()->isVoidTy())
      Call->replaceAllUsesWith(Constant::getNullValue(Call->getType()));
    Call->eraseFromParent();
  }
  for (auto [Asm, Body] : Translated)
    if (Body)
      Body->eraseFromParent();
  return PreservedAnalyses::none();
}
