//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

static uint64_t getCount(const json::Object &O, StringRef Key) {
  return std::max<int64_t>(O.getInteger(Key).value_or(0), 0);
}

static void addReasons(const json::Object &O, PackageUse &Use) {
  if (const json::Object *Reasons = O.getObject("reasons"))
    for (const auto &[Reason, Count] : *Reasons)
      Use.Reasons[Reason.str()] += Count.getAsInteger().value_or(0);
}

static void addVariant(const json::Object &O, StringRef StaticHash,
                       PackageUse &Use) {
  addReasons(O, Use);
  StringRef Image = O.getString("image").value_or("");
  uint64_t Number = getCount(O, "variant");
  auto Known = find_if(Use.Variants, [&](const VariantUse &V) {
    return V.ImageDigest == Image && V.Number == Number &&
           V.StaticHash == StaticHash;
  });
  if (Known == Use.Variants.end()) {
    VariantUse New;
    New.ImageDigest = Image.str();
    New.Number = Number;
    New.StaticHash = StaticHash.str();
    Use.Variants.push_back(std::move(New));
    Known = std::prev(Use.Variants.end());
  }
  Known->Served += getCount(O, "served");
  if (const json::Array *Times = O.getArray("times"))
    for (const json::Value &Time : *Times)
      Known->Times.push_back(Time.getAsNumber().value_or(0));
  Known->CPUTime += O.getNumber("cpu_time").value_or(0);
}

static Error addReport(StringRef Path, PackageUse &Use) {
  Expected<json::Value> V = readJSONFile(Path);
  if (!V)
    return V.takeError();
  const json::Object *O = V->getAsObject();
  const json::Array *Kernels = O ? O->getArray("kernels") : nullptr;
  if (!Kernels)
    return createFileError(Path, createStringError("it is not a report"));
  ++Use.NumReports;
  Use.Served += getCount(*O, "served");
  Use.FellBack += getCount(*O, "fell_back");
  Use.TooEarly += getCount(*O, "too_early");
  Use.Unmatched += getCount(*O, "unmatched");
  for (const json::Value &One : *Kernels) {
    const json::Object *K = One.getAsObject();
    const json::Array *Variants = K ? K->getArray("variants") : nullptr;
    if (!Variants)
      continue;
    addReasons(*K, Use);
    for (const json::Value &Variant : *Variants)
      if (const json::Object *V = Variant.getAsObject())
        addVariant(*V, K->getString("static_hash").value_or(""), Use);
  }
  return Error::success();
}

Expected<PackageUse> mneme::readPackageUse(StringRef Folder) {
  PackageUse Use;
  std::vector<std::string> Paths;
  std::error_code EC;
  for (sys::fs::directory_iterator I(Folder, EC), End; I != End && !EC;
       I.increment(EC))
    if (sys::path::filename(I->path()).starts_with("report."))
      Paths.push_back(I->path());
  if (EC)
    return createFileError(Folder, EC);
  llvm::sort(Paths);
  for (StringRef Path : Paths)
    if (Error E = addReport(Path, Use))
      return std::move(E);
  return Use;
}

std::string PackageUse::explain() const {
  if (!NumReports)
    return "the deployment runtime did not report: the application launches no "
           "kernel, was built without the plugin, does not end normally, or "
           "starts its processes without LD_PRELOAD and MNEME_* in their "
           "environment";
  std::vector<std::string> Texts;
  for (const auto &[Reason, Count] : Reasons)
    Texts.push_back(formatCount(Count, "launch") + " fell back: " + Reason);
  if (TooEarly)
    Texts.push_back(formatCount(TooEarly, "launch") +
                    " before the device was known");
  if (Unmatched)
    Texts.push_back(formatCount(Unmatched, "launch") +
                    " of kernels in no package");
  return Texts.empty() ? "the application launched no kernel"
                       : join(Texts, "; ");
}

std::string PackageUse::summarize() const {
  uint64_t Total = Served + FellBack + TooEarly + Unmatched;
  if (!Total)
    return "no launch was served: " + explain();
  std::string Text = std::to_string(Served) + " of " +
                     formatCount(Total, "launch") + " served";
  return Served == Total ? Text : Text + ": " + explain();
}
