//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Device/Host/ThreadSupport.h"
#include "HostABI.h"
#include "IntrinsicLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

static constexpr StringLiteral NVVM = "llvm.nvvm.";

namespace {
class SupportBuilder {
public:
  SupportBuilder(ArrayRef<Module *> Sides, StringRef Kernel)
      : Sides(Sides), Kernel(*Sides.front()->getFunction(Kernel)),
        M("support.ll", Sides.front()->getContext()),
        Void(Type::getVoidTy(M.getContext())),
        I32(Type::getInt32Ty(M.getContext())),
        Ptr(PointerType::get(M.getContext(), 0)) {
    M.setTargetTriple(Sides.front()->getTargetTriple());
    M.setDataLayout(Sides.front()->getDataLayout());
  }

  Expected<std::string> run(ArrayRef<uint64_t> Offsets, uint64_t DynamicShared);

private:
  ArrayRef<Module *> Sides;
  const Function &Kernel;
  Module M;
  Type *Void, *I32, *Ptr;

  Error checkInstructions(const Module &Side) const;
  Error wrapIntrinsic(const Function &F);
  Error wrapIntrinsics();
  Error lower();
  Error definePlaceholders(uint64_t DynamicShared);
  void defineShared(uint64_t DynamicShared);
  void defineReflect();
  void defineRunThread(ArrayRef<uint64_t> Offsets);
};
} // namespace

/// Inline PTX cannot be renamed.
Error SupportBuilder::checkInstructions(const Module &Side) const {
  for (const Function &F : Side)
    for (const Instruction &I : instructions(F)) {
      const auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      if (Call->isInlineAsm())
        return createStringError("function '" + F.getName() +
                                 "' has inline PTX");
      if (Call->isIndirectCall())
        return createStringError("function '" + F.getName() +
                                 "' calls through pointers");
    }
  return Error::success();
}

/// Defines nvvm.X as a call of llvm.nvvm.X, which the lowering then replaces.
Error SupportBuilder::wrapIntrinsic(const Function &F) {
  StringRef Name = F.getName();
  std::string NewName = (IntrinsicPrefix + Name.drop_front(NVVM.size())).str();
  if (M.getFunction(NewName) || F.use_empty())
    return Error::success();
  for (unsigned I = 0; I != F.arg_size(); ++I)
    if (F.hasParamAttribute(I, Attribute::ImmArg))
      return createStringError("the kernel needs '" + Name +
                               "', which is no function of its operands");
  auto *Wrapper = Function::Create(F.getFunctionType(),
                                   Function::ExternalLinkage, NewName, M);
  IRBuilder<> B(BasicBlock::Create(M.getContext(), "", Wrapper));
  SmallVector<Value *, 8> Args(make_pointer_range(Wrapper->args()));
  CallInst *Call =
      B.CreateCall(M.getOrInsertFunction(Name, F.getFunctionType()), Args);
  if (F.getReturnType()->isVoidTy())
    B.CreateRetVoid();
  else
    B.CreateRet(Call);
  return Error::success();
}

static bool isReflect(const Function &F) {
  return F.getName() == "__nvvm_reflect" || F.getName() == "llvm.nvvm.reflect";
}

Error SupportBuilder::wrapIntrinsics() {
  for (const Module *Side : Sides) {
    if (Error E = checkInstructions(*Side))
      return E;
    for (const Function &F : *Side) {
      if (!F.isDeclaration() || F.use_empty() || isReflect(F))
        continue;
      if (F.getName().starts_with(NVVM)) {
        if (Error E = wrapIntrinsic(F))
          return E;
      } else if (!F.isIntrinsic()) {
        return createStringError("the kernel calls '" + F.getName() +
                                 "' of the GPU's runtime");
      }
    }
  }
  return Error::success();
}

/// Returns the intrinsic that \p F stands for.
static std::string getIntrinsic(const Function &F) {
  return (NVVM + F.getName().drop_front(IntrinsicPrefix.size())).str();
}

Error SupportBuilder::lower() {
  ModuleAnalysisManager MAM;
  HostNormalizePass().run(M, MAM);
  HostIntrinsicsPass().run(M, MAM);
  if (Error E = takeLoweringError(M))
    return E;
  for (const Function &F : M)
    for (const Instruction &I : instructions(F)) {
      const auto *Call = dyn_cast<CallInst>(&I);
      const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (!Callee)
        continue;
      if (SyncCall::classof(Call))
        return createStringError("threads wait for others in '" +
                                 getIntrinsic(F) + "'");
      if (Callee->isDeclaration() && !Callee->isIntrinsic() &&
          getPlaceholderName(*Call).empty())
        return createStringError("the kernel needs '" + getIntrinsic(F) +
                                 "' of the host device's runtime");
    }
  return Error::success();
}

