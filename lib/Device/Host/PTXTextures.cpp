//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Texture and surface instructions, which become calls of the executor.
//
//===----------------------------------------------------------------------===//

#include "PTXTranslator.h"
#include "llvm/Mneme/Runtime/HostTexture.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::ptx;

/// Declares a function of HostTexture.h with a handle, words and \p Rest as
/// parameters.
static FunctionCallee declare(Module &M, StringRef Name, Type *RetTy,
                              unsigned NumWords, ArrayRef<Type *> Rest,
                              MemoryEffects Effects) {
  LLVMContext &C = M.getContext();
  SmallVector<Type *, 12> Types = {Type::getInt64Ty(C)};
  Types.append(NumWords, Type::getInt32Ty(C));
  append_range(Types, Rest);
  FunctionCallee Callee =
      M.getOrInsertFunction(Name, FunctionType::get(RetTy, Types, false));
  auto *F = cast<Function>(Callee.getCallee());
  F->setMemoryEffects(Effects);
  F->setDoesNotThrow();
  return Callee;
}

/// Adds the handle, a placeholder for the operation, and x, y, z and the layer
/// of [handle, {coordinates}] to \p Args. \returns the geometry.
unsigned Translator::readGeometry(const Operand *O, bool IsInteger,
                                  SmallVectorImpl<Value *> &Args) {
  unsigned Geometry = has("1d") || has("a1d")       ? 1
                      : has("2d") || has("a2d")     ? 2
                      : has("3d")                   ? 3
                      : has("cube") || has("acube") ? MNEME_TEX_CUBE
                                                    : 0;
  bool IsLayered = has("a1d") || has("a2d") || has("acube");
  unsigned NumCoordinates = Geometry == MNEME_TEX_CUBE ? 3 : Geometry;
  Type *I32 = B.getInt32Ty();
  if (!O || !Geometry || O->Kind != Operand::Address ||
      O->Elements.size() != 2) {
    Failed = true;
    return 0;
  }
  Args.push_back(readOperand(O->Elements[0], B.getInt64Ty()));
  Args.push_back(B.getInt32(0));
  const Operand &Where = O->Elements[1];
  // A single coordinate may have no braces.
  ArrayRef<Operand> All = Where.Kind == Operand::Vector
                              ? ArrayRef<Operand>(Where.Elements)
                              : ArrayRef<Operand>(Where);
  Value *Layer = B.getInt32(0);
  if (All.size() < NumCoordinates + IsLayered) {
    Failed = true;
    return 0;
  }
  if (IsLayered) {
    Layer = readOperand(All.front(), I32);
    All = All.drop_front();
  }
  for (unsigned I = 0; I != 3; ++I) {
    if (I >= NumCoordinates)
      Args.push_back(B.getInt32(0));
    else if (IsInteger)
      Args.push_back(readOperand(All[I], I32));
    else
      Args.push_back(B.CreateBitCast(readOperand(All[I], B.getFloatTy()), I32));
  }
  Args.push_back(Layer);
  return Geometry | (IsLayered ? MNEME_TEX_LAYERED : 0) |
         (IsInteger ? MNEME_TEX_INTEGERS : 0);
}

/// tex.geometry.v4.type.type, tex.level, tex.grad, and tld4.channel.
void Translator::lowerTexture() {
  const Operand *To = operand(0);
  bool IsInteger = suffix().isInteger();
  SmallVector<Value *, 12> Args;
  unsigned What = readGeometry(operand(1), IsInteger, Args);
  if (Failed || To->Kind != Operand::Vector || To->Elements.size() != 4 ||
      suffix(1).Bits != 32 || suffix().Bits != 32) {
    Failed = true;
    return;
  }
  if (opcode() == "tld4") {
    What |= MNEME_TEX_GATHER;
    for (unsigned I : {0, 1, 2, 3})
      if (has(StringRef("rgba").substr(I, 1)))
        What |= I << MNEME_TEX_CHANNEL_SHIFT;
  }
  // Offsets and a depth to compare, which may follow, are not supported.
  size_t NumOperands = has("level") ? 3 : has("grad") ? 4 : 2;
  if (S->Operands.size() != NumOperands) {
    Failed = true;
    return;
  }
  SmallVector<Operand, 6> Rest;
  if (has("level")) {
    What |= MNEME_TEX_LEVEL;
    Rest.push_back(*operand(2));
  } else if (has("grad")) {
    What |= MNEME_TEX_GRADIENTS;
    unsigned Count = (What & MNEME_TEX_GEOMETRY) == MNEME_TEX_CUBE
                         ? 3
                         : What & MNEME_TEX_GEOMETRY;
    for (unsigned I : {2, 3}) {
      const Operand *O = operand(I);
      ArrayRef<Operand> Parts = O->Kind == Operand::Vector
                                    ? ArrayRef<Operand>(O->Elements)
                                    : ArrayRef<Operand>(*O);
      // Gradients of three coordinates are padded to four.
      append_range(Rest, Parts.take_front(Count));
    }
  }
  for (unsigned I = 0; I != 6; ++I) {
    if (I >= Rest.size())
      Args.push_back(B.getInt32(0));
    else if (IsInteger)
      Args.push_back(readOperand(Rest[I], B.getInt32Ty()));
    else
      Args.push_back(B.CreateBitCast(readOperand(Rest[I], B.getFloatTy()),
                                     B.getInt32Ty()));
  }
  Args[1] = B.getInt32(What);
  Type *I64 = B.getInt64Ty();
  Value *R = B.CreateCall(declare(M, "__mneme_host_texture",
                                  StructType::get(M.getContext(), {I64, I64}),
                                  11, {}, MemoryEffects::readOnly()),
                          Args);
  for (unsigned I = 0; I != 4; ++I) {
    Value *Half = B.CreateExtractValue(R, I / 2);
    writeOperand(To->Elements[I],
                 B.CreateTrunc(B.CreateLShr(Half, I % 2 * 32), B.getInt32Ty()),
                 false);
  }
}

