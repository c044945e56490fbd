//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The envelope of a recorded launch: how the results of the application's own
/// code vary (docs/Verification.rst, "Kernels whose results vary").
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_ENVELOPE_H
#define LLVM_MNEME_REPLAY_ENVELOPE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Replay/Unordered.h"
#include <memory>

namespace llvm {
namespace mneme {
class Device;
class Replayer;
class ReplayPlan;
enum class ReplayStage;

/// When an envelope is measured, and by how many replays.
struct EnvelopeRule {
  static constexpr unsigned DefaultReplays = 20, MinReplays = 8,
                            MaxReplays = 1000;
  /// Unset: only if the recorded code does not reproduce the recording. 0:
  /// never.
  std::optional<unsigned> Replays;

  bool isAuto() const { return !Replays; }
  bool isOff() const { return Replays == 0u; }
  unsigned replays() const { return Replays.value_or(DefaultReplays); }
  bool operator==(const EnvelopeRule &O) const { return Replays == O.Replays; }
};
/// Parses "auto", "off" or a number of replays.
Expected<EnvelopeRule> parseEnvelopeRule(StringRef Text);
std::string printEnvelopeRule(const EnvelopeRule &R);

/// How one buffer, or an annotated part of one, varies.
struct BufferVariation {
  enum KindTy {
    Rounding,  ///< By errors of the size of rounding errors.
    Order,     ///< Records change places.
    Undecided, ///< Otherwise; Reason has more.
    Constant,  ///< All replays agree, but not with the recording.
  };
  size_t Part = 0;     ///< Index in ComparePlan::Parts.
  uint32_t Buffer = 0; ///< BufferReport::Id.
  std::string Name;
  KindTy Kind = Undecided;
  double MaxAbs = 0, MaxUlp = 0; ///< Largest errors, for Rounding.
  uint32_t RecordSize = 0;       ///< For Order.
  uint64_t Ranges = 0;           ///< For Order: their number.
  /// What holds, or why nothing was decided, in words.
  std::string Reason;

  /// Returns "buffer 3 (out)".
  std::string describeBuffer() const;
};
/// Returns "rounding", "order", "undecided" or "constant".
StringRef getVariationName(BufferVariation::KindTy K);

/// What was measured, for reports.
struct EnvelopeSummary {
  unsigned Replays = 0;    ///< All launches of the recorded code.
  unsigned Confirming = 0; ///< The last of them, which the rules predicted.
  /// Why there were fewer replays than wanted; empty otherwise.
  std::string Limit;
  /// Those that did not always hold the recorded results.
  std::vector<BufferVariation> Buffers;

  /// Returns the first variation of a kind; null if there is none.
  const BufferVariation *find(BufferVariation::KindTy Kind) const;
  /// Returns true if results differ between replays.
  bool varies() const;
  /// Returns "20 replays of the application's own code".
  std::string describeSource() const;
  /// Adds ": buffer 3: at most 3 ulp; ...".
  std::string describe() const;
};
json::Value toJSON(const EnvelopeSummary &S);
bool fromJSON(const json::Value &V, EnvelopeSummary &S, json::Path P);

/// Rules that replace those of a plan.
struct Envelope {
  ComparePlan Plan;
  EnvelopeSummary Summary;
};
json::Value toJSON(const Envelope &E);
/// Reads an envelope for \p Plan and checks its numbers against it.
bool fromJSON(const json::Value &V, const ComparePlan &Plan, Envelope &E,
              json::Path P);

/// Launches the recorded code on \p D and derives the rules.
/// \param OnlyIfVaries  stops after a few launches that all verify.
/// \returns null if all these launches verified. Fails if the recorded code
/// cannot be launched.
Expected<std::shared_ptr<const Envelope>>
measureEnvelope(const ReplayPlan &Plan, Device &D, Replayer &Memory,
                bool OnlyIfVaries, function_ref<void(ReplayStage)> Report);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_ENVELOPE_H
