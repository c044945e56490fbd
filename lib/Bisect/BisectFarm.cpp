//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BisectFarm.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Replay/Metrics.h"

using namespace llvm;
using namespace llvm::mneme;

FarmOptions mneme::makeFarmOptions(const ReplayPlan &Plan,
                                   const ReplayBisectOptions &O) {
  FarmOptions F;
  static_cast<FarmResources &>(F) = O.Resources;
  F.Database = O.Database;
  F.RecordIds = {Plan.instance().DynamicHash};
  F.Base = Plan.options();
  F.Base.Instruments = InstrumentOptions();
  // Verification does not measure times, and races need more than one core.
  F.ShareCores = O.Bisect.Judge.What.isVerify();
  // Metrics of the machine code need no launch.
  if (needsResources(O.Bisect.Judge.What.Metric))
    F.Base.Execute = false;
  return F;
}

Expected<std::unique_ptr<ReplayFarm>>
mneme::startFarm(const ReplayPlan &Plan, const ReplayBisectOptions &O) {
  Expected<std::unique_ptr<ReplayFarm>> Farm =
      ReplayFarm::create(makeFarmOptions(Plan, O));
  if (!Farm)
    return Farm;
  const VerificationPower &Power = (*Farm)->powers().front();
  if (O.Bisect.Judge.What.isVerify() && Power.isVacuous() && !O.AllowVacuous)
    return createStringError(describePower(Power) +
                             "; bisect another launch, or allow this one with "
                             "--allow-vacuous");
  // Both sides would fail.
  if (std::string Advice = adviseJudge(Power);
      O.Bisect.Judge.What.isVerify() && !Advice.empty())
    return createStringError(Advice);
  return Farm;
}

/// Calls \p Test for each device until it returns true.
static bool anyDevice(const Evaluator &E,
                      function_ref<bool(const json::Object &)> Test) {
  json::Object Description = E.describe();
  const json::Array *Devices = Description.getArray("devices");
  return Devices && any_of(*Devices, [&](const json::Value &V) {
           const json::Object *D = V.getAsObject();
           return D && Test(*D);
         });
}

bool mneme::isOnHost(const Evaluator &E) {
  return anyDevice(
      E, [](const json::Object &D) { return D.getString("device") == "host"; });
}

std::string mneme::describeDevice(const Evaluator &E, const Criterion &What) {
  if (needsResources(What.Metric))
    return "none: nothing is launched";
  std::string Text;
  anyDevice(E, [&](const json::Object &D) {
    Text = D.getString("device").value_or("").str();
    if (std::optional<StringRef> GPU = D.getString("gpu"))
      Text += (" (" + *GPU + ")").str();
    return true;
  });
  return Text;
}
