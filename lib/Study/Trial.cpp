//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/Trial.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

/// Indexed by TrialState, Duplicate and TrialKind.
static constexpr StringLiteral StateNames[] = {"running", "complete", "pruned",
                                               "failed"};
static constexpr StringLiteral DuplicateNames[] = {"none", "config", "ir",
                                                   "assembly", "code"};
static constexpr StringLiteral KindNames[] = {"start",    "search",   "canary",
                                              "enqueued", "imported", "warm"};

template <typename Enum>
static std::optional<Enum> parseName(ArrayRef<StringLiteral> Names,
                                     StringRef Name) {
  const StringLiteral *It = find(Names, Name);
  if (It == Names.end())
    return std::nullopt;
  return static_cast<Enum>(It - Names.begin());
}

StringRef mneme::getTrialStateName(TrialState S) {
  return StateNames[static_cast<unsigned>(S)];
}

StringRef mneme::getDuplicateName(Duplicate D) {
  return DuplicateNames[static_cast<unsigned>(D)];
}

std::optional<Duplicate> mneme::parseDuplicate(StringRef Name) {
  return parseName<Duplicate>(DuplicateNames, Name);
}

StringRef mneme::getTrialKindName(TrialKind K) {
  return KindNames[static_cast<unsigned>(K)];
}

std::optional<TrialKind> mneme::parseTrialKind(StringRef Name) {
  return parseName<TrialKind>(KindNames, Name);
}
