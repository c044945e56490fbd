//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

std::vector<std::string> TunedKernel::recordIds() const {
  std::vector<std::string> Ids;
  for (const RecordedInstance &I : Instances)
    Ids.push_back(I.DynamicHash);
  return Ids;
}

static std::string listRecords(ArrayRef<TunedKernel> Kernels) {
  std::string Text;
  for (const TunedKernel &K : Kernels)
    for (const RecordedInstance &I : K.Kernel.Instances)
      Text += formatv("\n  {0}  {1}  grid {2}x{3}x{4}  block {5}x{6}x{7}",
                      I.DynamicHash, K.Kernel.displayName(), I.Grid.X, I.Grid.Y,
                      I.Grid.Z, I.Block.X, I.Block.Y, I.Block.Z)
                  .str();
  return Text;
}

Expected<std::vector<TunedKernel>> mneme::readKernels(StringRef Path) {
  std::vector<std::string> Files = {Path.str()};
  if (sys::fs::is_directory(Path)) {
    Expected<std::vector<std::string>> All = findKernelFiles(Path);
    if (!All)
      return All.takeError();
    Files = std::move(*All);
  }
  std::vector<TunedKernel> Kernels;
  for (std::string &File : Files) {
    Expected<RecordedKernel> K = readKernelFile(File);
    if (!K)
      return K.takeError();
    Kernels.push_back({std::move(File), std::move(*K), {}, {}});
  }
  return Kernels;
}

static bool hasAll(const TunedKernel &K, ArrayRef<std::string> Ids) {
  return all_of(Ids, [&](const std::string &Id) {
    return K.Kernel.findInstance(Id) != nullptr;
  });
}

static void selectInstances(TunedKernel &K, const TuneOptions &O) {
  if (O.RecordIds.empty())
    K.Instances = K.Kernel.Instances;
  for (const std::string &Id : O.RecordIds)
    K.Instances.push_back(*K.Kernel.findInstance(Id));
  for (const RecordedInstance &I : K.Instances) {
    auto Given = O.InstanceWeights.find(I.DynamicHash);
    K.Weights.push_back(Given != O.InstanceWeights.end() ? Given->second
                                                         : I.Occurrences);
  }
}

static Error completeIds(ArrayRef<TunedKernel> Tuned, TuneOptions &O) {
  std::vector<RecordedKernel> Kernels;
  for (const TunedKernel &K : Tuned)
    Kernels.push_back(K.Kernel);
  StringSet<> Seen;
  for (std::string &Id : O.RecordIds) {
    if (Error E = completeRecordId(Id, Kernels).moveInto(Id))
      return E;
    if (!Seen.insert(Id).second)
      return createStringError("--record-id gives '" + Id + "' twice");
  }
  StringMap<double> Weights;
  for (const auto &W : O.InstanceWeights) {
    Expected<std::string> Id = completeRecordId(W.first(), Kernels);
    if (!Id)
      return Id.takeError();
    if (!Weights.try_emplace(*Id, W.second).second)
      return createStringError("--weight gives '" + *Id + "' twice");
  }
  O.InstanceWeights = std::move(Weights);
  return Error::success();
}

/// Like ReplayPlan's selection of a launch, but allows several launches.
Expected<TunedKernel> mneme::chooseRecording(TuneOptions &O) {
  Expected<std::vector<TunedKernel>> Kernels = readKernels(O.Database);
  if (!Kernels)
    return Kernels.takeError();
  if (Error E = completeIds(*Kernels, O))
    return createFileError(O.Database, std::move(E));
  auto Refuse = [&](const Twine &Why) {
    return createFileError(
        O.Database, createStringError(Why + ":" + listRecords(*Kernels)));
  };
  std::vector<TunedKernel *> Found;
  for (TunedKernel &K : *Kernels)
    if (!K.Kernel.Instances.empty() && hasAll(K, O.RecordIds))
      Found.push_back(&K);
  if (Found.empty()) {
    for (const std::string &Id : O.RecordIds)
      if (none_of(*Kernels,
                  [&](const TunedKernel &K) { return hasAll(K, Id); }))
        return Refuse("no record '" + Id + "'; there are");
    if (O.RecordIds.empty())
      return createFileError(O.Database,
                             createStringError("holds no recorded launch"));
    return Refuse(
        "these records belong to several kernels; one is tuned at a time");
  }
  if (Found.size() > 1 && O.RecordIds.empty())
    return Refuse(O.AllInstances
                      ? "holds several kernels: name the file of one, or tune "
                        "--all-kernels"
                      : "holds several records: choose with --record-id, or "
                        "tune --all-kernels");
  if (Found.size() > 1)
    return Refuse("several kernels have this record: name the kernel's file");
  TunedKernel &K = *Found.front();
  if (K.Kernel.Instances.size() > 1 && O.RecordIds.empty() && !O.AllInstances)
    return Refuse(
        "holds several records: choose with --record-id or --all-instances");
  if (std::string Text = getFormatWarning(K.Kernel); !Text.empty())
    printWarning(Text);
  selectInstances(K, O);
  for (const auto &W : O.InstanceWeights)
    if (!is_contained(K.recordIds(), W.first()))
      return Refuse("--weight for '" + W.first() +
                    "', which is not selected; there are");
  return std::move(K);
}
