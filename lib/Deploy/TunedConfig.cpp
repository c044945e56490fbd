//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackGuards.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/Bake.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"

using namespace llvm;
using namespace llvm::mneme;

bool mneme::readDims(const json::Object &Launch, StringRef Key, Dim3 &D) {
  const json::Object *O = Launch.getObject(Key);
  if (!O)
    return false;
  for (auto [Axis, Size] : {std::pair("x", &D.X), {"y", &D.Y}, {"z", &D.Z}}) {
    int64_t N = O->getInteger(Axis).value_or(0);
    if (N < 1 || N > UINT32_MAX)
      return false;
    *Size = N;
  }
  return true;
}

/// Reads the members that best.json and the provenance in a package share.
static Error readShared(const json::Object &O, TunedConfig &T) {
  T.Arch = O.getString("arch").value_or("").str();
  T.OptLevel = O.getString("opt_level").value_or("").str();
  const json::Object *Config = O.getObject("config");
  if (!Config)
    return createStringError("is damaged: 'config' is missing");
  T.Config = *Config;
  const json::Array *Launches = O.getArray("launches");
  if (!Launches)
    return Error::success();
  for (const json::Value &V : *Launches) {
    const json::Object *Launch = V.getAsObject();
    TunedLaunch &L = T.Launches.emplace_back();
    int64_t SharedMem =
        Launch ? Launch->getInteger("shared_mem").value_or(-1) : -1;
    if (SharedMem < 0 || !readDims(*Launch, "grid", L.Grid) ||
        !readDims(*Launch, "block", L.Block))
      return createStringError("is damaged: invalid member of 'launches'");
    L.SharedMem = SharedMem;
  }
  return Error::success();
}

static Expected<std::vector<TunedConfig>>
readBestConfig(StringRef Text, StringRef Path,
               function_ref<void(const Twine &)> Warn) {
  std::vector<TunedConfig> Configs;
  Expected<BestFile> Best = parseBestFile(Text, Path);
  if (!Best) {
    if (Error E =
            handleErrors(Best.takeError(), [&](const PackRefusal &Refusal) {
              Warn("'" + Path + "' is not applied: " + Refusal.message());
            }))
      return std::move(E);
    return Configs;
  }
  CompareLevel Level = Best->Winner.Level;
  if (!Best->Winner.IsJudgedByApp && Level != CompareLevel::Exact)
    return createStringError(
        "'" + Path + "': " +
        describeLevelRefusal(Level, "'llvm-mneme-deploy pack ") +
        "', and apply the package");
  for (const InstanceWinner &Own : Best->Common) {
    TunedConfig &T = Configs.emplace_back();
    T.File = Path.str();
    T.Kernel = Best->Kernel;
    T.StaticHash = Best->StaticHash;
    T.IsFromHost = Best->Winner.OnHost;
    T.HasOwnWinners = !Best->InstanceWinners.empty();
    if (Error E = readShared(Own.Winner.Provenance, T))
      return createStringError("'" + Path + "' " + toString(std::move(E)));
  }
  return Configs;
}

static Expected<std::vector<TunedConfig>> readPackageConfigs(StringRef Bytes,
                                                             StringRef Path) {
  Expected<TunedPackage> P = parsePackage(Bytes, Path);
  if (!P)
    return P.takeError();
  std::vector<TunedConfig> Configs;
  for (const PackagedKernel &K : P->Kernels)
    for (const PackagedVariant &V : K.Variants) {
      TunedConfig T;
      T.File = Path.str();
      T.Kernel = K.Name;
      T.StaticHash = toHexString(K.StaticHash);
      T.IsFromHost = V.Fields.ImageKind == MNEME_IMAGE_OBJECT;
      Expected<json::Value> Provenance = parseJSON(V.Provenance);
      if (!Provenance)
        consumeError(Provenance.takeError());
      const json::Object *O = Provenance ? Provenance->getAsObject() : nullptr;
      if (!O)
        return createStringError("'" + Path + "': kernel '" + K.Name +
                                 "' has no provenance with its configuration");
      if (O->getObject("imported"))
        return createStringError("'" + Path + "': kernel '" + K.Name +
                                 "' was imported, not measured: use the "
                                 "package at run time");
      if (Error E = readShared(*O, T))
        return createStringError("'" + Path + "' " + toString(std::move(E)));
      Configs.push_back(std::move(T));
    }
  return Configs;
}

Expected<std::vector<TunedConfig>>
mneme::readTunedConfigs(StringRef Path,
                        function_ref<void(const Twine &)> Warn) {
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path);
  if (!File)
    return File.takeError();
  StringRef Bytes = (*File)->getBuffer();
  return Bytes.starts_with(MNEME_PACKAGE_MAGIC)
             ? readPackageConfigs(Bytes, Path)
             : readBestConfig(Bytes, Path, Warn);
}
