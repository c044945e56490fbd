//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The packages of a process, their kernels and how often these were served.
/// Only launches that find nothing in a StubTable take a lock.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DEPLOY_TUNEDKERNELS_H
#define MNEME_LIB_RUNTIME_DEPLOY_TUNEDKERNELS_H

#include "LoadedStubs.h"
#include "Program.h"
#include "Selector.h"
#include "Verification.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mneme {

using FallbackCounts = std::array<std::atomic<uint64_t>, NumFallbacks>;

struct TunedKernel;

struct TunedVariant {
  const TunedKernel *Of = nullptr;
  VariantTables Tables;
  bool DependsOnArguments;
  bool UsesVariables; ///< Of the application.
  /// What the runtime launches: null until the image is loaded.
  std::atomic<void *> Code{nullptr};
  /// If it uses variables, the images for the objects that have them instead.
  std::atomic<void *> Bound{nullptr};
  /// Bit N: the code was prepared for device N.
  std::atomic<uint64_t> Prepared{0};
  /// Failures to load the image, or to launch it.
  std::atomic<uint32_t> Failures{0};
  std::atomic<uint64_t> Served{0};
  /// Launches that came closest to this variant.
  FallbackCounts FellBack{};
  /// If launches are timed: those that matched, and the times of the first
  /// MaxTimes of them in nanoseconds (with TunedKernels::lock()).
  std::atomic<uint64_t> Matched{0};
  std::vector<uint64_t> Times;
  /// On the host device, for how long CPUs ran the process in these launches.
  uint64_t CPUTime = 0;

  /// Launches to verify yet, before MNEME_TUNED_VERIFY_RATE applies.
  std::atomic<uint64_t> ToVerify{0};
  /// Verifications by result.
  std::array<std::atomic<uint64_t>, NumVerdicts> Verdicts{};
  /// Set by a verification: the result differed.
  std::atomic<bool> Differs{false};
  std::string Found; ///< The first difference; with TunedKernels::lock().

  static constexpr size_t MaxTimes = 4096;
  static constexpr uint32_t MaxFailures = 3;
  bool isDisabled() const {
    return Differs.load(std::memory_order_relaxed) ||
           Failures.load(std::memory_order_relaxed) >= MaxFailures;
  }
};

/// An attribute that the application set for a kernel.
struct FunctionAttribute {
  int Device;
  int Attribute; ///< CUfunction_attribute, or CacheConfig.
  int Value;
  static constexpr int CacheConfig = -1;
};
/// Sets an attribute among those of a kernel. May throw.
void setFunctionAttribute(std::vector<FunctionAttribute> &All,
                          const FunctionAttribute &A);
/// After a device was reset.
void forgetFunctionAttributes(std::vector<FunctionAttribute> &All, int Device);

/// A kernel with its variants in all packages.
struct TunedKernel {
  std::string Name;
  std::string StaticHash; ///< 16 bytes.
  PackageRange<MnemePackageArg> Args;
  std::vector<std::unique_ptr<TunedVariant>> Variants;
  GuardTable Guards; ///< Of the variants.
  /// Launches that no variant was tested for.
  FallbackCounts FellBack{};
  std::vector<FunctionAttribute> Attributes; ///< With TunedKernels::lock().
};

/// The code whose launches are timed.
enum class TimedCode : uint8_t { None, Plain, Tuned };

/// What the launches of a stub lead to. Lives as long as the process.
struct TunedStub {
  TunedKernel *Kernel = nullptr; ///< Null if no package has the kernel.
  DeviceModule Module;           ///< Of the kernel, if a package has it.
  Fallback Problem = Fallback::None;
  std::atomic<uint64_t> Unmatched{0}; ///< Launches without a kernel.
};

class TunedKernels {
public:
  static TunedKernels &get();

  /// Reads the environment and opens the packages, once. If the user wants that
  /// and a package cannot be used, ends the process.
  void start();
  /// The same before main if the user wants unusable packages to end the
  /// process: it may load its kernels later, or have none.
  void startIfStrict();
  /// Whether there is a package. False in a forked child, which cannot use
  /// locks or the device.
  bool isActive() const { return Active.load(std::memory_order_relaxed); }
  /// Whether images have copies of variables that the application writes.
  bool copiesVariables() const { return isActive() && CopiesVariables; }
  const DeployPolicy &policy() const { return Policy; }
  /// Whether captured launches are served that depend on arguments.
  bool capturesAll() const { return CapturesAll; }
  TimedCode timed() const { return Timed; }
  /// Adds the time of a launch that \p V matched.
  void addTime(TunedVariant &V, uint64_t Nanoseconds, uint64_t CPUTime = 0);

  /// What a stub leads to on devices of one architecture. Null if it cannot be
  /// determined for lack of memory; never throws. \p Variation distinguishes
  /// architectures in a table.
  TunedStub *find(const void *Stub, unsigned Variation, unsigned Arch) {
    uint64_t Key = Stubs.keyOf(Stub, Variation);
    TunedStub *Known = Stubs.find(Key);
    return Known ? Known : lookUp(Stub, Key, Arch);
  }

