//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostMatrix.h"
#include "HostABI.h"
#include "IntrinsicLibrary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Module.h"
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

static constexpr unsigned NoType = ~0u;

static unsigned parseMatrixType(StringRef Name) {
  return StringSwitch<unsigned>(Name)
#define MATRIX_TYPE(NAME, BITS) .Case(#NAME, MNEME_MATRIX_##NAME)
#include "llvm/Mneme/Runtime/HostMatrix.def"
      .Default(NoType);
}

/// \returns the type that stands for the family of \p Type in the shapes.
static unsigned getFamily(unsigned Type) {
  switch (Type) {
  case MNEME_MATRIX_u8:
    return MNEME_MATRIX_s8;
  case MNEME_MATRIX_u4:
    return MNEME_MATRIX_s4;
  case MNEME_MATRIX_e5m2:
    return MNEME_MATRIX_e4m3;
  default:
    return Type;
  }
}

/// \returns whether results of products of \p Input can have \p Type.
static bool canAccumulate(unsigned Input, unsigned Type) {
  switch (getFamily(Input)) {
  case MNEME_MATRIX_f16:
  case MNEME_MATRIX_e4m3:
    return Type == MNEME_MATRIX_f16 || Type == MNEME_MATRIX_f32;
  case MNEME_MATRIX_bf16:
  case MNEME_MATRIX_tf32:
    return Type == MNEME_MATRIX_f32;
  case MNEME_MATRIX_f64:
    return Type == MNEME_MATRIX_f64;
  default:
    return Type == MNEME_MATRIX_s32;
  }
}

static unsigned getAccumulator(unsigned Input) {
  for (unsigned Type : {MNEME_MATRIX_f32, MNEME_MATRIX_f64, MNEME_MATRIX_s32})
    if (canAccumulate(Input, Type))
      return Type;
  return NoType;
}

namespace {
struct MatrixShape {
  MnemeMatrixKind Kind;
  unsigned M, N, K, Type;
};
} // namespace

