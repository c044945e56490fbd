//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/Verdict.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Indexed by Verdict.
static constexpr StringLiteral VerdictNames[] = {
#define VERDICT(Name) #Name,
#include "llvm/Mneme/Config/Verdicts.def"
};

/// Indexed by CompareLevel.
static constexpr StringLiteral LevelNames[] = {"exact", "tolerance", "envelope",
                                               "unordered"};

/// Indexed by FailureKind::Kind.
static constexpr StringLiteral FailureNames[] = {
    "",
#define FAILING_VERDICT(Name) #Name,
#define FAILURE(Name) #Name,
#include "llvm/Mneme/Config/Verdicts.def"
};

static std::optional<size_t> indexOf(ArrayRef<StringLiteral> Names,
                                     StringRef Name) {
  const StringLiteral *It = llvm::find(Names, Name);
  return It == Names.end() ? std::nullopt : std::optional(It - Names.begin());
}

StringRef mneme::getVerdictName(Verdict V) {
  return VerdictNames[static_cast<unsigned>(V)];
}

bool mneme::isMatch(Verdict V) {
  switch (V) {
#define MATCHING_VERDICT(Name) case Verdict::Name:
#include "llvm/Mneme/Config/Verdicts.def"
    return true;
  default:
    return false;
  }
}

StringRef mneme::getLevelName(CompareLevel L) {
  return LevelNames[static_cast<unsigned>(L)];
}

std::optional<CompareLevel> mneme::parseLevel(StringRef Name) {
  std::optional<size_t> I = indexOf(LevelNames, Name);
  return I ? std::optional(static_cast<CompareLevel>(*I)) : std::nullopt;
}

Verdict mneme::getVerdict(CompareLevel L) {
  switch (L) {
  case CompareLevel::Exact:
    return Verdict::Match;
  case CompareLevel::Tolerance:
    return Verdict::MatchWithinTolerance;
  case CompareLevel::Envelope:
    return Verdict::MatchWithinEnvelope;
  case CompareLevel::Unordered:
    return Verdict::MatchUnordered;
  }
  llvm_unreachable("unknown level");
}

raw_ostream::Colors mneme::getVerdictColor(Verdict V) {
  if (!FailureKind(V).empty())
    return raw_ostream::RED;
  return V == Verdict::NotVerified ? raw_ostream::YELLOW : raw_ostream::GREEN;
}

std::optional<Verdict> mneme::parseVerdict(StringRef Name) {
  std::optional<size_t> I = indexOf(VerdictNames, Name);
  return I ? std::optional(static_cast<Verdict>(*I)) : std::nullopt;
}

StringRef FailureKind::name() const { return FailureNames[K]; }

std::optional<FailureKind> FailureKind::parse(StringRef Name) {
  std::optional<size_t> I = indexOf(FailureNames, Name);
  return I ? std::optional(FailureKind(static_cast<Kind>(*I))) : std::nullopt;
}

FailureKind::FailureKind(StringRef Name) {
  std::optional<FailureKind> Parsed = parse(Name);
  if (!Parsed)
    llvm_unreachable("unknown kind of failure");
  *this = *Parsed;
}

FailureKind::FailureKind(Verdict V)
    : FailureKind(parse(getVerdictName(V)).value_or(None)) {}

raw_ostream &mneme::operator<<(raw_ostream &OS, FailureKind K) {
  return OS << K.name();
}