  /// The same for a kernel whose static hash (16 bytes) the runtime knows. May
  /// throw.
  TunedStub &addStub(const std::string &StaticHash,
                     const std::vector<MnemePackageArg> &Args);
  /// The same for a kernel of an image with the given digest (16 bytes). Null
  /// if no package has it.
  TunedStub *findInImage(const std::string &Digest, const char *Name);

  /// Returns the first variant that serves the launch, with its plan. Otherwise
  /// counts the launch and returns null.
  TunedVariant *select(TunedKernel &K, const LaunchFacts &L,
                       const DeployDevice &D, LaunchPlan &Plan) const;

  /// Whether any launches are verified. False in a forked child, too.
  bool verifies() const { return isActive() && Verifying.isOn(); }
  const VerifyPolicy &verifyPolicy() const { return Verifying; }
  /// Returns why the next launch of \p V is to be verified, if it is.
  VerifyReason reasonToVerify(TunedVariant &V) const;
  /// Counts the result of a verification for \p Why. \p D: the difference, if
  /// known; \p Error: how the tuned kernel failed. Disables the variant if the
  /// result is Different. Throws nothing.
  void finishVerification(TunedVariant &V, VerifyReason Why, Verdict Result,
                          const Difference &D, const char *Error);

  /// Counts a failure of \p V, and reports the first one. Throws nothing.
  void fail(TunedVariant &V, const char *Why);
  /// Before the launch of a variant: should the device fail, it is reported.
  void noteLaunch(const TunedVariant &V) {
    Last.store(&V, std::memory_order_relaxed);
  }
  const TunedVariant *lastLaunch() const {
    return Last.load(std::memory_order_relaxed);
  }
  /// All work up to the launch of \p V was completed.
  void noteCompletion(const TunedVariant *V) {
    Last.compare_exchange_strong(V, nullptr, std::memory_order_relaxed);
  }
  /// After the device failed for good, with the error \p Why: reports the last
  /// variant that was launched, once. Throws nothing.
  void noteFault(const char *Why);

  /// Counts a launch through the driver.
  void countForeign() { Foreign.fetch_add(1, std::memory_order_relaxed); }
  /// The application has kernels, so that a report is written.
  void noteKernels() { HasKernels = true; }

  /// Counts a launch before the device or the kernel could be determined.
  void countEarly() { Early.fetch_add(1, std::memory_order_relaxed); }
  /// Visits all kernels, with lock() held.
  template <typename Fn> void forEach(Fn Visit) {
    for (const auto &[Hash, K] : Kernels)
      Visit(*K);
  }

  /// Protects what is not atomic: images that are loaded, attributes, faults.
  std::mutex &lock() { return Lock; }

  /// Writes the report, once.
  void finish();

private:
  struct OpenPackage {
    std::string Path;
    Package File;
    std::string Error;
  };

  TunedKernels() = default;
  void open(const std::string &Paths);
  void openEmbedded();
  void add(std::unique_ptr<OpenPackage> P);
  TunedStub *lookUp(const void *Stub, uint64_t Key, unsigned Arch);
  TunedStub &makeStub(const void *HostPtr, unsigned Arch);
  TunedKernel *findKernel(const IndexEntry &Entry);
  template <typename FindFn, typename IsSameFn>
  void findKernel(TunedStub &S, FindFn Find, IsSameFn IsSame);
  TunedKernel *makeKernel(const Package &P, const MnemePackageKernel &K);
  std::string reportJSON() const;
  std::string reportText() const;
  std::string explainUnused() const;
  std::string describe(const TunedVariant &V) const;
  void log(const std::string &Line) const;

  std::atomic<bool> Active{false};
  std::atomic<uint64_t> Early{0}, Foreign{0};
  std::atomic<const TunedVariant *> Last{nullptr};
  std::atomic<bool> HasKernels{false}, HasFault{false};
  LoadedStubs<TunedStub> Stubs;
  std::atomic<bool> Started{false};
  bool Finished = false, Strict = false, CapturesAll = false;
  bool CopiesVariables = false, IsEmbedded = false;
  TimedCode Timed = TimedCode::None;
  DeployPolicy Policy;
  VerifyPolicy Verifying;
  std::string ReportPath;
  std::mutex Lock; ///< Protects the following data.
  std::vector<std::unique_ptr<OpenPackage>> Packages;
  std::map<std::string, std::unique_ptr<TunedKernel>> Kernels; ///< By hash.
  std::vector<std::unique_ptr<TunedStub>> AllStubs;
  /// After a fault, and the variant that was launched last.
  std::string Fault;
  const TunedVariant *Faulty = nullptr;
};

inline void countFallback(FallbackCounts &Counts, Fallback F) {
  Counts[size_t(F) - 1].fetch_add(1, std::memory_order_relaxed);
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DEPLOY_TUNEDKERNELS_H
