//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lets the application judge candidates, instead of a comparison of memory:
/// packs their code and runs the application with it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_APPLICATIONJUDGE_H
#define LLVM_MNEME_DEPLOY_APPLICATIONJUDGE_H

#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Mneme/Study/Evaluator.h"
#include <deque>

namespace llvm {
namespace mneme {

struct ApplicationVerdict {
  /// None: the results are those of the application's own code. Mismatch: they
  /// differ, or the application failed. CompileError, Unsupported: it was not
  /// run. Invalid: no launch was served.
  FailureKind Failure;
  std::string Error;
  std::string CodeHash; ///< Digest of the image.
};

/// Runs the application with the code of candidates.
class ApplicationJudge {
public:
  /// Runs the application as Application::create() does.
  static Expected<std::unique_ptr<ApplicationJudge>>
  create(ApplicationOptions O);

  /// Packs the code of a configuration on top of a plan's options, for all
  /// launches that it is correct for. Errors that are no PackRefusal are those
  /// of the configuration.
  Expected<TunedPackage> pack(const ReplayPlan &Base,
                              const json::Object &Config) const;
  /// Packs it and runs the application with it. Equal code is judged once,
  /// unless \p Anew. Fails if the application cannot be run or judged.
  Expected<ApplicationVerdict>
  judge(const ReplayPlan &Base, const json::Object &Config, bool Anew = false);

  bool isOnHost() const { return !App->usesGPU(); }
  unsigned numRuns() const { return NumRuns; }

private:
  ApplicationJudge() = default;
  Expected<ApplicationVerdict> run(const TunedPackage &P);

  std::unique_ptr<Application> App;
  /// Kernels of the application that are known by their device link.
  std::vector<ApplicationKernel> Kernels;
  std::map<std::string, ApplicationVerdict> Known; ///< By package.
  unsigned NumRuns = 0;
};

/// Evaluates configurations by the application alone, without times. A launch
/// that is not served is an error.
class ApplicationEvaluator : public Evaluator {
public:
  ApplicationEvaluator(ApplicationJudge &J, const ReplayPlan &Plan)
      : J(J), Plan(Plan) {}

  unsigned capacity() const override { return 1; }
  Error submit(EvaluationRequest Request) override;
  Expected<std::vector<Evaluation>> wait(double Seconds) override;
  Expected<PairedEvaluation> comparePaired(ArrayRef<EvaluationRequest>,
                                           unsigned,
                                           function_ref<bool()>) override;
  std::vector<uint64_t> cancel() override;
  json::Object describe() const override;

private:
  ApplicationJudge &J;
  const ReplayPlan &Plan;
  std::deque<EvaluationRequest> Queue;
};

/// Measures configurations with another evaluator, and lets the application
/// judge those that become the fastest so far, and those that are compared in
/// pairs. The other evaluator is idle while the application runs.
class JudgedEvaluator : public Evaluator {
public:
  /// \p Plans are those of the launches, by EvaluationRequest::Instance.
  JudgedEvaluator(Evaluator &E, ApplicationJudge &J,
                  ArrayRef<std::unique_ptr<ReplayPlan>> Plans)
      : E(E), J(J), Plans(Plans), Fastest(Plans.size(), 0) {}

  /// Judges the recorded configurations. Fails if the application does not
  /// accept one of them.
  Error begin();

  unsigned capacity() const override { return E.capacity(); }
  Error submit(EvaluationRequest Request) override;
  Expected<std::vector<Evaluation>> wait(double Seconds) override;
  Expected<PairedEvaluation> comparePaired(ArrayRef<EvaluationRequest> Requests,
                                           unsigned Rounds,
                                           function_ref<bool()> Stop) override;
  void remember(const EvaluationRequest &R, const Evaluation &V) override {
    E.remember(R, V);
  }
  std::vector<uint64_t> cancel() override;
  json::Object describe() const override { return E.describe(); }

private:
  bool mustJudge(const Evaluation &V) const;
  Error judgeWaiting(std::vector<Evaluation> &Results);

  Evaluator &E;
  ApplicationJudge &J;
  ArrayRef<std::unique_ptr<ReplayPlan>> Plans;
  std::vector<double> Fastest; ///< Times of accepted candidates; 0: none.
  std::map<uint64_t, EvaluationRequest> UnderWay; ///< Of E, by Id.
  std::deque<EvaluationRequest> Held; ///< Until the application has judged.
  /// Results that the application has to judge.
  std::vector<std::pair<EvaluationRequest, Evaluation>> Waiting;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_APPLICATIONJUDGE_H
