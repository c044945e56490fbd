//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Translation of one PTX asm statement to IR.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_HOST_PTXTRANSLATOR_H
#define LLVM_MNEME_LIB_DEVICE_HOST_PTXTRANSLATOR_H

#include "IntrinsicLibrary.h"
#include "PTXParser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace llvm {
namespace mneme {
namespace ptx {

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
  /// For Half and BFloat.
  StringRef halfName() const { return Kind == Half ? "f16" : "bf16"; }
};

/// Returns the type of this name (u32, f16x2, pred), or None.
PTXType parseType(StringRef Name);

/// Translates one asm statement into the body of a function.
class Translator {
  Module &M;
  host::IntrinsicLibrary &Library;
  Function &F;
  IRBuilder<> B;
  StringMap<AllocaInst *> Variables;
  StringMap<BasicBlock *> Labels;
  const Statement *S = nullptr; ///< Being translated.
  bool Failed = false;

public:
  Translator(Module &M, host::IntrinsicLibrary &Library, Function &F)
      : M(M), Library(Library), F(F),
        B(BasicBlock::Create(M.getContext(), "", &F)) {
    define("cc", B.getInt1Ty());
  }

  void define(StringRef Name, Type *Ty, Value *Initial = nullptr);
  /// \returns whether all of \p Statements were understood. The builder is then
  /// at the end of the function, which lacks only its terminator.
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

  unsigned readGeometry(const Operand *O, bool IsInteger,
                        SmallVectorImpl<Value *> &Args);

  // One for each METHOD of PTXOpcodes.def.
  void lowerMove();
  void lowerConvert();
  void lowerIdentity();
  void lowerMapa();
  void lowerBlockRank();
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
  void lowerTexture();
  void lowerTextureQuery();
  void lowerSurface();
  void lowerMatrix();
  void lowerFence();
  void lowerPolicy();
  void lowerBarrierObject();
  void lowerAsyncGroup(bool IsBulk);
  void lowerBulkCopy();
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

} // namespace ptx
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_PTXTRANSLATOR_H
