//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The report at the end of the process.
//
//===----------------------------------------------------------------------===//

#include "Hex.h"
#include "JSONWriter.h"
#include "Message.h"
#include "ReportFile.h"
#include "Shortage.h"
#include "TunedKernels.h"

#include <cstring>
#include <unistd.h>
#include <utility>

using namespace mneme;

static uint64_t countAll(const FallbackCounts &Counts) {
  uint64_t Sum = 0;
  for (const std::atomic<uint64_t> &N : Counts)
    Sum += N;
  return Sum;
}

namespace {
struct Totals {
  uint64_t Served = 0, Verified = 0, FellBack = 0, Unmatched = 0;
};
} // namespace

/// Launches whose results were compared.
static uint64_t countVerified(const TunedVariant &V) {
  return V.Verdicts[size_t(Verdict::Same)] +
         V.Verdicts[size_t(Verdict::Different)];
}

static Totals totalsOf(const TunedKernel &K) {
  Totals T;
  T.FellBack = countAll(K.FellBack);
  for (const auto &V : K.Variants) {
    T.Served += V->Served;
    T.Verified += countVerified(*V);
    T.FellBack += countAll(V->FellBack);
  }
  return T;
}

static const char *nameOf(uint32_t Launch) {
  return Launch == MNEME_LAUNCH_SAME    ? "same"
         : Launch == MNEME_LAUNCH_COVER ? "cover"
                                        : "fixed";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeReasons(JSONWriter &J, const FallbackCounts &Counts) {
  J.key("reasons").object(JSONWriter::OneLine, [&] {
    for (size_t I = 0; I != Counts.size(); ++I)
      if (uint64_t N = Counts[I])
        J.member(describeFallback(Fallback(I + 1)), N);
  });
}

/// Why launches were not verified, and what differed.
static void writeVerification(JSONWriter &J, const TunedVariant &V) {
  J.member("verified", countVerified(V));
  J.key("unverified").object(JSONWriter::OneLine, [&] {
    for (size_t I = 0; I != NumVerdicts; ++I) {
      const char *Text = describeVerdict(Verdict(I));
      if (uint64_t N = *Text ? V.Verdicts[I].load() : 0)
        J.member(Text, N);
    }
  });
  if (V.Differs)
    J.member("difference", V.Found);
}

static void writeVariant(JSONWriter &J, const TunedVariant &V,
                         const std::string &Path, size_t Number, bool IsTimed) {
  const MnemePackageVariant &F = *V.Tables.Fields;
  J.object(JSONWriter::OneLine, [&] {
    J.member("package", Path);
    J.member("variant", Number);
    J.member("arch", V.Tables.From->text(F.ArchNameOffset));
    J.member("image", hexDigits(F.ImageDigest, sizeof(F.ImageDigest)));
    J.member("launch", nameOf(F.Launch));
    J.member("served", V.Served);
    writeReasons(J, V.FellBack);
    writeVerification(J, V);
    J.member("failures", V.Failures);
    J.member("disabled", V.isDisabled());
    if (!IsTimed)
      return;
    J.member("matched", V.Matched);
    J.key("times").array(JSONWriter::OneLine, [&] {
      for (uint64_t Time : V.Times)
        J.value(Time);
    });
    J.member("cpu_time", V.CPUTime);
  });
}

static Totals
addAll(const std::map<std::string, std::unique_ptr<TunedKernel>> &Kernels,
       const std::vector<std::unique_ptr<TunedStub>> &Stubs) {
  Totals All;
  for (const auto &[Hash, K] : Kernels) {
    Totals T = totalsOf(*K);
    All.Served += T.Served;
    All.Verified += T.Verified;
    All.FellBack += T.FellBack;
  }
  for (const auto &S : Stubs)
    All.Unmatched += S->Unmatched;
  return All;
}

/// Calls \p Visit(variant, path, number from 1 within its package).
template <typename Packages, typename Fn>
static void forEachVariant(const TunedKernel &K, const Packages &All,
                           Fn Visit) {
  const Package *Last = nullptr;
  size_t Number = 0;
  for (const auto &V : K.Variants) {
    Number = V->Tables.From == Last ? Number + 1 : 1;
    Last = V->Tables.From;
    for (const auto &P : All)
      if (&P->File == Last)
        Visit(*V, P->Path, Number);
  }
}

/// "variant 1 of 'app.mneme'". May throw.
std::string TunedKernels::describe(const TunedVariant &V) const {
  std::string Text;
  forEachVariant(
      *V.Of, Packages,
      [&](const TunedVariant &Other, const std::string &Path, size_t Number) {
        if (&Other == &V)
          Text = "variant " + std::to_string(Number) + " of '" + Path + "'";
      });
  return Text;
}

std::string TunedKernels::reportJSON() const {
  Totals All = addAll(Kernels, AllStubs);
  JSONWriter J;
  auto WriteKernel = [&](const std::string &Hash, const TunedKernel &K) {
    J.member("kernel", K.Name);
    J.member("static_hash", hexDigits(Hash.data(), Hash.size()));
    J.member("served", totalsOf(K).Served);
    writeReasons(J, K.FellBack);
    J.breakLine();
    J.key("variants").array(JSONWriter::Lines, [&] {
      forEachVariant(
          K, Packages,
          [&](const TunedVariant &V, const std::string &Path, size_t Number) {
            writeVariant(J, V, Path, Number, Timed != TimedCode::None);
          });
    });
  };
  J.object(JSONWriter::Lines, [&] {
    J.key("packages").array(JSONWriter::Lines, [&] {
      for (const auto &P : Packages)
        J.object(JSONWriter::OneLine, [&] {
          J.member("path", P->Path);
          if (!P->Error.empty())
            J.member("error", P->Error);
        });
    });
    J.member("served", All.Served);
    J.member("verified", All.Verified);
    J.member("fell_back", All.FellBack);
    J.member("too_early", Early);
    J.member("unmatched", All.Unmatched);
    J.member("through_driver", Foreign);
    if (Faulty)
      J.key("fault").object(JSONWriter::OneLine, [&] {
        J.member("error", Fault);
        J.member("kernel", Faulty->Of->Name);
        J.member("variant", describe(*Faulty));
      });
    J.key("kernels").array(JSONWriter::Lines, [&] {
      for (const auto &[Hash, K] : Kernels)
        J.object(JSONWriter::OneLine,
                 [&, &Hash = Hash, &K = K] { WriteKernel(Hash, *K); });
    });
  });
  return J.text() + "\n";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string reasonsText(const FallbackCounts &Counts) {
  std::string Out;
  for (size_t I = 0; I != Counts.size(); ++I)
    if (uint64_t N = Counts[I])
      Out += "mneme:     " + std::to_string(N) +
             " fell back: " + describeFallback(Fallback(I + 1)) + "\n";
  return Out;
}

static std::string verificationText(const TunedVariant &V) {
  std::string Out;
  if (uint64_t N = countVerified(V))
    Out += "mneme:     " + std::to_string(N) + " verified\n";
  for (size_t I = 0; I != NumVerdicts; ++I) {
    const char *Text = describeVerdict(Verdict(I));
    if (uint64_t N = *Text ? V.Verdicts[I].load() : 0)
      Out +=
          "mneme:     " + std::to_string(N) + " not verified: " + Text + "\n";
  }
  if (V.Differs)
    Out += "mneme:     differs: " + V.Found + "\n";
  return Out;
}

std::string TunedKernels::reportText() const {
  Totals All = addAll(Kernels, AllStubs);
  std::string Out =
      "mneme: launches: " + std::to_string(All.Served) +
      " served by tuned kernels, " + std::to_string(All.FellBack) +
      " fell back, " + std::to_string(Early) + " too early, " +
      std::to_string(All.Unmatched) + " of kernels without a tuned one\n";
  if (Verifying.isOn())
    Out += "mneme: verified launches: " + std::to_string(All.Verified) + "\n";
  if (uint64_t N = Foreign)
    Out += "mneme: launches through the driver, which are not served: " +
           std::to_string(N) + "\n";
  for (const auto &[Hash, K] : Kernels) {
    Out += "mneme: kernel '" + K->Name +
           "': " + std::to_string(totalsOf(*K).Served) + " served\n" +
           reasonsText(K->FellBack);
    forEachVariant(
        *K, Packages,
        [&](const TunedVariant &V, const std::string &Path, size_t Number) {
          const Package &P = *V.Tables.From;
          Out += "mneme:   variant " + std::to_string(Number) + " of '" + Path +
                 "' (" + P.text(V.Tables.Fields->ArchNameOffset) +
                 "): " + std::to_string(V.Served) + " served" +
                 (V.isDisabled() ? ", disabled" : "") + "\n" +
                 reasonsText(V.FellBack) + verificationText(V);
        });
  }
  return Out;
}

/// The warning of a process that named packages, launched kernels, but no tuned
/// ones, and got no other warning. May throw.
std::string TunedKernels::explainUnused() const {
  Totals All = addAll(Kernels, AllStubs);
  if (IsEmbedded || Timed == TimedCode::Plain || All.Served || All.Verified ||
      !(All.FellBack + All.Unmatched))
    return "";
  uint64_t Most = 0;
  std::string Why =
      "the packages are for another program, or another build of it: "
      "'llvm-mneme-deploy check --app' compares them";
  auto Weigh = [&](const TunedKernel &K, const FallbackCounts &Counts) {
    for (size_t I = 0; I != Counts.size(); ++I) {
      if (Counts[I] <= Most)
        continue;
      Most = Counts[I];
      Why = "kernel '" + K.Name +
            "' fell back: " + describeFallback(Fallback(I + 1)) +
            " (MNEME_TUNED_REPORT=- has all reasons)";
    }
  };
  for (const auto &[Hash, K] : Kernels) {
    Weigh(*K, K->FellBack);
    for (const auto &V : K->Variants) {
      if (V->Failures || V->Differs)
        return "";
      Weigh(*K, V->FellBack);
    }
  }
  return "mneme: warning: no tuned kernel was launched: " + Why + "\n";
}

void TunedKernels::finish() {
  if (std::exchange(Finished, true) || !HasKernels)
    return;
  Uncancelled Here;
  std::unique_lock<std::mutex> Guard(Lock, std::try_to_lock);
  // Another thread may be in a launch that never ends: a report waits for one
  // second, the warning does not wait.
  const unsigned MaxTries = ReportPath.empty() ? 0 : 100;
  for (unsigned Tries = 0; !Guard && Tries != MaxTries; ++Tries) {
    usleep(10000);
    Guard.try_lock();
  }
  if (ReportPath.empty()) {
    if (Guard && isActive())
      attempt([&] { tell("%s", explainUnused().c_str()); });
    return;
  }
  if (!Guard)
    return tell("mneme: warning: no report of tuned kernels: another thread "
                "uses them\n");
  if (!attempt([&] {
        if (ReportPath == "-")
          return tell("%s", reportText().c_str());
        std::string Path = expand(ReportPath), Text = reportJSON();
        if (!writeFile(Path, Text))
          tell("mneme: warning: cannot write '%s': %s\n", Path.c_str(),
               strerror(errno));
      }))
    tell("mneme: warning: no report of tuned kernels: out of memory\n");
}
