//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Config/Verdict.h"
#include "llvm/Mneme/Serve/Serve.h"
#include "llvm/Mneme/Support/Version.h"

using namespace llvm;
using namespace llvm::mneme;

static StringRef getTypeName(SettingType T) {
  switch (T) {
  case SettingType::Bool:
    return "bool";
  case SettingType::Int:
    return "int";
  case SettingType::Text:
    return "text";
  }
  llvm_unreachable("unknown type");
}

static json::Array describeSettings() {
  json::Array Settings;
  for (const SettingInfo &S : getSettings())
    Settings.push_back(json::Object{
        {"key", S.Key},
        {"type", getTypeName(S.Type)},
        {"option", S.Option},
        {"tune_option", S.isSearched() ? StringRef(S.TuneOption) : ""},
        {"is_launch", S.Stage == SettingStage::Launch},
        {"help", S.Help}});
  return Settings;
}

static json::Array describeMetrics() {
  json::Array Metrics;
  for (const MetricInfo &M : getMetricInfos())
    Metrics.push_back(json::Object{
        {"name", M.Name},
        {"unit", M.Unit},
        {"direction",
         M.BetterWhen == Direction::Minimize ? "minimize" : "maximize"},
        {"of_image", M.OfImage},
        {"help", M.Description}});
  return Metrics;
}

static json::Array listVerdicts() {
  return json::Array{
#define VERDICT(Name) #Name,
#include "llvm/Mneme/Config/Verdicts.def"
  };
}

static json::Array listFailures() {
  return json::Array{
#define FAILING_VERDICT(Name) #Name,
#define FAILURE(Name) #Name,
#include "llvm/Mneme/Config/Verdicts.def"
  };
}

static json::Array describeSamplers() {
  json::Array Samplers;
#define SAMPLER(Name, Factory, Description)                                    \
  Samplers.push_back(json::Object{{"name", Name}, {"help", Description}});
#include "llvm/Mneme/Samplers/Samplers.def"
  return Samplers;
}

json::Object mneme::describeTables() {
  return json::Object{{"version", getVersion()},
                      {"protocol", ServeProtocolVersion},
                      {"llvm", LLVM_VERSION_STRING},
                      {"settings", describeSettings()},
                      {"metrics", describeMetrics()},
                      {"verdicts", listVerdicts()},
                      {"failures", listFailures()},
                      {"samplers", describeSamplers()}};
}
