//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// HostAsmPass: turns inline PTX into IR. Each asm statement is translated to a
/// function, in which PTX registers are variables and PTX branches are
/// branches, and then inlined. Computations are calls of the intrinsic library.
/// Special registers and synchronization become the intrinsics that
/// HostIntrinsics lowers next. A statement that is not understood becomes an
/// error that is raised only if it is executed.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "IntrinsicLibrary.h"
#include "PTXTranslator.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Support/Debug.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;
using ptx::Statement;

#define DEBUG_TYPE "mneme-host"
STATISTIC(NumAsm, "Number of asm statements translated");
STATISTIC(NumUnsupportedAsm, "Number of asm statements not understood");
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

/// Emits the return of an asm statement's outputs: one output is the result,
/// several outputs are a structure.
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

/// \returns a function with the effect of the asm of \p Call, or null if the
/// asm is not understood.
static Function *translateAsm(CallInst &Call, IntrinsicLibrary &Library) {
  Module &M = *Call.getModule();
  auto *Asm = cast<InlineAsm>(Call.getCalledOperand());
  std::string Text = unescape(Asm->getAsmString());
  StringRef Trimmed = StringRef(Text).trim();
  // Only a comment, in an assembler whose comments start with a semicolon.
  bool IsEmpty = Trimmed.starts_with(";") && !Trimmed.contains('\n');
  auto Statements = IsEmpty ? SmallVector<Statement, 0>() : ptx::parse(Text);
  if (!Statements)
    return nullptr;

  FunctionType *Ty = Asm->getFunctionType();
  Function *F =
      Function::Create(Ty, GlobalValue::InternalLinkage, "mneme.asm", M);
  setHostTarget(*F);
  F->addFnAttr(Attribute::NoUnwind);
  ptx::Translator T(M, Library, *F);

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

/// \returns the PTX opcode of an intrinsic that accesses a texture or surface,
/// such as "tex.level.a2d.v4.f32.f32" for
/// llvm.nvvm.tex.unified.2d.array.level.v4f32.f32. Empty for other intrinsics.
static std::string getTextureOpcode(StringRef Name) {
  SmallVector<StringRef, 8> Parts;
  if (!Name.consume_front("llvm.nvvm."))
    return "";
  Name.split(Parts, '.');
  StringRef Kind = Parts.front();
  if (!is_contained({"tex", "tld4", "suld", "sust"}, Kind))
    return "";
  bool IsSurface = Kind.starts_with("su");
  std::string Mode, Geometry, Types;
  for (size_t I = 1; I != Parts.size(); ++I) {
    StringRef Part = Parts[I];
    bool IsVector = Part.starts_with("v2") || Part.starts_with("v4");
    // In a gather, "b" is a channel.
    if (Part == "unified" || (IsSurface && Part == "b")) {
      continue;
    } else if (Part == "array") {
      Geometry = "a" + Geometry;
    } else if (is_contained({"1d", "2d", "3d", "cube"}, Part)) {
      Geometry = Part.str();
    } else if (Part == "level" || Part == "grad" || Part.size() == 1) {
      Mode = "." + Part.str();
    } else if (IsVector || Part.starts_with("i")) {
      std::string Type = Part.drop_front(IsVector ? 2 : 0).str();
      llvm::replace(Type, 'i', 'b');
      Types += IsVector ? "." + Part.take_front(2).str() : "";
      Types += "." + Type;
    } else {
      Types += "." + Part.str();
    }
  }
  return (Kind + (IsSurface ? ".b" : Mode) + "." + Geometry + Types).str();
}

/// Replaces an intrinsic by the equivalent inline PTX.
static void replaceByAsm(CallInst &Call, StringRef Opcode) {
  unsigned Number = 0;
  std::string Constraints;
  auto Take = [&](unsigned Count) {
    std::string List;
    for (unsigned I = 0; I != Count; ++I)
      List += (I ? ", $" : "$") + utostr(Number++);
    return "{" + List + "}";
  };
  auto Constrain = [&](const Type *Ty, StringRef Prefix) {
    if (!Constraints.empty())
      Constraints += ",";
    Constraints += Prefix;
    Constraints += Ty->isFloatTy()       ? "f"
                   : Ty->isIntegerTy(64) ? "l"
                   : Ty->isIntegerTy(32) ? "r"
                                         : "h";
  };
  Type *RetTy = Call.getType();
  std::string Text = Opcode.str() + " ";
  if (auto *Struct = dyn_cast<StructType>(RetTy))
    for (Type *Ty : Struct->elements())
      Constrain(Ty, "=");
  else if (!RetTy->isVoidTy())
    Constrain(RetTy, "=");
  for (const Use &Arg : Call.args())
    Constrain(Arg->getType(), "");
  unsigned NumResults = RetTy->isVoidTy()     ? 0
                        : RetTy->isStructTy() ? RetTy->getStructNumElements()
                                              : 1;
  unsigned NumCoordinates = Opcode.contains("cube") ? 3
                            : Opcode.contains("3d") ? 3
                            : Opcode.contains("2d") ? 2
                                                    : 1;
  bool IsLayered = Opcode.contains(".a");
  if (NumResults)
    Text += Take(NumResults) + ", ";
  Text += "[$" + utostr(Number++);
  Text += ", " + Take(NumCoordinates + IsLayered) + "]";
  unsigned Left = NumResults + Call.arg_size() - Number;
  if (Opcode.contains(".grad"))
    Text += ", " + Take(NumCoordinates) + ", " + Take(NumCoordinates);
  else if (Opcode.contains(".level"))
    Text += ", $" + utostr(Number++);
  else if (Left)
    Text += ", " + Take(Left);
  Call.setCalledOperand(InlineAsm::get(Call.getFunctionType(), Text + ";",
                                       Constraints, /*hasSideEffects=*/false));
}

PreservedAnalyses HostAsmPass::run(Module &M, ModuleAnalysisManager &) {
  for (Function &F : M) {
    std::string Opcode =
        F.isIntrinsic() ? getTextureOpcode(F.getName()) : std::string();
    if (!Opcode.empty())
      for (User *U : make_early_inc_range(F.users()))
        replaceByAsm(*cast<CallInst>(U), Opcode);
  }
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
      ++NumAsm;
      Call->setCalledOperand(Body);
      Call->setAttributes({});
      InlineFunctionInfo Info;
      InlineFunction(*Call, Info);
      continue;
    }
    ++NumUnsupportedAsm;
    LLVM_DEBUG(dbgs() << "unsupported PTX: " << Asm->getAsmString() << '\n');
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
