//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunedKernels.h"
#include "Descriptor.h"
#include "EmbeddedPackages.h"
#include "Message.h"
#include "PayloadKernels.h"
#include "Settings.h"
#include "Shortage.h"
#include "llvm/Mneme/Runtime/DeployEnvironment.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <unistd.h>
#include <utility>

using namespace mneme;

TunedKernels &TunedKernels::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(TunedKernels) static char Storage[sizeof(TunedKernels)];
  static TunedKernels &T = *new (Storage) TunedKernels;
  return T;
}

static bool isStrict() {
  const char *Text = getSecureVariable(MNEME_ENV_TUNED_STRICT);
  return Text && !strcmp(Text, "1");
}

void TunedKernels::startIfStrict() {
  if (isStrict())
    start();
}

/// Takes no lock, because patchSlots() calls it with Program::Lock, which is
/// taken after \p Lock elsewhere. No other thread uses the packages before
/// Active is set.
void TunedKernels::start() {
  if (Started.exchange(true))
    return;
  const char *Paths = getSecureVariable(MNEME_ENV_TUNED);
  if (Paths && !*Paths)
    return;
  Strict = isStrict();
  bool Ok = true;
  if (!attempt([&] {
        uint32_t Scope = 0, Shape = 0, Match = 0, Capture = 0, Times = 0;
        uint32_t Code = MNEME_CODE_VERIFIED;
        Ok &= choose(MNEME_ENV_TUNED_SCOPE, {"recorded", "kernel"}, Scope,
                     Strict);
        Ok &= choose(MNEME_ENV_TUNED_LAUNCH_SHAPE,
                     {"proven", "verified", "unproven"}, Shape, Strict);
        // A typing error must not admit more than was meant.
        if (!choose(MNEME_ENV_TUNED_CODE,
                    {"proven", "tested", "verified", "unproven"}, Code,
                    Strict)) {
          Code = MNEME_CODE_PROVEN;
          Ok = false;
        }
        Ok &=
            choose(MNEME_ENV_TUNED_CAPTURE, {"shape", "all"}, Capture, Strict);
        double First = 0, Limit = 0;
        Ok &= readNumber(MNEME_ENV_TUNED_VERIFY, First, 1e9, Strict);
        Ok &=
            readNumber(MNEME_ENV_TUNED_VERIFY_RATE, Verifying.Rate, 1, Strict);
        Ok &= readNumber(MNEME_ENV_TUNED_VERIFY_MEMORY, Limit, 1e15, Strict);
        Verifying.First = uint64_t(First);
        Verifying.Limit = uint64_t(Limit);
        if (const char *Log = getSecureVariable(MNEME_ENV_TUNED_VERIFY_LOG))
          Verifying.Log = Log;
        Ok &= choose(MNEME_ENV_TUNED_DEVICE_MATCH, {"name", "arch"}, Match,
                     Strict);
        Ok &= choose(MNEME_ENV_TUNED_TIMES, {"none", "plain", "tuned"}, Times,
                     Strict);
        Timed = TimedCode(Times);
        Policy.ServesAll = Scope;
        Policy.ServesOtherGPUs = Match;
        Policy.MaxGrade = MNEME_GRADE_PROVEN + Shape;
        Policy.MaxCode = Code;
        CapturesAll = Capture;
        if (const char *Report = getSecureVariable(MNEME_ENV_TUNED_REPORT))
          ReportPath = Report;
        if (Paths)
          open(Paths);
        else
          openEmbedded();
      })) {
    tell("mneme: %s: no kernel is replaced: out of memory\n",
         Strict ? "error" : "warning");
    if (Strict)
      _exit(1);
    return;
  }
  if (Packages.empty() && Ok)
    return;
  for (const auto &P : Packages)
    Ok &= P->Error.empty();
  if (Strict && !Ok)
    _exit(1);
  atexit([] { get().finish(); });
  bool Any = false;
  for (const auto &P : Packages)
    Any |= P->Error.empty();
  if (!Any)
    return;
  for (const auto &P : Packages)
    CopiesVariables |= P->Error.empty() && P->File.copiesVariables();
  pthread_atfork(nullptr, nullptr, [] {
    get().Active = false;
    get().Finished = true;
  });
  Active = true;
}

/// May throw.
void TunedKernels::open(const std::string &Paths) {
  for (size_t At = 0; At <= Paths.size();) {
    size_t End = std::min(Paths.find(':', At), Paths.size());
    std::string Path = Paths.substr(At, End - At);
    At = End + 1;
    if (Path.empty())
      continue;
    auto P = std::make_unique<OpenPackage>();
    P->Path = Path;
    P->Error = P->File.open(Path.c_str());
    add(std::move(P));
  }
}

/// May throw.
void TunedKernels::openEmbedded() {
  IsEmbedded = true;
  for (std::string_view Bytes : findEmbeddedPackages()) {
    auto P = std::make_unique<OpenPackage>();
    P->Path = "/proc/self/exe";
    P->Error = P->File.openMemory(Bytes.data(), Bytes.size());
    add(std::move(P));
  }
}

