//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/AsmAccess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// An instruction of PTX with one place in memory.
struct AsmOpcode {
  StringLiteral Name; ///< Without modifiers.
  bool IsLoad, IsStore;
};
} // namespace

static constexpr AsmOpcode Opcodes[] = {
    {"ld", true, false},        {"ldu", true, false},
    {"ldmatrix", true, false},  {"st", false, true},
    {"stmatrix", false, true},  {"atom", true, true},
    {"red", true, true},        {"prefetch", false, false},
    {"prefetchu", false, false}};

std::optional<unsigned> mneme::findAsmOperand(const CallBase &Call,
                                              unsigned Argument) {
  unsigned Number = 0, Next = 0;
  for (const InlineAsm::ConstraintInfo &C :
       cast<InlineAsm>(Call.getCalledOperand())->ParseConstraints()) {
    if (C.Type == InlineAsm::isClobber)
      continue;
    if (C.hasArg() && Next++ == Argument)
      return isDigit(C.Codes.front().front()) ? std::nullopt
                                              : std::optional(Number);
    ++Number;
  }
  return std::nullopt;
}

/// Returns the type of an opcode's value: f32 or v4.f32.
static Type *findType(ArrayRef<StringRef> Modifiers, LLVMContext &Context) {
  StringRef Last = Modifiers.back();
  unsigned Bits = 0;
  bool IsBrain = Last.consume_front("bf"), IsFloat = Last.consume_front("f");
  if (!IsBrain && !IsFloat)
    Last = Last.drop_while([](char C) { return StringRef("bsu").contains(C); });
  if (Last.getAsInteger(10, Bits) || Bits < 8 || !isPowerOf2_32(Bits))
    return nullptr;
  Type *Ty = IsBrain      ? Type::getBFloatTy(Context)
             : !IsFloat   ? Type::getIntNTy(Context, Bits)
             : Bits == 16 ? Type::getHalfTy(Context)
             : Bits == 32 ? Type::getFloatTy(Context)
                          : Type::getDoubleTy(Context);
  for (auto [Name, Count] : {std::pair("v2", 2), {"v4", 4}, {"v8", 8}})
    if (is_contained(Modifiers, Name))
      return FixedVectorType::get(Ty, Count);
  return Ty;
}

/// Parses the place of an access, "$N" or "$N + offset".
/// \returns null if it is another one.
static const Value *parsePlace(StringRef Place, const CallBase &Call,
                               bool &HasOffset) {
  Place = Place.trim();
  unsigned Number, Offset = 0;
  if (!Place.consume_front("$") || Place.consumeInteger(10, Number))
    return nullptr;
  Place = Place.ltrim();
  if (Place.consume_front("+") && Place.ltrim().getAsInteger(0, Offset))
    return nullptr;
  HasOffset = Offset != 0;
  if (!Place.empty() && !HasOffset && Place.ltrim() != "0")
    return nullptr;
  for (unsigned I = 0; I != Call.arg_size(); ++I)
    if (findAsmOperand(Call, I) == Number)
      return Call.getArgOperand(I);
  return nullptr;
}

/// Adds the access of an instruction. \returns false if it is not understood.
static bool addAccess(StringRef Text, const CallBase &Call,
                      SmallVectorImpl<AsmAccess> &All) {
  Text = Text.trim();
  if (Text.starts_with("@")) // A predicate.
    Text = Text.drop_until(isSpace).ltrim();
  size_t Begin = Text.find('['), End = Text.find(']');
  if (Begin == StringRef::npos)
    return true;
  if (End == StringRef::npos || Text.drop_front(End).contains('['))
    return false;
  SmallVector<StringRef, 8> Parts;
  Text.take_until([](char C) { return isSpace(C) || C == '['; })
      .split(Parts, '.');
  const auto *Opcode = find_if(
      Opcodes, [&](const AsmOpcode &O) { return O.Name == Parts.front(); });
  bool HasOffset = false;
  const Value *Address =
      parsePlace(Text.slice(Begin + 1, End), Call, HasOffset);
  if (Opcode == std::end(Opcodes) || !Address)
    return false;
  AsmAccess &A =
      All.emplace_back(AsmAccess{Address, Opcode->IsLoad, Opcode->IsStore});
  A.IsOwn = any_of(Parts, [](StringRef P) {
    return P.starts_with("shared") || P == "local";
  });
  if (!HasOffset)
    A.Ty = findType(Parts, Call.getContext());
  return true;
}

SmallVector<AsmAccess, 2> mneme::findAsmAccesses(const CallBase &Call) {
  SmallVector<AsmAccess, 2> All;
  const auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand());
  if (!Asm)
    return All;
  StringRef Text = Asm->getAsmString();
  SmallVector<StringRef, 4> Instructions;
  Text.split(Instructions, ';');
  constexpr StringRef AMDWords[] = {"load", "store", "atomic"};
  if (none_of(AMDWords, [&](StringRef Word) { return Text.contains(Word); }) &&
      all_of(Instructions,
             [&](StringRef I) { return addAccess(I, Call, All); }))
    return All;
  All.clear();
  for (const Use &A : Call.args())
    if (A->getType()->isPtrOrPtrVectorTy() || A->getType()->isIntegerTy(64))
      All.push_back({A, true, true});
  return All;
}

bool mneme::isArithmeticPTX(const InlineAsm &Asm) {
  static constexpr StringLiteral Opcodes[] = {
      "abs",  "add",  "addc", "and",      "bfe",   "bfi",   "bfind",
      "brev", "clz",  "cnot", "copysign", "cos",   "cvt",   "div",
      "ex2",  "fma",  "lg2",  "lop3",     "mad",   "mad24", "madc",
      "max",  "min",  "mov",  "mul",      "mul24", "neg",   "not",
      "or",   "popc", "prmt", "rcp",      "rem",   "rsqrt", "sad",
      "selp", "set",  "setp", "shf",      "shl",   "shr",   "sin",
      "slct", "sqrt", "sub",  "subc",     "tanh",  "testp", "xor"};
  StringRef Text = StringRef(Asm.getAsmString()).trim();
  if (Asm.hasSideEffects() || Text.find_first_of("%[") != StringRef::npos)
    return false;
  if (Text.consume_front("{") && !Text.consume_back("}"))
    return false;
  SmallVector<StringRef, 16> Statements;
  Text.split(Statements, ';');
  return all_of(Statements, [](StringRef S) {
    S = S.trim();
    StringRef Opcode =
        S.take_until([](char C) { return C == '.' || isSpace(C); });
    return S.empty() || (!S.contains('\n') && (S.starts_with(".reg ") ||
                                               is_contained(Opcodes, Opcode)));
  });
}
