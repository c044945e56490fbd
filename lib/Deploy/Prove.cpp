//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/Prove.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Speed-ups
//===----------------------------------------------------------------------===//

static MeasuredSpeedup measure(ArrayRef<double> Plain, ArrayRef<double> Tuned) {
  MeasuredSpeedup M;
  M.Pairs = Plain.size();
  if (M.Pairs)
    M.Ratio = estimatePairedRatio(Plain, Tuned);
  return M;
}

StringRef ProvedVariant::agreement() const {
  if (!Promised || !Measured.Ratio || !Measured.Ratio->hasInterval() ||
      isDisturbed())
    return "";
  // The study's interval is that of one process.
  constexpr double Close = 1 + DefaultMinEffect;
  // Between the caches, the promised interval may span slow-downs, too.
  if (Measured.Ratio->High * Close < std::max(Promised->Low, 1.0))
    return "slower";
  return Measured.Ratio->Low > Promised->High * Close ? "faster" : "yes";
}

/// Returns the provenance of a variant; empty if it has none.
static json::Object readProvenance(const PackagedVariant &V) {
  Expected<json::Value> P = parseJSON(V.Provenance);
  if (!P)
    consumeError(P.takeError());
  const json::Object *O = P ? P->getAsObject() : nullptr;
  return O ? json::Object(*O) : json::Object();
}

static std::optional<RatioEstimate> readSpeedup(const json::Object *O) {
  const json::Object *S = O ? O->getObject("speedup") : nullptr;
  if (!S)
    return std::nullopt;
  RatioEstimate R;
  for (auto [Key, Field] :
       {std::pair("value", &R.Value), {"low", &R.Low}, {"high", &R.High}}) {
    std::optional<double> Number = S->getNumber(Key);
    if (!Number)
      return std::nullopt;
    *Field = *Number;
  }
  return R;
}

/// Reads the speed-up that the study of a variant reported.
static void readPromise(const json::Object &Provenance, ProvedVariant &V) {
  const json::Object *Expected = Provenance.getObject("expected");
  V.Promised = readSpeedup(Expected);
  if (!V.Promised)
    return;
  // The application's kernels find more of their data in the cache than after a
  // flush, and less than after themselves.
  if (std::optional<RatioEstimate> Other =
          readSpeedup(Expected->getObject("other_cache"))) {
    V.SpansCaches = true;
    V.Promised->Low = std::min(V.Promised->Low, Other->Low);
    V.Promised->High = std::max(V.Promised->High, Other->High);
  }
}

//===----------------------------------------------------------------------===//
// Pairs of runs
//===----------------------------------------------------------------------===//

namespace {
class Prover {
public:
  explicit Prover(const ProveOptions &O) : O(O) {}
  Expected<Proof> run();

private:
  struct Pair {
    ApplicationRun Plain, Tuned;
  };

  Error readPromises();
  Error chooseFinish();
  Expected<bool> runOnce(bool IsTuned, bool TimesKernels, ApplicationRun &R);
  Expected<bool> runPair(bool TunedFirst, bool TimesKernels, Pair &P);
  Error addPair(unsigned I, bool TimesKernels);
  Error runPairs();
  void addKernelTimes(const Pair &P);
  void describeVariants();
  bool isOver() const { return !Result.Difference.empty() || NothingServed; }

  const ProveOptions &O;
  std::set<std::string> Finishes; ///< Of the studies on the host device.
  std::unique_ptr<Application> App;
  Proof Result;
  bool NothingServed = false;
  double Start = steadySeconds();
  double TwoRuns = 0;               ///< Seconds of two runs without packages.
  std::vector<ProvedVariant> Known; ///< All variants of the packages.
  /// Times of a variant in all pairs of runs.
  struct KernelTimes {
    std::vector<double> Ratios; ///< One a pair.
    /// Sums of plain and tuned launches.
    double Wall[2] = {}, CPU[2] = {};

