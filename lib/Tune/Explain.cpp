//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Tune/Explain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Pipeline/PipelineParts.h"
#include "llvm/Mneme/Support/MinimizeSet.h"
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

/// Keys of a group are kept or dropped together: the settings of a launch are
/// meaningful only as a whole.
static StringRef getGroup(StringRef Key) {
  return isLaunchField(Key) ? "launch" : Key;
}

static std::string printKey(const InstanceConfigs &Configs) {
  std::string Text;
  raw_string_ostream OS(Text);
  for (const json::Object &C : Configs)
    OS << json::Value(json::Object(C)) << '\n';
  return Text;
}

namespace {
class Minimizer {
public:
  Minimizer(const InstanceConfigs &Winner, SpeedupsFn Evaluate,
            const ExplainOptions &O)
      : Current(Winner), Steps({Winner}), Evaluate(Evaluate), O(O) {}

  Error minimizeGroups();
  Error minimizeKeys();
  Error minimizePipeline();

  InstanceConfigs Current;
  std::vector<InstanceConfigs> Steps;
  unsigned Evaluations = 0;
  bool Complete = true;

private:
  SpeedupsFn Evaluate;
  const ExplainOptions &O;
  /// Whether the evaluated configurations passed.
  std::map<std::string, bool> Known;

  /// \p Make returns the configurations of a set; nothing if there are none.
  using MakeFn =
      function_ref<std::optional<InstanceConfigs>(const BitVector &)>;
  Expected<std::optional<size_t>> findFirst(ArrayRef<BitVector> Sets,
                                            MakeFn Make);
  Error evaluateNew(ArrayRef<InstanceConfigs> Configs);
  Error minimizeNames(ArrayRef<std::string> Names,
                      function_ref<StringRef(StringRef)> NameOf);
  std::optional<InstanceConfigs>
  without(ArrayRef<std::string> Names, const BitVector &Kept,
          function_ref<StringRef(StringRef)> NameOf) const;
  InstanceConfigs withPipeline(StringRef Text) const;
};
} // namespace

/// Evaluates as many of \p Configs as run in parallel, at least one, unless the
/// limit is reached.
Error Minimizer::evaluateNew(ArrayRef<InstanceConfigs> Configs) {
  std::vector<InstanceConfigs> Batch;
  std::set<std::string> Keys;
  for (const InstanceConfigs &C : Configs) {
    if (Batch.size() == O.BatchSize || Evaluations == O.Limit ||
        (O.IsOver && O.IsOver()))
      break;
    std::string Key = printKey(C);
    if (Known.count(Key) || !Keys.insert(Key).second)
      continue;
    Batch.push_back(C);
    ++Evaluations;
  }
  if (Batch.empty())
    return Error::success();
  Expected<std::vector<std::optional<double>>> Speedups = Evaluate(Batch);
  if (!Speedups)
    return Speedups.takeError();
  for (auto [C, S] : zip_equal(Batch, *Speedups))
    Known[printKey(C)] = S && *S >= O.Share * O.LogSpeedup;
  return Error::success();
}

/// Examines the sets in order, so that the batch size does not affect the
/// result.
Expected<std::optional<size_t>> Minimizer::findFirst(ArrayRef<BitVector> Sets,
                                                     MakeFn Make) {
  std::vector<std::optional<InstanceConfigs>> All;
  for (const BitVector &Set : Sets)
    All.push_back(Make(Set));
  for (size_t I = 0; I != All.size(); ++I) {
    if (!All[I])
      continue;
    if (!Known.count(printKey(*All[I]))) {
      std::vector<InstanceConfigs> Ahead;
      for (const auto &C : ArrayRef(All).drop_front(I))
        if (C)
          Ahead.push_back(*C);
      if (Error E = evaluateNew(Ahead))
        return std::move(E);
    }
    auto Found = Known.find(printKey(*All[I]));
    if (Found == Known.end()) {
      Complete = false;
      return std::nullopt;
    }
    if (Found->second) {
      if (*All[I] != Steps.back())
        Steps.push_back(*All[I]);
      return I;
    }
  }
  return std::nullopt;
}