/// Defines the registers of a thread from the array of the program.
Error SupportBuilder::definePlaceholders(uint64_t DynamicShared) {
  static constexpr StringLiteral Vectors[] = {"tid", "ntid", "ctaid", "nctaid"};
  auto *Array = new GlobalVariable(
      M, ArrayType::get(I32, 3 * std::size(Vectors)), /*isConstant=*/false,
      GlobalValue::ExternalLinkage, nullptr, RegistersSymbol);
  auto Load = [&](IRBuilder<> &B, unsigned I) -> Value * {
    return B.CreateLoad(
        I32, B.CreateConstInBoundsGEP2_32(Array->getValueType(), Array, 0, I));
  };
  auto Linear = [&](IRBuilder<> &B) {
    Value *YZ = B.CreateAdd(Load(B, 1), B.CreateMul(Load(B, 4), Load(B, 2)));
    return B.CreateAdd(Load(B, 0), B.CreateMul(Load(B, 3), YZ));
  };
  auto Find = [&](IRBuilder<> &B, StringRef Name) -> Value * {
    constexpr unsigned WarpSize = 32;
    if (Name == "laneid")
      return B.CreateURem(Linear(B), B.getInt32(WarpSize));
    if (Name == "warpid")
      return B.CreateUDiv(Linear(B), B.getInt32(WarpSize));
    if (Name == "dynsize")
      return B.getInt32(DynamicShared);
    auto [Vector, Axis] = Name.split('.');
    const auto *It = find(Vectors, Vector);
    if (It == std::end(Vectors))
      return nullptr;
    return Load(B, 3 * (It - std::begin(Vectors)) + (Axis.front() - 'x'));
  };
  static constexpr StringLiteral Prefix = "mneme.host.";
  for (Function &F : make_early_inc_range(M)) {
    StringRef Name = F.getName();
    if (!Name.consume_front(Prefix))
      continue;
    if (F.use_empty()) {
      F.eraseFromParent();
      continue;
    }
    IRBuilder<> B(BasicBlock::Create(M.getContext(), "", &F));
    Value *V = Find(B, Name);
    if (!V) {
      const auto *User = cast<Instruction>(*F.user_begin());
      return createStringError("the kernel needs '" +
                               getIntrinsic(*User->getFunction()) +
                               "' of the host device's runtime");
    }
    B.CreateRet(V);
    // They were those of a constant.
    F.setAttributes({});
    F.setName(("gpu." + Name).str());
    F.setLinkage(GlobalValue::InternalLinkage);
  }
  return Error::success();
}

/// All arrays of dynamic size begin at the same address.
void SupportBuilder::defineShared(uint64_t DynamicShared) {
  const Align Alignment(128);
  GlobalVariable *Memory = nullptr;
  for (const Module *Side : Sides)
    for (const GlobalVariable &G : Side->globals()) {
      if (!G.isDeclaration() || G.getAddressSpace() != SharedAS ||
          M.getNamedAlias(G.getName()))
        continue;
      if (!Memory) {
        Type *Ty = ArrayType::get(Type::getInt8Ty(M.getContext()),
                                  alignTo(DynamicShared + 1, Alignment));
        Memory = new GlobalVariable(M, Ty, /*isConstant=*/false,
                                    GlobalValue::InternalLinkage,
                                    Constant::getNullValue(Ty), "gpu.shared");
        Memory->setAlignment(Alignment);
      }
      GlobalAlias::create(Memory->getValueType(), 0,
                          GlobalValue::ExternalLinkage, G.getName(), Memory,
                          &M);
    }
}

/// Returns 900 for sm_90.
static unsigned getArchNumber(const Module &M) {
  unsigned Arch = 0;
  for (const Function &F : M) {
    StringRef CPU = F.getFnAttribute("target-cpu").getValueAsString();
    if (CPU.consume_front("sm_") && !CPU.consumeInteger(10, Arch))
      break;
  }
  return 10 * Arch;
}