/// May throw.
void TunedKernels::add(std::unique_ptr<OpenPackage> P) {
  if (!P->Error.empty())
    tell("mneme: %s: package '%s' %s\n", Strict ? "error" : "warning",
         P->Path.c_str(), P->Error.c_str());
  Packages.push_back(std::move(P));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static bool haveSameArguments(PackageRange<MnemePackageArg> A,
                              PackageRange<MnemePackageArg> B) {
  return std::equal(A.begin(), A.end(), B.begin(), B.end(),
                    [](const MnemePackageArg &X, const MnemePackageArg &Y) {
                      return X.Size == Y.Size && X.Offset == Y.Offset;
                    });
}

/// Adds the variants of \p K to the kernel that they are for. May throw.
TunedKernel *TunedKernels::makeKernel(const Package &First,
                                      const MnemePackageKernel &K) {
  std::string Hash(reinterpret_cast<const char *>(K.StaticHash),
                   sizeof(K.StaticHash));
  if (auto Known = Kernels.find(Hash); Known != Kernels.end())
    return Known->second.get();
  auto New = std::make_unique<TunedKernel>();
  New->Name = First.text(K.NameOffset);
  New->StaticHash = Hash;
  New->Args = First.args(K);
  for (const auto &P : Packages) {
    const MnemePackageKernel *Here =
        P->Error.empty() ? P->File.findKernel(K.StaticHash) : nullptr;
    // Its guards read the arguments that it lists.
    if (!Here || !haveSameArguments(P->File.args(*Here), First.args(K)))
      continue;
    for (const MnemePackageVariant &V : P->File.variants(*Here)) {
      auto T = std::make_unique<TunedVariant>();
      T->Of = New.get();
      T->ToVerify = Verifying.First;
      T->Tables = describeVariant(P->File, V);
      New->Guards.add(T->Tables, Policy);
      T->DependsOnArguments = dependsOnArguments(T->Tables, Policy);
      T->UsesVariables = usesVariables(T->Tables);
      New->Variants.push_back(std::move(T));
    }
  }
  // Last, because memory may be short.
  return Kernels.emplace(Hash, std::move(New)).first->second.get();
}

/// May throw.
/// Looks for the kernel in a package that lists the application's arguments.
template <typename FindFn, typename IsSameFn>
void TunedKernels::findKernel(TunedStub &S, FindFn Find, IsSameFn IsSame) {
  const Package *From = nullptr;
  const MnemePackageKernel *Found = nullptr;
  for (const auto &P : Packages) {
    const MnemePackageKernel *K = P->Error.empty() ? Find(P->File) : nullptr;
    bool Same = K && IsSame(P->File.args(*K));
    if (!K || (Found && !Same))
      continue;
    From = &P->File;
    Found = K;
    S.Problem = Same ? Fallback::None : Fallback::OtherArguments;
    if (Same)
      break;
  }
  if (Found)
    S.Kernel = makeKernel(*From, *Found);
}

TunedStub &TunedKernels::makeStub(const void *HostPtr, unsigned Arch) {
  auto New = std::make_unique<TunedStub>();
  IndexEntry Entry;
  if (Program::get().find(HostPtr, MNEME_INDEX_KERNEL, Entry, Arch)) {
    const uint8_t *StaticHash = findStaticHash(*Entry.Payload, Entry.Name);
    New->Module = Program::get().moduleOf(Entry);
    const std::string &LinkHash = New->Module.Hash;
    findKernel(
        *New,
        [&](const Package &P) {
          return StaticHash ? P.findKernel(StaticHash)
                            : P.findKernel(reinterpret_cast<const uint8_t *>(
                                               LinkHash.data()),
                                           Entry.Name.c_str());
        },
        [&](PackageRange<MnemePackageArg> Args) {
          return haveSameArguments(*Entry.Payload, Entry.Name, Args);
        });
  }
  AllStubs.push_back(std::move(New));
  return *AllStubs.back();
}

TunedStub &TunedKernels::addStub(const std::string &StaticHash,
                                 const std::vector<MnemePackageArg> &Args) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto New = std::make_unique<TunedStub>();
  findKernel(
      *New,
      [&](const Package &P) {
        return P.findKernel(
            reinterpret_cast<const uint8_t *>(StaticHash.data()));
      },
      [&](PackageRange<MnemePackageArg> Listed) {
        return haveSameArguments(Listed, {Args.data(), Args.size()});
      });
  AllStubs.push_back(std::move(New));
  return *AllStubs.back();
}

TunedStub *TunedKernels::findInImage(const std::string &Digest,
                                     const char *Name) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto New = std::make_unique<TunedStub>();
  findKernel(
      *New,
      [&](const Package &P) {
        return P.findKernel(reinterpret_cast<const uint8_t *>(Digest.data()),
                            Name);
      },
      // The digest covers them.
      [](PackageRange<MnemePackageArg>) { return true; });
  if (!New->Kernel)
    return nullptr;
  AllStubs.push_back(std::move(New));
  return AllStubs.back().get();
}