std::optional<InstanceConfigs>
Minimizer::without(ArrayRef<std::string> Names, const BitVector &Kept,
                   function_ref<StringRef(StringRef)> NameOf) const {
  InstanceConfigs Configs = Current;
  for (const auto &[I, Name] : enumerate(Names)) {
    if (Kept[I])
      continue;
    for (json::Object &C : Configs) {
      SmallVector<std::string> Keys;
      for (const auto &KV : C)
        if (NameOf(KV.first) == Name)
          Keys.push_back(KV.first.str());
      for (const std::string &Key : Keys)
        C.erase(Key);
    }
  }
  return Configs;
}

Error Minimizer::minimizeNames(ArrayRef<std::string> Names,
                               function_ref<StringRef(StringRef)> NameOf) {
  auto Make = [&](const BitVector &Kept) {
    return without(Names, Kept, NameOf);
  };
  Expected<BitVector> Kept =
      minimizeSet(Names.size(), [&](ArrayRef<BitVector> Sets) {
        return findFirst(Sets, Make);
      });
  if (!Kept)
    return Kept.takeError();
  Current = *Make(*Kept);
  return Error::success();
}

static std::vector<std::string>
collectNames(const InstanceConfigs &Configs,
             function_ref<StringRef(StringRef)> NameOf) {
  std::set<std::string> Names;
  for (const json::Object &C : Configs)
    for (const auto &KV : C)
      Names.insert(NameOf(KV.first).str());
  return {Names.begin(), Names.end()};
}

Error Minimizer::minimizeGroups() {
  return minimizeNames(collectNames(Current, getGroup), getGroup);
}

Error Minimizer::minimizeKeys() {
  auto Itself = [](StringRef Key) { return Key; };
  return minimizeNames(collectNames(Current, Itself), Itself);
}

InstanceConfigs Minimizer::withPipeline(StringRef Text) const {
  InstanceConfigs Configs = Current;
  for (json::Object &C : Configs)
    C["passes"] = Text.str();
  return Configs;
}

/// Proceeds by level: the contents of a dropped nest need no evaluation.
Error Minimizer::minimizePipeline() {
  std::optional<StringRef> Text = Current.front().getString("passes");
  auto HasOther = [&](const json::Object &C) {
    return C.getString("passes") != Text;
  };
  if (!Text || any_of(Current, HasOther))
    return Error::success();
  std::optional<PipelineParts> Parts = PipelineParts::parse(*Text);
  if (!Parts)
    return Error::success();
  for (unsigned Level = 0; Level != Parts->numLevels(); ++Level) {
    std::vector<unsigned> Numbers = Parts->partsOfLevel(Level);
    auto Make = [&](const BitVector &Kept) -> std::optional<InstanceConfigs> {
      std::string Less = Parts->keep(Numbers, Kept).print();
      if (Less.empty())
        return std::nullopt;
      return withPipeline(Less);
    };
    Expected<BitVector> Kept =
        minimizeSet(Numbers.size(), [&](ArrayRef<BitVector> Sets) {
          return findFirst(Sets, Make);
        });
    if (!Kept)
      return Kept.takeError();
    Parts = Parts->keep(Numbers, *Kept);
  }
  std::string Minimal = Parts->print();
  if (Minimal != *Text)
    Current = withPipeline(Minimal);
  return Error::success();
}

void mneme::describeChange(
    Explanation &Why, const json::Object &Winner, const json::Object &Minimal,
    function_ref<std::vector<std::string>(StringRef Key)> GetSources) {
  Why.Config = Minimal;
  std::set<std::string> Keys;
  for (const auto &KV : Winner)
    Keys.insert(KV.first.str());
  for (const std::string &Key : Keys) {
    std::vector<std::string> Sources = GetSources(Key);
    bool LacksSource = any_of(Sources, [&](StringRef Source) {
      return Winner.get(Source) && !Minimal.get(Source);
    });
    if (const json::Value *Value = Minimal.get(Key))
      Why.Changes.push_back(
          {Key, *Winner.get(Key), *Value,
           LacksSource ? std::vector<std::string>() : std::move(Sources)});
    else if (!LacksSource)
      Why.Dropped.push_back(Key);
  }
}

Expected<MinimalChange>
mneme::findMinimalChange(const InstanceConfigs &Winner, SpeedupsFn Evaluate,
                         const ExplainOptions &O) {
  Minimizer M(Winner, Evaluate, O);
  if (Error E = M.minimizeGroups())
    return std::move(E);
  if (Error E = M.minimizeKeys())
    return std::move(E);
  if (Error E = M.minimizePipeline())
    return std::move(E);
  return MinimalChange{std::move(M.Steps), M.Complete, M.Evaluations};
}