/// libdevice asks for the architecture, and whether subnormal numbers are
/// zeros. Everything else that it may ask is 0, as for LLVM.
void SupportBuilder::defineReflect() {
  for (const Module *Side : Sides)
    for (const Function &F : *Side) {
      if (!F.isDeclaration() || !isReflect(F))
        continue;
      StringRef Name = F.getName();
      std::string NewName = Name.consume_front(NVVM)
                                ? (IntrinsicPrefix + Name).str()
                                : Name.str();
      if (M.getFunction(NewName))
        continue;
      auto *R = Function::Create(F.getFunctionType(), Function::ExternalLinkage,
                                 NewName, M);
      IRBuilder<> B(BasicBlock::Create(M.getContext(), "", R));
      unsigned Flush = 0;
      if (auto *Flag = mdconst::extract_or_null<ConstantInt>(
              Side->getModuleFlag("nvvm-reflect-ftz")))
        Flush = Flag->getZExtValue();
      // "__CUDA_ARCH", "__CUDA_FTZ", "__CUDA_PREC_SQRT", ...
      constexpr unsigned Distinct = 7;
      Value *Letter = B.CreateLoad(
          B.getInt8Ty(),
          B.CreateConstInBoundsGEP1_32(B.getInt8Ty(), R->getArg(0), Distinct));
      auto Number = [&](unsigned N) {
        return ConstantInt::get(R->getReturnType(), N);
      };
      Value *Answer = B.CreateSelect(B.CreateICmpEQ(Letter, B.getInt8('F')),
                                     Number(Flush), Number(0));
      B.CreateRet(B.CreateSelect(B.CreateICmpEQ(Letter, B.getInt8('A')),
                                 Number(getArchNumber(*Side)), Answer));
    }
}

void SupportBuilder::defineRunThread(ArrayRef<uint64_t> Offsets) {
  LLVMContext &C = M.getContext();
  auto *Callee = Function::Create(
      Kernel.getFunctionType(), Function::ExternalLinkage, Kernel.getName(), M);
  auto *Run = Function::Create(FunctionType::get(Void, {Ptr}, false),
                               Function::ExternalLinkage, RunThreadSymbol, M);
  IRBuilder<> B(BasicBlock::Create(C, "", Run));
  SmallVector<Value *, 8> Args;
  for (auto [Param, Offset] : zip_equal(Kernel.args(), Offsets)) {
    Value *At =
        B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Run->getArg(0), Offset);
    if (Param.hasByValAttr())
      Args.push_back(At);
    else
      Args.push_back(B.CreateAlignedLoad(Param.getType(), At, Align(1)));
    // Those that decide how an argument is passed.
    for (Attribute::AttrKind Kind : {Attribute::ByVal, Attribute::Alignment,
                                     Attribute::SExt, Attribute::ZExt})
      if (Attribute A =
              Kernel.getAttributes().getParamAttr(Param.getArgNo(), Kind);
          A.isValid())
        Callee->addParamAttr(Param.getArgNo(), A);
  }
  CallInst *Call = B.CreateCall(Callee, Args);
  Call->setAttributes(Callee->getAttributes());
  B.CreateRetVoid();
}

Expected<std::string> SupportBuilder::run(ArrayRef<uint64_t> Offsets,
                                          uint64_t DynamicShared) {
  if (Error E = wrapIntrinsics())
    return std::move(E);
  if (Error E = lower())
    return std::move(E);
  if (Error E = definePlaceholders(DynamicShared))
    return std::move(E);
  defineShared(DynamicShared);
  defineReflect();
  defineRunThread(Offsets);
  for (Function &F : M)
    for (StringRef Name : {"target-cpu", "target-features", "tune-cpu"})
      F.removeFnAttr(Name);
  M.setTargetTriple(Triple());
  M.setDataLayout("");
  std::string Text;
  raw_string_ostream OS(Text);
  if (verifyModule(M, &OS))
    return createStringError("invalid support code: " +
                             StringRef(Text).split('\n').first);
  Text.clear();
  OS << M;
  return Text;
}

Expected<std::string> mneme::makeThreadSupport(ArrayRef<Module *> Sides,
                                               StringRef Kernel,
                                               ArrayRef<uint64_t> Offsets,
                                               uint64_t DynamicShared) {
  for (const Module *Side : Sides)
    if (!Side->getTargetTriple().isNVPTX())
      return createStringError("the kernel is for '" +
                               Side->getTargetTriple().str() +
                               "', not for NVPTX");
  return SupportBuilder(Sides, Kernel).run(Offsets, DynamicShared);
}
