//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic instructions, as IR or as calls of the intrinsic library.
//
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "PTXTranslator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;
using namespace llvm::mneme::ptx;

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

void Translator::lowerMapa() {
  Type *Ty = typeOf(suffix());
  write(callNVVM("mapa", {read(1, Ty), read(2, B.getInt32Ty())}, Ty));
}

void Translator::lowerBlockRank() {
  write(callNVVM("getctarank", {read(1, typeOf(suffix()))}, B.getInt32Ty()));
}

void Translator::lowerIsSpace() {
  auto [Space, Window] = S->Opcode.back().split("::");
  write(callNVVM("isspacep_" + Space + (Window == "cluster" ? "_cluster" : ""),
                 {read(1, B.getPtrTy())}, B.getInt1Ty()));
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
  return callPTX("f32_" + T.halfName(), {V}, B.getFloatTy());
}

Value *Translator::narrowDouble(Value *V, PTXType To, StringRef Mode) {
  return callPTX(To.halfName() + "_f64_" + Mode, {V}, B.getInt16Ty());
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
    return callPTX(To.halfName() + (From.isSigned() ? "_s64_" : "_u64_") + Mode,
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
      V = callNVVM("f2" + To.halfName() + "_" + Mode +
                       (has("relu") ? "_relu" : "") +
                       (has("satfinite") ? "_satfinite" : ""),
                   {V}, B.getInt16Ty());
    return has("sat")
               ? callPTX("saturate_" + To.halfName(), {V}, B.getInt16Ty())
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

/// Converts to and from packed and narrow formats. \returns false for other
/// conversions.
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
  // The 8-bit floats always saturate, so their function names omit it.
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

/// Computes X + Y or X - Y, with carry-in (addc) and carry-out (.cc) as in the
/// opcode. PTX keeps a borrow in the same flag.
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
  StringRef Type16 = T.halfName();
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
  // Division by zero gives all ones. The smallest number by -1 gives itself.
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
      return callNVVM(Name + "_" + T.halfName(), V, B.getInt16Ty());
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

/// Applies the "and" and c of setp.lt.and.f32 p, a, b, c to the comparison.
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
