//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptions of a farm and its work, for journals, summaries and reports.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Farm/Farm.h"

using namespace llvm;
using namespace llvm::mneme;

json::Value mneme::toJSON(const FarmStatistics &S) {
  json::Array Runners;
  for (const FarmStatistics::Runner &R : S.Runners)
    Runners.push_back(json::Object{{"name", json::fixUTF8(R.Name)},
                                   {"runs", R.Runs},
                                   {"busy_seconds", R.BusySeconds},
                                   {"open_seconds", R.OpenSeconds},
                                   {"idle_share", R.idleShare()}});
  json::Object O{{"compile_seconds", S.CompileSeconds},
                 {"runners", std::move(Runners)}};
#define FARM_COUNT(Name, Key, Description) O[Key] = S.Name;
#include "llvm/Mneme/Farm/Counts.def"
  return std::move(O);
}

FarmStatistics &FarmStatistics::operator+=(const FarmStatistics &Other) {
  uint64_t OwnRequests = Requests, OwnResults = Results;
#define FARM_COUNT(Name, Key, Description) Name += Other.Name;
#include "llvm/Mneme/Farm/Counts.def"
  Requests = OwnRequests;
  Results = OwnResults;
  CompileSeconds += Other.CompileSeconds;
  Runners.insert(Runners.end(), Other.Runners.begin(), Other.Runners.end());
  return *this;
}

json::Object mneme::describe(const FarmDescription &D) {
  json::Array List;
  for (const FarmDeviceState &S : D.Devices) {
    json::Object O{{"device", S.Name}, {"id", json::fixUTF8(S.Id)}};
    for (auto [Key, Text] :
         {std::pair("name", &S.Info.Name), std::pair("arch", &S.Info.Arch),
          std::pair("gpu", &S.Info.GPU), std::pair("driver", &S.Info.Driver),
          std::pair("uuid", &S.Info.UUID), std::pair("error", &S.Error)})
      if (!Text->empty())
        O[Key] = json::fixUTF8(*Text);
    if (S.Error.empty() && S.Waiting)
      O["waiting"] = true;
    List.push_back(std::move(O));
  }
  std::string Names =
      join(map_range(D.Devices,
                     [](const FarmDeviceState &S) {
                       return S.Info.GPU.empty() ? S.Name : S.Info.GPU;
                     }),
           ", ");
  return json::Object{{"host", json::fixUTF8(D.Host)},
                      {"device", json::fixUTF8(Names)},
                      {"compile_jobs", D.CompileJobs},
                      {"devices", std::move(List)}};
}

std::string mneme::describeDevices(const json::Object &Description) {
  std::string Text;
  if (const json::Array *Devices = Description.getArray("devices"))
    for (const json::Value &V : *Devices) {
      const json::Object &D = *V.getAsObject();
      StringRef Device = D.getString("device").value_or("");
      if (!Text.empty())
        Text += ", ";
      Text += Device;
      if (std::optional<StringRef> GPU = D.getString("gpu"))
        Text += (" " + *GPU).str();
    }
  if (Text.empty())
    return "workers";
  if (std::optional<StringRef> Host = Description.getString("host"))
    Text += (" of " + *Host).str();
  return Text;
}

std::string mneme::findGPUName(const json::Object &Description,
                               StringRef Device) {
  if (const json::Array *Devices = Description.getArray("devices"))
    for (const json::Value &V : *Devices)
      if (const json::Object &D = *V.getAsObject(); D.getString("id") == Device)
        return D.getString("gpu").value_or("").str();
  return "";
}