TunedStub *TunedKernels::lookUp(const void *Stub, uint64_t Key, unsigned Arch) {
  if (!isActive() || !Stub)
    return nullptr;
  return Stubs.findOrMake(
      Key, Lock, [&]() -> TunedStub & { return makeStub(Stub, Arch); },
      [](const TunedStub &S) { return S.Kernel; });
}

TunedVariant *TunedKernels::select(TunedKernel &K, const LaunchFacts &L,
                                   const DeployDevice &D,
                                   LaunchPlan &Plan) const {
  TunedVariant *Closest = nullptr;
  Fallback Reason = Fallback::None;
  GuardTests Tests(K.Guards, L, D);
  for (const std::unique_ptr<TunedVariant> &V : K.Variants) {
    Fallback F = V->Differs ? Fallback::Differed
                 : V->isDisabled()
                     ? Fallback::Disabled
                     : matchVariant(V->Tables, L, D, Policy, Tests, Plan);
    if (F == Fallback::None)
      return V.get();
    if (F > Reason) {
      Reason = F;
      Closest = V.get();
    }
  }
  countFallback(Closest->FellBack, Reason);
  return nullptr;
}

void mneme::setFunctionAttribute(std::vector<FunctionAttribute> &All,
                                 const FunctionAttribute &A) {
  auto I =
      std::find_if(All.begin(), All.end(), [&](const FunctionAttribute &Known) {
        return Known.Device == A.Device && Known.Attribute == A.Attribute;
      });
  if (I == All.end())
    All.push_back(A);
  else
    *I = A;
}

void mneme::forgetFunctionAttributes(std::vector<FunctionAttribute> &All,
                                     int Device) {
  All.erase(std::remove_if(
                All.begin(), All.end(),
                [&](const FunctionAttribute &A) { return A.Device == Device; }),
            All.end());
}

//===----------------------------------------------------------------------===//
// Verification and failures
//===----------------------------------------------------------------------===//

VerifyReason TunedKernels::reasonToVerify(TunedVariant &V) const {
  if (!Verifying.isOn())
    return VerifyReason::None;
  if (takeOne(V.ToVerify))
    return VerifyReason::First;
  return Verifying.picks() ? VerifyReason::Rate : VerifyReason::None;
}

/// Writes a line to the file of llvm-mneme-deploy.
void TunedKernels::log(const std::string &Line) const {
  if (Verifying.Log.empty())
    return;
  OwnedDescriptor Fd(
      moveAway(::open(Verifying.Log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)));
  if (Fd < 0 || !writeAll(Fd, Line.data(), Line.size()))
    tell("mneme: warning: cannot write '%s': %s\n", Verifying.Log.c_str(),
         strerror(errno));
}

void TunedKernels::finishVerification(TunedVariant &V, VerifyReason Why,
                                      Verdict Result, const Difference &D,
                                      const char *Error) {
  ++V.Verdicts[size_t(Result)];
  if (Result != Verdict::Different) {
    // The first launches that can be verified are.
    if (Why == VerifyReason::First &&
        (Result == Verdict::Capture || Result == Verdict::Memory))
      ++V.ToVerify;
    return;
  }
  if (V.Differs.exchange(true))
    return;
  Uncancelled Here;
  std::lock_guard<std::mutex> Guard(Lock);
  if (!attempt([&] {
        V.Found = *Error ? "it failed: " + std::string(Error) : D.text();
        std::string Line = "kernel '" + V.Of->Name + "': " + describe(V) +
                           " differs from the application's own kernel, and "
                           "is disabled: " +
                           V.Found + "\n";
        tell("mneme: warning: %s", Line.c_str());
        log(Line);
      }))
    tell("mneme: warning: a tuned kernel differs from the application's own\n");
}

void TunedKernels::fail(TunedVariant &V, const char *Why) {
  if (V.Failures.fetch_add(1))
    return;
  tell("mneme: warning: kernel '%s': the application's own is launched: %s\n",
       V.Of->Name.c_str(), Why);
}

void TunedKernels::noteFault(const char *Why) {
  const TunedVariant *V = lastLaunch();
  if (!V || HasFault.exchange(true))
    return;
  Uncancelled Here;
  std::lock_guard<std::mutex> Guard(Lock);
  attempt([&] {
    Fault = Why;
    Faulty = V;
    tell("mneme: error: the device failed: %s; the last tuned kernel that was "
         "launched is %s, of kernel '%s'\n",
         Why, describe(*V).c_str(), V->Of->Name.c_str());
  });
}

void TunedKernels::addTime(TunedVariant &V, uint64_t Nanoseconds,
                           uint64_t CPUTime) {
  std::lock_guard<std::mutex> Guard(Lock);
  // Without memory, the report has fewer times.
  if (V.Times.size() < TunedVariant::MaxTimes)
    attempt([&] {
      V.Times.push_back(Nanoseconds);
      V.CPUTime += CPUTime;
    });
}
