//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm-mneme-replay assess: the share of planted faults that verification
// catches.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Farm/Assess.h"
#include "Modes.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Transforms/Fault.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand &mneme::getAssessCommand() {
  static cl::SubCommand Command(
      "assess", "Plant faults in the recorded kernel and count those that "
                "verification catches");
  return Command;
}

/// Faults are planted in the recorded kernel only.
static Error checkOptions(const ReplayPlan &Plan) {
  if (Plan.options().Passes)
    return createStringError("assess takes no pipeline");
  const auto &Options = cl::getRegisteredOptions(getAssessCommand());
  for (StringRef Name : {"run-passes", "skip-passes", "ir", "config"})
    if (Options.lookup(Name)->getNumOccurrences())
      return createStringError("assess does not take --" + Name);
  return Error::success();
}

static void printAssessment(raw_ostream &OS, const VerificationPower &P,
                            const Assessment &A) {
  for (auto [F, Info] : zip_equal(A.Faults, getFaults())) {
    std::string Outcome = getFaultOutcomeName(F.Outcome).str();
    if (!F.Reason.empty())
      Outcome += " (" + F.Reason + ")";
    OS << left_justify(F.Name, 18) << left_justify(Outcome, 20)
       << Info.Description << '\n';
  }
  OS << '\n' << A.describe() << '\n' << describePower(P) << '\n';
  if (P.Level != CompareLevel::Exact)
    OS << "compared at the level " << getLevelName(P.Level) << '\n';
  if (std::string Envelope = describeEnvelope(P); !Envelope.empty())
    OS << "envelope of " << Envelope << '\n';
}

Expected<int> mneme::runAssess(const Invocation &I) {
  const ReplayPlan &Plan = *I.Plan;
  if (Error E = checkOptions(Plan))
    return std::move(E);
  FarmOptions F;
  F.Devices = {Plan.options().Device};
  F.Message = [](StringRef Text) { printWarning(Text); };
  F.Database = I.Database;
  F.RecordIds = {Plan.instance().DynamicHash};
  F.Base = Plan.options();
  Expected<std::unique_ptr<ReplayFarm>> Farm = ReplayFarm::create(std::move(F));
  if (!Farm)
    return Farm.takeError();
  AssessOptions O;
  O.Pipeline = getClangPipeline(Plan.kernel().OptLevel);
  Expected<Assessment> A = assess(**Farm, O);
  if (!A)
    return A.takeError();
  const VerificationPower &P = (*Farm)->powers().front();
  if (printsText())
    printAssessment(outs(), P, *A);
  else
    outs() << formatv("{0:2}\n", json::Value(json::Object{
                                     {"kernel", Plan.kernel().KernelName},
                                     {"static_hash", Plan.kernel().StaticHash},
                                     {"record_id", Plan.instance().DynamicHash},
                                     {"power", toJSON(P)},
                                     {"assessment", toJSON(*A)}}));
  return A->caught() == A->planted() && !P.isVacuous() ? 0 : 2;
}
