//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A search space with a sampler that a client asks for points.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SERVE_SERVEDSPACE_H
#define LLVM_MNEME_LIB_SERVE_SERVEDSPACE_H

#include "Messages.h"
#include "llvm/Mneme/Samplers/Sampler.h"

namespace llvm {
namespace mneme {
namespace serve {

class ServedSpace {
public:
  /// Fails if the study does not fit the launch, or the sampler the space.
  static Expected<std::unique_ptr<ServedSpace>>
  create(Study S, RecordedFacts Recorded, StringRef Sampler, uint64_t Seed);

  message::SpaceMade describe() const;
  /// Returns up to \p N points; the first one ever is the default point, if it
  /// is valid.
  Expected<std::vector<ServedProposal>> ask(unsigned N);
  Error tell(const message::Tell &M);
  /// Returns the canonical point with these values and its configuration;
  /// Number is 0.
  Expected<ServedProposal> configure(const json::Object &Values) const;

private:
  ServedSpace(SearchSpace Space, uint64_t Seed);

  SearchSpace Space;
  std::vector<Trial> Trials; ///< By number.
  DenseSet<uint64_t> Proposed;
  SamplerContext Context;
  std::unique_ptr<Sampler> TheSampler;

  Expected<ServedProposal> add(Point P, TrialKind Kind);
};

/// Parses parameters in the form in which a space describes them. Fails on
/// unknown kinds and members.
Expected<std::vector<Parameter>> parseParameters(const json::Array &List);

} // namespace serve
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SERVE_SERVEDSPACE_H