    double waiting(unsigned Side) const {
      // Unknown on a GPU.
      return CPU[Side] ? std::max(0.0, 1 - CPU[Side] / Wall[Side]) : 0;
    }
  };
  std::vector<KernelTimes> Measured; ///< Parallel to Known.
};
} // namespace

Error Prover::readPromises() {
  for (const std::string &Path : O.Packages) {
    Expected<TunedPackage> P = readPackage(Path);
    if (!P)
      return P.takeError();
    for (const PackagedKernel &K : P->Kernels)
      for (auto [I, V] : enumerate(K.Variants)) {
        ProvedVariant &New = Known.emplace_back();
        New.Kernel = K.Name;
        New.StaticHash = toHexString(K.StaticHash);
        New.ImageDigest = toHexString(digest128(V.Image));
        New.Package = Path;
        New.Number = I + 1;
        json::Object Provenance = readProvenance(V);
        readPromise(Provenance, New);
        if (V.Fields.ImageKind == MNEME_IMAGE_OBJECT)
          Finishes.insert(
              Provenance.getString("host_finish").value_or("none").str());
      }
  }
  Measured.resize(Known.size());
  return Error::success();
}

/// The speed-ups that studies promise are those over kernels with the studies'
/// --host-finish.
Error Prover::chooseFinish() {
  if (findServedDevice(O.App.Device) != LaunchDevice::Host)
    return Error::success();
  if (O.Finish) {
    Result.Finish = getHostFinishName(*O.Finish).str();
    return Error::success();
  }
  if (Finishes.size() > 1)
    return createStringError(
        "the packages were measured with different --host-finish (" +
        join(Finishes, ", ") +
        "): choose that of the application's own "
        "kernels with --host-finish");
  Result.Finish = Finishes.empty() ? "none" : *Finishes.begin();
  return Error::success();
}

/// Runs the application and judges its results. \returns false if they decide
/// against the packages.
Expected<bool> Prover::runOnce(bool IsTuned, bool TimesKernels,
                               ApplicationRun &R) {
  RunSettings S;
  S.Serve = O.Serve;
  if (IsTuned || TimesKernels)
    S.Packages = O.Packages;
  if (TimesKernels)
    S.Times = IsTuned ? "tuned" : "plain";
  if (Error E = App->run(S).moveInto(R))
    return std::move(E);
  if (!IsTuned) {
    if (Error E = App->comparePlain(R))
      return std::move(E);
    return true;
  }
  if (Error E = App->compare(R).moveInto(Result.Difference))
    return std::move(E);
  // A run that was killed cannot report.
  NothingServed = R.Use.Served == 0 && !R.hasFailed();
  if (NothingServed || Result.Use.NumReports == 0)
    Result.Use = R.Use;
  return !isOver();
}

/// \returns false if one of both runs decides against the packages.
Expected<bool> Prover::runPair(bool TunedFirst, bool TimesKernels, Pair &P) {
  for (bool IsTuned : {TunedFirst, !TunedFirst}) {
    Expected<bool> Ok =
        runOnce(IsTuned, TimesKernels, IsTuned ? P.Tuned : P.Plain);
    if (!Ok || !*Ok)
      return Ok;
  }
  return true;
}

/// Returns the use of a variant; null if there is none. Reports do not have all
/// bytes of a package's path.
static const VariantUse *findUse(const PackageUse &Use,
                                 const ProvedVariant &K) {
  auto I = find_if(Use.Variants, [&](const VariantUse &V) {
    return V.StaticHash == K.StaticHash && V.Number == K.Number &&
           V.ImageDigest == K.ImageDigest;
  });
  return I == Use.Variants.end() ? nullptr : &*I;
}

