//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes the winner of a study an entry of a package: compiles it again, checks
/// that the code is the measured one, and derives the guards.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_PACKWINNER_H
#define LLVM_MNEME_DEPLOY_PACKWINNER_H

#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/JSON.h"

namespace llvm {
namespace mneme {

/// The launches that a package serves.
enum class PackScope {
  Recorded, ///< Those with the recorded grid and block.
  Kernel,   ///< All for which the code is correct.
};

struct PackOptions {
  PackScope Scope = PackScope::Recorded;
  /// The weakest grade of a changed launch: MNEME_GRADE_PROVEN to
  /// MNEME_GRADE_UNPROVEN.
  uint32_t LaunchShape = MNEME_GRADE_PROVEN;
  /// The weakest grade of code that was not made from the recorded IR by
  /// passes: MNEME_CODE_PROVEN to MNEME_CODE_UNPROVEN.
  uint32_t Code = MNEME_CODE_VERIFIED;
  /// The most lenient level at which results may have been compared.
  CompareLevel Accept = CompareLevel::Exact;
  /// Whether all GPUs of the architecture are served, or only those of the
  /// name that the study measured.
  bool MatchesArch = false;
};

/// Returns why a package cannot contain results compared at \p Level, and the
/// option that permits it.
std::string describeLevelRefusal(CompareLevel Level, StringRef Command);

/// Parse the values of --scope, --launch-shape, --code, --accept and
/// --device-match.
/// Errors list the values.
Error parseScope(StringRef Text, PackOptions &O);
Error parseLaunchShape(StringRef Text, PackOptions &O);
Error parseCode(StringRef Text, PackOptions &O);
Error parseAccept(StringRef Text, PackOptions &O);
Error parseDeviceMatch(StringRef Text, PackOptions &O);

/// "same", "proven", "verified", "unproven".
StringRef getGradeName(uint32_t Grade);
/// "proven", "tested", "verified", "unproven".
StringRef getCodeName(uint32_t Code);

/// A scalar argument that had several values in launches that were made to test
/// another source.
struct TestedArgument {
  unsigned Index;
  bool IsSigned;      ///< Or a non-negative number, as its bits.
  uint64_t Low, High; ///< The values, extended to 64 bits.
};

/// The launches that were made to test another source, beside a recorded one.
struct TestedLaunch {
  std::string RecordId;
  unsigned Count; ///< At least 1.
  std::vector<TestedArgument> Arguments;
  /// The contents of some memory that the kernel reads were always as recorded.
  bool KeptMemory = false;
  /// It is slower than the recorded code at an end of the ranges.
  bool IsSlower = false;
};

/// The winner as the study measured it.
struct MeasuredWinner {
  std::string CodeHash; ///< Empty: it was not measured.
  bool OnHost = false;
  /// The most lenient level at which the study compared results.
  CompareLevel Level = CompareLevel::Exact;
  /// The application judged the results, instead of a comparison of memory.
  bool IsJudgedByApp = false;
  std::string GPU;         ///< "NVIDIA H200"; empty on the host device.
  std::vector<TestedLaunch> Tested; ///< By recorded launch, if any.
  json::Object Provenance; ///< As in packages.
};

/// A winner that a package cannot contain, for a reason that the user can
/// change or has to know. Other errors are failures.
class PackRefusal : public ErrorInfo<PackRefusal, StringError> {
public:
  static char ID;
  explicit PackRefusal(const Twine &Why)
      : ErrorInfo(Why, inconvertibleErrorCode()) {}
};

/// Returns the kernel with one variant. \p Plan has the winner's configuration
/// and the study's other options.
Expected<PackagedKernel> packWinner(const ReplayPlan &Plan,
                                    const MeasuredWinner &Winner,
                                    const PackOptions &O);

/// A winner on one launch of a study of several.
struct InstanceWinner {
  std::string RecordId;
  json::Object Config;
  MeasuredWinner Winner;
};
/// Returns a kernel with the code of \p Plan, which was neither measured nor
/// verified, for all launches that it is correct for. Launches may be changed
/// without proof. Errors that are no PackRefusal are those of the compilation.
Expected<PackagedKernel> packCandidate(const ReplayPlan &Plan, bool OnHost);

/// The contents of best.json (docs/StudyFiles.rst).
struct BestFile {
  std::string Path, Kernel, StaticHash;
  std::vector<std::string> RecordIds; ///< At least one.
  json::Object Config;                ///< Of the first launch.
  MeasuredWinner Winner;              ///< Likewise.
  json::Object Options; ///< Of the study (makeResultOptions()).
  /// The common winner on each of RecordIds: settings that follow from the
  /// launch differ, and so does code that depends on it.
  std::vector<InstanceWinner> Common;
  /// Of launches for which another configuration is significantly better.
  std::vector<InstanceWinner> InstanceWinners;
};

/// Reads best.json. Fails with a PackRefusal if the study has no winner that a
/// re-test confirmed.
Expected<BestFile> readBestFile(StringRef Path);
/// The same for its text or JSON, which \p Path names in errors.
Expected<BestFile> parseBestFile(StringRef Text, StringRef Path);
Expected<BestFile> readBest(const json::Object &Best, StringRef Path);

/// Returns the kernel with a variant for each recorded launch of the study: the
/// winner of that launch if it has one of its own, or else the common winner.
/// If the common winner serves several launches with the same code, a last
/// variant serves the launches between them.
/// \p Plans have the study's options without the winner's configuration, for
/// each of its launches. \p Note is called with a message for each launch after
/// the first that is not served.
Expected<PackagedKernel> packWinner(ArrayRef<std::unique_ptr<ReplayPlan>> Plans,
                                    const BestFile &Best, const PackOptions &O,
                                    function_ref<void(const Twine &)> Note);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_PACKWINNER_H
