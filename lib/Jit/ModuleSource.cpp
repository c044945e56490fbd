//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleSource.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns C++ for a type as that of a kernel's parameter, for the layout only.
static std::string describeParameter(const Argument &A, unsigned Index,
                                     std::string &Types) {
  const DataLayout &DL = A.getParent()->getDataLayout();
  Type *T = A.getType();
  if (A.hasByValAttr())
    T = A.getParamByValType();
  else if (T->isPointerTy())
    return "void *";
  else if (T->isFloatTy())
    return "float";
  else if (T->isDoubleTy())
    return "double";
  std::string Name = formatv("Struct{0}", Index).str();
  Types += formatv("struct alignas({0}) {1} { char Bytes[{2}]; };\n",
                   std::max(DL.getABITypeAlign(T).value(),
                            A.getParamAlign().valueOrOne().value()),
                   Name, DL.getTypeAllocSize(T).getFixedValue())
               .str();
  return Name;
}

std::string llvm::mneme::describeKernels(const Module &M) {
  std::string Types, Kernels;
  unsigned Index = 0;
  for (const Function &F : M) {
    if (F.isDeclaration() || !isKernel(F))
      continue;
    std::vector<std::string> Parameters;
    for (const Argument &A : F.args())
      Parameters.push_back(describeParameter(A, Index++, Types));
    Kernels += "extern \"C\" __global__ void " + F.getName().str() + "(" +
               join(Parameters, ", ") + ") {}\n";
  }
  return "#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)\n" +
         Types + Kernels + "#endif\n";
}

bool llvm::mneme::takeFlags(Module &M) {
  auto *Flushes = mdconst::extract_or_null<ConstantInt>(
      M.getModuleFlag("nvvm-reflect-ftz"));
  SmallVector<Module::ModuleFlagEntry, 8> Flags;
  M.getModuleFlagsMetadata(Flags);
  if (NamedMDNode *Old = M.getModuleFlagsMetadata())
    Old->eraseFromParent();
  for (const Module::ModuleFlagEntry &F : Flags)
    if (F.Behavior != Module::Override && F.Behavior != Module::Error)
      M.addModuleFlag(F.Behavior, F.Key->getString(), F.Val);
  return Flushes && !Flushes->isZero();
}

std::unique_ptr<Module> llvm::mneme::keepLines(const Module &M) {
  ValueToValueMapTy Map;
  for (DICompileUnit *CU : M.debug_compile_units())
    Map.MD()[CU].reset(DICompileUnit::getDistinct(
        M.getContext(), CU->getSourceLanguage(), CU->getFile(),
        CU->getProducer(), CU->isOptimized(), CU->getFlags(),
        CU->getRuntimeVersion(), /*SplitDebugFilename=*/"",
        DICompileUnit::DebugDirectivesOnly, /*EnumTypes=*/nullptr,
        /*RetainedTypes=*/nullptr, /*GlobalVariables=*/nullptr,
        /*ImportedEntities=*/nullptr, /*Macros=*/nullptr, /*DWOId=*/0,
        CU->getSplitDebugInlining(), CU->getDebugInfoForProfiling(),
        DICompileUnit::DebugNameTableKind::None,
        /*RangesBaseAddress=*/false, CU->getSysRoot(), CU->getSDK()));
  return CloneModule(M, Map);
}

std::string llvm::mneme::readMLIRString(StringRef Text) {
  std::string Bytes;
  for (size_t I = 0; I < Text.size() && Text[I] != '"'; ++I) {
    if (Text[I] != '\\' || I + 1 == Text.size()) {
      Bytes += Text[I];
    } else if (I + 2 < Text.size() && isHexDigit(Text[I + 1]) &&
               isHexDigit(Text[I + 2])) {
      Bytes += char(hexFromNibbles(Text[I + 1], Text[I + 2]));
      I += 2;
    } else {
      Bytes += Text[++I];
    }
  }
  return Bytes;
}
