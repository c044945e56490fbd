//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory across studies: the best points of earlier studies of the same kernel
/// and of similar ones, in terms of a new study's space. The journals are the
/// memory; the user's store is a folder of links to results folders.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDYLOG_WARMSTART_H
#define LLVM_MNEME_STUDYLOG_WARMSTART_H

#include "llvm/Mneme/Study/SearchSpace.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Attribute of journals (JournalHeader::Info): getKernelFeatures().
inline constexpr StringLiteral FeaturesKey = "features";

/// Returns the distance of two kernels by their features: the Euclidean norm of
/// the differences of the counts' logarithms (base 2, plus 1). Unset if one has
/// no features.
std::optional<double> getFeatureDistance(const json::Value *A,
                                         const json::Value *B);

struct WarmStartOptions {
  /// Folders to search, with the folders in them, for journals.
  std::vector<std::string> Folders;
  /// A folder of links to results folders; empty: none. May not exist.
  std::string Store;
  std::string StaticHash;         ///< Of the kernel to tune.
  json::Value Features = nullptr; ///< Of the kernel to tune.
  unsigned Limit = 20;            ///< Of points.
  unsigned PerStudy = 3;          ///< Of a study of the same kernel.
  /// The least distance of kernels that are not similar. Of the examples, two
  /// kernels of one program or instantiations of a template are below 4, most
  /// others at 5 to 15.
  double MaxDistance = 4;
  double MinEffect = 0; ///< A fraction of the baseline's time.
};

/// A point of an earlier study that was faster than its baseline there.
struct WarmPoint {
  Point P;
  std::string Kernel;      ///< Of the earlier study, as displayed.
  std::string Folder;      ///< Its results.
  bool SameKernel = false; ///< With the same code.
  double Speedup = 1;      ///< There, by the search; without time, 1.
};

struct WarmStart {
  /// Distinct points: first those of the same kernel, by speed-up; then those
  /// of others, the most similar first.
  std::vector<WarmPoint> Points;
  unsigned NumStudies = 0;           ///< With a journal.
  std::vector<std::string> Warnings; ///< Journals that could not be read.
};

/// Fails if one of the folders cannot be read or holds no journal. Studies of
/// another first objective are ignored.
Expected<WarmStart> findWarmStart(const SearchSpace &Space,
                                  const WarmStartOptions &O);

/// Returns the user's store: MNEME_STUDY_STORE ("off": empty), or
/// mneme/studies in XDG_STATE_HOME or ~/.local/state; empty without a home.
std::string getDefaultStudyStore();

/// Adds \p ResultsDir to the store, which is created, and removes links to
/// folders that no longer exist.
Error rememberStudy(StringRef Store, StringRef ResultsDir);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDYLOG_WARMSTART_H