void Translator::lowerTextureQuery() {
  static constexpr std::pair<StringLiteral, unsigned> Attributes[] = {
      {"width", MNEME_QUERY_WIDTH},
      {"height", MNEME_QUERY_HEIGHT},
      {"depth", MNEME_QUERY_DEPTH},
      {"array_size", MNEME_QUERY_LAYERS},
      {"num_mipmap_levels", MNEME_QUERY_LEVELS}};
  const Operand *O = operand(1);
  for (auto [Name, What] : Attributes)
    if (O && O->Kind == Operand::Address && O->Elements.size() == 1 &&
        has(Name)) {
      Value *Handle = readOperand(O->Elements.front(), B.getInt64Ty());
      write(
          B.CreateCall(declare(M, "__mneme_host_texture_query", B.getInt32Ty(),
                               1, {}, MemoryEffects::readOnly()),
                       {Handle, B.getInt32(What)}));
      return;
    }
  Failed = true;
}

/// suld.b.geometry.vector.type.boundary, and sust.b.
void Translator::lowerSurface() {
  bool IsLoad = opcode() == "suld";
  PTXType T = suffix();
  SmallVector<Value *, 8> Args;
  unsigned What = readGeometry(operand(IsLoad ? 1 : 0), true, Args);
  const Operand *Data = operand(IsLoad ? 0 : 1);
  unsigned Count = has("v4") ? 4 : has("v2") ? 2 : 1;
  // Formatted accesses, which convert, are not supported.
  if (Failed || !has("b") || T.Bits < 8 || T.Bits * Count > 128) {
    Failed = true;
    return;
  }
  ArrayRef<Operand> Parts = Data->Kind == Operand::Vector
                                ? ArrayRef<Operand>(Data->Elements)
                                : ArrayRef<Operand>(*Data);
  if (Parts.size() != Count) {
    Failed = true;
    return;
  }
  What |= T.Bits / 8 * Count << MNEME_SURF_BYTES_SHIFT;
  What |= has("clamp") ? MNEME_SURF_CLAMP : has("zero") ? MNEME_SURF_ZERO : 0;
  Args[1] = B.getInt32(What);
  Type *I64 = B.getInt64Ty(), *I128 = B.getInt128Ty();
  Type *Ty = B.getIntNTy(T.Bits);
  if (IsLoad) {
    Value *R = B.CreateCall(declare(M, "__mneme_host_surface_read",
                                    StructType::get(M.getContext(), {I64, I64}),
                                    5, {}, MemoryEffects::readOnly()),
                            Args);
    Value *All = B.CreateOr(
        B.CreateZExt(B.CreateExtractValue(R, 0), I128),
        B.CreateShl(B.CreateZExt(B.CreateExtractValue(R, 1), I128), 64));
    for (auto [I, Part] : enumerate(Parts))
      writeOperand(Part, B.CreateTrunc(B.CreateLShr(All, I * T.Bits), Ty),
                   false);
    return;
  }
  Value *All = ConstantInt::get(I128, 0);
  for (auto [I, Part] : enumerate(Parts))
    All = B.CreateOr(All, B.CreateShl(B.CreateZExt(readOperand(Part, Ty), I128),
                                      I * T.Bits));
  Args.push_back(B.CreateTrunc(All, I64));
  Args.push_back(B.CreateTrunc(B.CreateLShr(All, 64), I64));
  B.CreateCall(declare(M, "__mneme_host_surface_write", B.getVoidTy(), 5,
                       {I64, I64}, MemoryEffects::unknown()),
               Args);
}
