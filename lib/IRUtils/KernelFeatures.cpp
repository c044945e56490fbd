//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/KernelFeatures.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/FunctionPropertiesAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;

/// Converts the output of LLVM's FunctionPropertiesAnalysis, such as
/// "BasicBlockCount: 3", to JSON.
static json::Object getProperties(const Function &F) {
  DominatorTree DT(const_cast<Function &>(F));
  LoopInfo LI(DT);
  std::string Text;
  raw_string_ostream OS(Text);
  FunctionPropertiesInfo::getFunctionPropertiesInfo(F, DT, LI, nullptr)
      .print(OS);
  json::Object Properties;
  for (StringRef Line : split(Text, '\n')) {
    auto [Name, Value] = Line.split(": ");
    int64_t Number;
    if (!Value.trim().getAsInteger(10, Number))
      Properties[Name.str()] = Number;
  }
  return Properties;
}

/// Counts in the whole module: called functions belong to the kernel.
static json::Object countOpcodes(const Module &M) {
  std::map<StringRef, int64_t> Counts;
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      ++Counts[I.getOpcodeName()];
  json::Object Opcodes;
  for (auto [Name, Count] : Counts)
    Opcodes[Name.str()] = Count;
  return Opcodes;
}

json::Object mneme::getKernelFeatures(const Module &M, const Function &Kernel) {
  return json::Object{{"function", getProperties(Kernel)},
                      {"opcodes", countOpcodes(M)}};
}