void Prover::addKernelTimes(const Pair &P) {
  for (auto [K, Own] : zip_equal(Known, Measured)) {
    const VariantUse *Uses[] = {findUse(P.Plain.Use, K),
                                findUse(P.Tuned.Use, K)};
    if (!Uses[0] || !Uses[1])
      continue;
    ArrayRef<double> Plain = Uses[0]->Times, Tuned = Uses[1]->Times;
    auto IsTimed = [](double Time) { return Time > 0; };
    if (!all_of(Plain, IsTimed) || !all_of(Tuned, IsTimed) || Plain.empty() ||
        Tuned.empty())
      continue;
    // The application makes the same launches, unless their number depends on
    // chance, or several processes make them. Launches of one run are not
    // independent, so that each pair of runs is one sample.
    std::vector<double> Each;
    if (Plain.size() == Tuned.size() && P.Plain.Use.NumReports == 1)
      for (auto [A, B] : zip_equal(Plain, Tuned))
        Each.push_back(A / B);
    else
      Each = {summarize(Plain).Median / summarize(Tuned).Median};
    Own.Ratios.push_back(summarize(Each).Median);
    for (auto [Side, Use] : enumerate(Uses)) {
      Own.Wall[Side] += std::accumulate(Use->Times.begin(), Use->Times.end(), 0.0);
      Own.CPU[Side] += Use->CPUTime;
    }
  }
}

Error Prover::addPair(unsigned I, bool TimesKernels) {
  if (O.Say)
    O.Say(formatv("pair {0} of {1}{2}", I + 1,
                  TimesKernels ? O.KernelPairs : O.Pairs,
                  TimesKernels ? " with times of kernels" : ""));
  Pair P;
  Expected<bool> Ok = runPair(/*TunedFirst=*/I % 2, TimesKernels, P);
  if (!Ok)
    return Ok.takeError();
  if (!*Ok)
    return Error::success();
  if (TimesKernels) {
    addKernelTimes(P);
  } else {
    Result.PlainSeconds.push_back(P.Plain.Seconds);
    Result.TunedSeconds.push_back(P.Tuned.Seconds);
  }
  return Error::success();
}

/// Runs both kinds of pairs in turns, so that each gets its part of the time.
Error Prover::runPairs() {
  for (unsigned I = 0; I < std::max(O.Pairs, O.KernelPairs); ++I)
    for (bool TimesKernels : {true, false}) {
      if (I >= (TimesKernels ? O.KernelPairs : O.Pairs) || isOver() ||
          (I && O.Limit > 0 && steadySeconds() - Start > O.Limit))
        continue;
      if (O.Deadline && steadySeconds() + TwoRuns > O.Deadline) {
        if (I || !TimesKernels)
          return Error::success();
        return createStringError("no time is left for a pair of runs");
      }
      if (Error E = addPair(I, TimesKernels))
        return E;
    }
  return Error::success();
}

/// Keeps the variants that were used.
void Prover::describeVariants() {
  for (auto [K, Own] : zip_equal(Known, Measured)) {
    const VariantUse *Use = findUse(Result.Use, K);
    if (!Use || !Use->Served)
      continue;
    K.Served = Use->Served;
    K.Measured =
        measure(Own.Ratios, std::vector<double>(Own.Ratios.size(), 1));
    K.PlainWaiting = Own.waiting(0);
    K.TunedWaiting = Own.waiting(1);
    Result.Variants.push_back(K);
  }
}

Expected<Proof> Prover::run() {
  if (Error E = readPromises())
    return std::move(E);
  if (O.Say)
    O.Say("two runs without packages");
  ApplicationOptions A = O.App;
  A.RunsPipeline = true;
  if (Error E = chooseFinish())
    return std::move(E);
  if (!Result.Finish.empty())
    if (Error E = parseHostFinish(Result.Finish).moveInto(A.Finish))
      return std::move(E);
  double Begin = steadySeconds();
  if (Error E = Application::create(std::move(A)).moveInto(App))
    return std::move(E);
  TwoRuns = steadySeconds() - Begin;
  Result.IsChecked = !O.App.Check.empty();
  Result.Ignored = O.App.IgnoreLines;
  if (Error E = runPairs())
    return std::move(E);
  Result.Application = measure(Result.PlainSeconds, Result.TunedSeconds);
  describeVariants();
  return std::move(Result);
}

Expected<Proof> mneme::prove(const ProveOptions &O) { return Prover(O).run(); }