static constexpr MatrixShape Shapes[] = {
#define MATRIX_SHAPE(KIND, M, N, K, TYPE)                                      \
  {MNEME_MATRIX_##KIND, M, N, K, MNEME_MATRIX_##TYPE},
#include "llvm/Mneme/Runtime/HostMatrix.def"
};

/// Reads m16n8k16.
static bool parseShape(StringRef Part, MnemeMatrixOp &Op) {
  return Part.consume_front("m") && !Part.consumeInteger(10, Op.M) &&
         Part.consume_front("n") && !Part.consumeInteger(10, Op.N) &&
         (Part.empty() ||
          (Part.consume_front("k") && !Part.getAsInteger(10, Op.K)));
}

/// Sets the types of \p Op from those that the name of an instruction has.
static bool setTypes(MnemeMatrixOp &Op, ArrayRef<unsigned> Types) {
  auto Set = [&](unsigned D, unsigned A, unsigned B, unsigned C) {
    Op.A = A;
    Op.B = B;
    Op.C = C;
    Op.D = D;
    return getFamily(A) == getFamily(B) && canAccumulate(A, C) &&
           canAccumulate(A, D);
  };
  if (Types.size() == 4)
    return Set(Types[0], Types[1], Types[2], Types[3]);
  if (Types.size() != 1 && Types.size() != 2)
    return false;
  unsigned First = Types.front(), Last = Types.back();
  // Products of f16 are named by D and C.
  if (Types.size() == 2 && canAccumulate(MNEME_MATRIX_f16, First))
    return Set(First, MNEME_MATRIX_f16, MNEME_MATRIX_f16, Last);
  unsigned Result = getAccumulator(First);
  return Result != NoType && Set(Result, First, Last, Result);
}

/// Sets the type of the only operand of a load or store. The others do not
/// matter.
static bool setOperandType(MatrixInstruction &I, ArrayRef<unsigned> Types) {
  if (Types.size() != 1)
    return false;
  bool IsInput = I.Operand == 'a' || I.Operand == 'b';
  for (const MatrixShape &S : Shapes) {
    unsigned Type = Types.front();
    if (S.Kind != MNEME_MATRIX_wmma || S.M != I.Op.M || S.N != I.Op.N ||
        S.K != I.Op.K ||
        !(IsInput ? S.Type == getFamily(Type) : canAccumulate(S.Type, Type)))
      continue;
    I.Op.A = I.Op.B = IsInput ? Type : S.Type;
    I.Op.C = I.Op.D = IsInput ? getAccumulator(S.Type) : Type;
    return true;
  }
  return false;
}

static bool hasShape(const MnemeMatrixOp &Op) {
  return any_of(Shapes, [&](const MatrixShape &S) {
    return S.Kind == Op.Kind && S.M == Op.M && S.N == Op.N && S.K == Op.K &&
           S.Type == getFamily(Op.A);
  });
}

/// Parses ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16.
static std::optional<MatrixInstruction> parseRows(bool IsLoad,
                                                  ArrayRef<StringRef> Parts) {
  MatrixInstruction I;
  I.Kind =
      IsLoad ? MatrixInstruction::GatherRows : MatrixInstruction::ScatterRows;
  I.Op.Kind = IsLoad ? MNEME_MATRIX_GATHER : MNEME_MATRIX_SCATTER;
  for (StringRef Part : Parts) {
    if (is_contained({"sync", "aligned", "m8n8", "b16", "shared"}, Part) ||
        Part.starts_with("p"))
      continue;
    if (Part == "trans")
      I.Op.Flags |= MNEME_MATRIX_TRANSPOSE;
    else if (!Part.consume_front("x") || Part.getAsInteger(10, I.Op.Count))
      return std::nullopt;
  }
  // Other shapes have other types.
  if (!is_contained(Parts, "m8n8") || !is_contained(Parts, "b16") ||
      !is_contained({1, 2, 4}, I.Op.Count))
    return std::nullopt;
  return I;
}

std::optional<MatrixInstruction> host::parseMatrix(ArrayRef<StringRef> Parts) {
  StringRef Name = Parts.front();
  Parts = Parts.drop_front();
  if (Name == "ldmatrix" || Name == "stmatrix")
    return parseRows(Name == "ldmatrix", Parts);
  MatrixInstruction I;
  I.Op.Kind = Name == "wmma" ? MNEME_MATRIX_wmma : MNEME_MATRIX_mma;
  SmallVector<unsigned, 4> Types;
  SmallVector<bool, 2> Rows;
  bool HasBitwise = false;
  for (StringRef Part : Parts) {
    if (unsigned Type = parseMatrixType(Part); Type != NoType)
      Types.push_back(Type);
    else if (Part == "row" || Part == "col")
      Rows.push_back(Part == "row");
    else if (Part == "satfinite")
      I.Op.Flags |= MNEME_MATRIX_SATURATE;
    else if (Part == "and" || Part == "xor")
      HasBitwise = true, I.Op.Flags |= Part == "and" ? MNEME_MATRIX_AND : 0;
    else if (Part == "load" || Part == "store")
      I.Kind =
          Part == "load" ? MatrixInstruction::Load : MatrixInstruction::Store;
    else if (is_contained({"a", "b", "c", "d"}, Part))
      I.Operand = Part.front();
    else if (!is_contained({"sync", "aligned", "mma", "popc", "rn", "stride",
                            "shared", "global"},
                           Part) &&
             !(Part.starts_with("p") && Part.size() == 2) &&
             !parseShape(Part, I.Op))
      return std::nullopt;
  }
  if (I.Kind != MatrixInstruction::Multiply) {
    if (Rows.size() != 1 || !setOperandType(I, Types))
      return std::nullopt;
    I.IsRowMajor = Rows.front();
    return I;
  }
  if (Rows.size() != 2 || !setTypes(I.Op, Types) || !hasShape(I.Op) ||
      HasBitwise != (I.Op.A == MNEME_MATRIX_b1))
    return std::nullopt;
  // Fragments of wmma have one layout, whatever that of the memory was.
  if (I.Op.Kind == MNEME_MATRIX_mma) {
    I.Op.Flags |= Rows[0] ? 0 : MNEME_MATRIX_COLUMN_A;
    I.Op.Flags |= Rows[1] ? MNEME_MATRIX_ROW_B : 0;
    if (!mneme_matrix_has_groups(&I.Op) && (!Rows[0] || Rows[1]))
      return std::nullopt;
  }
  return I;
}

Type *MatrixInstruction::getRegisterTy(LLVMContext &C) const {
  return Op.A == MNEME_MATRIX_f64 ? Type::getInt64Ty(C) : Type::getInt32Ty(C);
}

unsigned MatrixInstruction::getNumRegisters(char Of) const {
  return mneme_matrix_words(&Op, Of) / (Op.A == MNEME_MATRIX_f64 ? 2 : 1);
}

unsigned MatrixInstruction::getNumInputs() const {
  switch (Kind) {
  case Multiply:
    return getNumRegisters('a') + getNumRegisters('b') + getNumRegisters('c');
  case Store:
    return getNumRegisters('d');
  case ScatterRows:
    return Op.Count;
  default:
    return 0;
  }
}

unsigned MatrixInstruction::getNumOutputs() const {
  switch (Kind) {
  case Multiply:
    return getNumRegisters('d');
  case Load:
    return getNumRegisters(Operand);
  case GatherRows:
    return Op.Count;
  default:
    return 0;
  }
}

SmallVector<Value *, 8> host::createMatrix(IRBuilderBase &B,
                                           IntrinsicLibrary &Library,
                                           const MatrixInstruction &I,
                                           ArrayRef<Value *> Inputs,
                                           Value *Address, Value *Stride) {
  assert(Inputs.size() == I.getNumInputs() && "checked by the caller");
  Type *I32 = B.getInt32Ty(), *I64 = B.getInt64Ty();
  Type *Register = I.getRegisterTy(B.getContext());
  // Before the frame is written: the compiler does not look beyond the sync.
  if (I.Kind == MatrixInstruction::Load || I.Kind == MatrixInstruction::Store)
    createSync(B, MNEME_OP_WARP_SYNC);
  Value *Frame = createPlaceholder(B, "frame");
  uint64_t Head[2];
  static_assert(sizeof(MnemeMatrixOp) == sizeof(Head));
  memcpy(Head, &I.Op, sizeof(Head));
  for (unsigned Word : {0, 1})
    B.CreateStore(B.getInt64(Head[Word]),
                  B.CreateConstGEP1_32(I64, Frame, Word));
  Value *Registers = B.CreateConstGEP1_32(B.getInt8Ty(), Frame,
                                          offsetof(MnemeMatrixFrame, Words));
  for (auto [N, V] : enumerate(Inputs))
    B.CreateStore(V, B.CreateConstGEP1_32(Register, Registers, N));

  auto Call = [&](StringRef Name, ArrayRef<Value *> Args) {
    [[maybe_unused]] Value *R =
        Library.call(B, Library.declare(Name), Args, B.getVoidTy());
    assert(R && "the library has this function");
  };
  switch (I.Kind) {
  case MatrixInstruction::Multiply:
    createSync(B, MNEME_OP_MATRIX, 0, nullptr, toBits64(B, Frame));
    break;
  case MatrixInstruction::GatherRows:
    Call("mneme_ptx_ldmatrix", {Frame, Address, B.getInt32(I.Op.Count)});
    break;
  case MatrixInstruction::ScatterRows:
    Call("mneme_ptx_stmatrix", {Frame, Address, B.getInt32(I.Op.Count)});
    break;
  case MatrixInstruction::Load:
  case MatrixInstruction::Store: {
    if (!Stride) {
      unsigned Rows = I.Operand == 'b' ? I.Op.K : I.Op.M;
      unsigned Columns = I.Operand == 'a' ? I.Op.K : I.Op.N;
      Stride = B.getInt32(I.IsRowMajor ? Columns : Rows);
    }
    Call(I.Kind == MatrixInstruction::Load ? "mneme_ptx_wmma_load"
                                           : "mneme_ptx_wmma_store",
         {Frame, Address, B.CreateZExtOrTrunc(Stride, I32),
          B.getInt32(I.Operand), B.getInt32(I.IsRowMajor)});
    break;
  }
  }

  SmallVector<Value *, 8> Outputs;
  for (unsigned N = 0; N != I.getNumOutputs(); ++N)
    Outputs.push_back(
        B.CreateLoad(Register, B.CreateConstGEP1_32(Register, Registers, N)));
  return Outputs;
}

void host::createMatrixFrames(Module &M) {
  for (Function &F : M) {
    Value *Frame = nullptr;
    for (CallInst *Call : findPlaceholders(F)) {
      if (getPlaceholderName(*Call) != "frame")
        continue;
      if (!Frame) {
        BasicBlock &Entry = F.getEntryBlock();
        IRBuilder<> B(&Entry, Entry.begin());
        AllocaInst *Memory = B.CreateAlloca(
            ArrayType::get(B.getInt8Ty(), sizeof(MnemeMatrixFrame)), nullptr,
            "frame");
        Memory->setAlignment(Align(16));
        Frame = Memory;
      }
      Call->replaceAllUsesWith(Frame);
      Call->eraseFromParent();
    }
  }
}
