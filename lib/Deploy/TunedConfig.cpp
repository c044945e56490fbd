//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/Bake.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"

using namespace llvm;
using namespace llvm::mneme;

static bool readNumber(const json::Object &O, StringRef Key, uint64_t Max,
                       uint64_t &Out) {
  std::optional<int64_t> N = O.getInteger(Key);
  if (!N || *N < 0 || static_cast<uint64_t>(*N) > Max)
    return false;
  Out = *N;
  return true;
}

static bool readDims(const json::Object &Launch, StringRef Key, Dim3 &D) {
  const json::Object *O = Launch.getObject(Key);
  uint64_t Sizes[3];
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    if (!O || !readNumber(*O, StringRef("xyz").substr(Axis, 1), UINT32_MAX,
                          Sizes[Axis]))
      return false;
  D = {uint32_t(Sizes[0]), uint32_t(Sizes[1]), uint32_t(Sizes[2])};
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
    if (!Launch || !readDims(*Launch, "grid", L.Grid) ||
        !readDims(*Launch, "block", L.Block) ||
        !readNumber(*Launch, "shared_mem", INT64_MAX, L.SharedMem))
      return createStringError("is damaged: invalid member of 'launches'");
  }
  return Error::success();
}

static Expected<std::vector<TunedConfig>>
readBestConfig(StringRef Path, function_ref<void(const Twine &)> Warn) {
  std::vector<TunedConfig> Configs;
  Expected<BestFile> Best = readBestFile(Path);
  if (!Best) {
    if (Error E =
            handleErrors(Best.takeError(), [&](const PackRefusal &Refusal) {
              Warn("'" + Path + "' is not applied: " + Refusal.message());
            }))
      return std::move(E);
    return Configs;
  }
  if (!Best->Winner.IsExact)
    return createStringError(
        "'" + Path +
        "': the study compared results within a tolerance: permit that with "
        "'llvm-mneme-deploy pack --accept=tolerance', and apply the package");
  TunedConfig &T = Configs.emplace_back();
  T.File = Path.str();
  T.Kernel = Best->Kernel;
  T.StaticHash = Best->StaticHash;
  if (Error E = readShared(Best->Winner.Provenance, T))
    return createStringError("'" + Path + "' " + toString(std::move(E)));
  return Configs;
}

static Expected<std::vector<TunedConfig>> readPackageConfigs(StringRef Path) {
  Expected<TunedPackage> P = readPackage(Path);
  if (!P)
    return P.takeError();
  std::vector<TunedConfig> Configs;
  for (const PackagedKernel &K : P->Kernels)
    for (const PackagedVariant &V : K.Variants) {
      TunedConfig T;
      T.File = Path.str();
      T.Kernel = K.Name;
      T.StaticHash = toHexString(K.StaticHash);
      Expected<json::Value> Provenance = parseJSON(V.Provenance);
      if (!Provenance)
        consumeError(Provenance.takeError());
      const json::Object *O = Provenance ? Provenance->getAsObject() : nullptr;
      if (!O)
        return createStringError("'" + Path + "': kernel '" + K.Name +
                                 "' has no provenance with its configuration");
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
  bool IsPackage = (*File)->getBuffer().starts_with(MNEME_PACKAGE_MAGIC);
  return IsPackage ? readPackageConfigs(Path) : readBestConfig(Path, Warn);
}
