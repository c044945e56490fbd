//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/SideEffects.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace llvm::mneme;

StringRef mneme::describe(SideEffect Effect) {
  switch (Effect) {
  case SideEffect::None:
    return "has no side effects";
  case SideEffect::RunsPrograms:
    return "runs programs";
  case SideEffect::LoadsPlugins:
    return "loads plugins";
  case SideEffect::ReadsFiles:
    return "reads files";
  case SideEffect::WritesFiles:
    return "writes files";
  case SideEffect::Unknown:
    return "may read or write files";
  }
  llvm_unreachable("all effects are handled");
}

SideEffect mneme::getLLVMOptionEffect(StringRef Name) {
  return StringSwitch<SideEffect>(Name)
#define LLVM_OPTION(Name, Effect) .Case(Name, SideEffect::Effect)
#include "llvm/Mneme/Compile/SideEffects.def"
      .Default(SideEffect::None);
}

static SideEffect getPassEffect(StringRef Name) {
  return StringSwitch<SideEffect>(Name)
#define PASS(Name, Effect) .Case(Name, SideEffect::Effect)
#include "llvm/Mneme/Compile/SideEffects.def"
      .Default(SideEffect::None);
}

NamedSideEffect mneme::findPassEffect(StringRef Pipeline) {
  auto IsOfName = [](char C) { return isAlnum(C) || C == '-' || C == '_'; };
  while (!Pipeline.empty()) {
    StringRef Name = Pipeline.take_while(IsOfName);
    if (SideEffect Effect = getPassEffect(Name); Effect != SideEffect::None)
      return {Name.str(), Effect};
    Pipeline = Pipeline.drop_front(std::max<size_t>(Name.size(), 1));
  }
  return {};
}

NamedSideEffect mneme::findPassEffect(const PipelineSpace &Space) {
#define PASS(Name, Effect)                                                     \
  if (Space.canName(Name))                                                     \
    return {Name, SideEffect::Effect};
#include "llvm/Mneme/Compile/SideEffects.def"
  return {};
}

namespace {
struct PtxasOption {
  StringLiteral Long, Short;
  bool HasValue;
};
} // namespace

static constexpr PtxasOption PtxasOptions[] = {
#define PTXAS_OPTION(Long, Short, HasValue) {Long, Short, HasValue},
#include "llvm/Mneme/Compile/SideEffects.def"
};

static const PtxasOption *findPtxasOption(StringRef Name) {
  auto *It = find_if(PtxasOptions, [&](const PtxasOption &O) {
    return Name == O.Long || (!O.Short.empty() && Name == O.Short);
  });
  return It == std::end(PtxasOptions) ? nullptr : It;
}

NamedSideEffect mneme::findPtxasEffect(ArrayRef<std::string> Words) {
  for (size_t I = 0; I != Words.size(); ++I) {
    StringRef Word = Words[I], Name = Word.split('=').first;
    // A word that is neither an option nor an option's value is an input file.
    const PtxasOption *O = nullptr;
    if (Name.consume_front("-")) {
      Name.consume_front("-");
      if (Name.size() == 2 && Name[0] == 'O' && isDigit(Name[1]))
        continue; // For example -O3, which includes its value.
      O = findPtxasOption(Name);
    }
    if (!O)
      return {Word.str(), SideEffect::Unknown};
    bool IsNextItsValue = O->HasValue && !Word.contains('=') &&
                          I + 1 != Words.size() &&
                          !StringRef(Words[I + 1]).starts_with("-");
    I += IsNextItsValue;
  }
  return {};
}
