//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Requests to the evaluator, and their known results.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TUNE_REQUESTS_H
#define LLVM_MNEME_LIB_TUNE_REQUESTS_H

#include "llvm/Mneme/Study/Evaluator.h"
#include <functional>
#include <map>
#include <optional>

namespace llvm {
namespace mneme {

/// The first trial with the code and launch of a request, and the baseline's
/// time when it was measured.
struct KnownResult {
  std::optional<uint64_t> Trial;
  double BaselineNanoseconds = 0;
};

/// The requests of a study and the handlers of their results.
class Requests {
public:
  using Handler = std::function<Error(Evaluation)>;

  explicit Requests(Evaluator &E) : E(E) {}

  Error submit(EvaluationRequest R, Handler H);
  /// Waits at most \p Seconds for results and calls their handlers.
  Error serve(double Seconds);
  bool empty() const { return UnderWay.empty(); }
  /// Cancels requests that have not begun.
  void cancel();
  /// Drops the handlers of all requests.
  void forget() { UnderWay.clear(); }

  uint64_t NextId = 1;
  std::map<uint64_t, KnownResult> Known; ///< By request.

private:
  Evaluator &E;
  std::map<uint64_t, Handler> UnderWay; ///< By request.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TUNE_REQUESTS_H
