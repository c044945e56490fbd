//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "external": a program chooses the points. Messages are JSON
/// lines on its standard input and output; docs/Samplers.rst defines the
/// protocol.
///
//===----------------------------------------------------------------------===//

#include "ExternalSampler.h"
#include "SamplerSupport.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Process/LineProcess.h"
#include "llvm/Mneme/Samplers/PointJSON.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned ProtocolVersion = 1;
/// Maximum number of consecutive answers that cannot be tried.
static constexpr unsigned MaxRefused = 100;

namespace {
class ExternalSampler : public Sampler {
public:
  ExternalSampler(const SamplerContext &Context, StringRef Command,
                  std::unique_ptr<LineProcess> Program)
      : Sampler(Context), Command(Command), Program(std::move(Program)) {}

  Error greet();
  Expected<std::vector<Point>> ask(unsigned N) override;
  void tell(const Trial &) override;

private:
  std::string Command;
  std::unique_ptr<LineProcess> Program;
  std::string Broken; ///< Permanent error; empty if none.
  bool Done = false;  ///< The program has no more points.
  size_t FirstUntold = 0;  ///< All trials before it are reported or canaries.
  DenseSet<uint64_t> Told; ///< Numbers of reported trials from FirstUntold on.
  DenseMap<uint64_t, json::Value> Ids; ///< The program's own, by digest.

  enum class Answer { Taken, NoneNow };
  Expected<Answer> askOne(Batch &B);
  Error takePoint(const json::Object &O, Batch &B);
  Error tellNews();
  Error send(json::Object O);
  Error fail(Error E);
};
} // namespace

static StringRef getStateName(TrialState S) {
  switch (S) {
  case TrialState::Running:
    return "running";
  case TrialState::Complete:
    return "complete";
  case TrialState::Pruned:
    return "pruned";
  case TrialState::Failed:
    return "failed";
  }
  llvm_unreachable("unknown state");
}

Error ExternalSampler::send(json::Object O) {
  return Program->send(formatv("{0}", json::Value(std::move(O))).str());
}

Error ExternalSampler::fail(Error E) {
  Broken = ("external sampler '" + Command + "': " + toString(std::move(E)));
  return createStringError(Broken);
}

Error ExternalSampler::greet() {
  json::Array Objectives;
  for (auto [O, D] : zip_equal(Context.Space.study().Objectives,
                               Context.Directions))
    Objectives.push_back(json::Object{
        {"metric", O.Metric},
        {"direction", D == Direction::Minimize ? "minimize" : "maximize"}});
  if (Error E = send(json::Object{
          {"mneme_sampler", ProtocolVersion},
          {"study", Context.Space.study().Name},
          {"seed", Context.Seed},
          {"objectives", std::move(Objectives)},
          {"parameters", describeParameters(Context.Space)}}))
    return fail(std::move(E));
  return Error::success();
}

/// Reports the trials that ended since the last call, in the order of their
/// numbers.
Error ExternalSampler::tellNews() {
  for (size_t I = FirstUntold; I != Context.History.size(); ++I) {
    const Trial &T = Context.History[I];
    bool Silent = T.Kind == TrialKind::Canary;
    if (!Silent && T.State != TrialState::Running &&
        Told.insert(T.Number).second) {
      json::Object O{{"number", T.Number},
                     {"kind", getTrialKindName(T.Kind)},
                     {"point", printPoint(Context.Space, T.P)},
                     {"state", getStateName(T.State)},
                     {"values", T.Values}};
      if (auto It = Ids.find(Context.Space.digest(T.P)); It != Ids.end())
        O["id"] = It->second;
      if (!T.Failure.empty())
        O["failure"] = T.Failure.name();
      if (T.DuplicateOf)
        O["duplicate_of"] = *T.DuplicateOf;
      if (Error E = send(json::Object{{"tell", std::move(O)}}))
        return E;
    }
    if (I == FirstUntold && (Silent || Told.erase(T.Number)))
      ++FirstUntold;
  }
  return Error::success();
}

void ExternalSampler::tell(const Trial &) {
  if (!Broken.empty() || Done)
    return;
  // The next ask() reports the error.
  if (Error E = tellNews())
    consumeError(fail(std::move(E)));
}

/// Adds the point of answer \p O to \p B. Returns an error if the point is
/// missing, invalid, or was proposed before.
Error ExternalSampler::takePoint(const json::Object &O, Batch &B) {
  const json::Value *V = O.get("point");
  if (!V)
    return createStringError(
        "expected one of \"point\", \"wait\" and \"done\"");
  Expected<Point> P = parsePoint(Context.Space, *V);
  if (!P)
    return P.takeError();
  uint64_t Digest = Context.Space.digest(*P);
  if (!B.add(std::move(*P)))
    return createStringError("this point was proposed before");
  if (const json::Value *Id = O.get("id"))
    Ids.insert({Digest, *Id});
  return Error::success();
}

Expected<ExternalSampler::Answer> ExternalSampler::askOne(Batch &B) {
  if (Error E = send(json::Object{{"ask", true}}))
    return E;
  for (unsigned Refused = 1;; ++Refused) {
    Expected<std::string> Line = Program->receive();
    if (!Line)
      return Line.takeError();
    Expected<json::Value> V = parseJSON(*Line);
    const json::Object *O = V ? V->getAsObject() : nullptr;
    if (!O) {
      consumeError(V.takeError());
      return createStringError("expected a JSON object, got '" +
                               StringRef(*Line).take_front(200) + "'");
    }
    Done = O->getBoolean("done").value_or(false);
    if (Done || O->getBoolean("wait").value_or(false))
      return Answer::NoneNow;
    Error E = takePoint(*O, B);
    if (!E)
      return Answer::Taken;
    std::string Message = toString(std::move(E));
    if (Refused == MaxRefused)
      return createStringError(
          "none of " + Twine(MaxRefused) +
          " answers can be tried; the last one: " + Message);
    if (Error E = send(json::Object{{"error", Message}}))
      return E;
  }
}

Expected<std::vector<Point>> ExternalSampler::ask(unsigned N) {
  Batch B(Context, N);
  if (!Broken.empty())
    return createStringError(Broken);
  if (Done)
    return B.take();
  if (Error E = tellNews())
    return fail(std::move(E));
  while (!B.isFull()) {
    Expected<Answer> A = askOne(B);
    if (!A)
      return fail(A.takeError());
    if (*A == Answer::NoneNow)
      break;
  }
  return B.take();
}

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createExternalSampler(const SamplerContext &Context, StringRef Command,
                      std::chrono::milliseconds Timeout) {
  if (Command.empty())
    return createStringError("external: no command: expected external=COMMAND");
  auto Program = LineProcess::start(
      Command, std::chrono::duration<double>(Timeout).count());
  if (!Program)
    return Program.takeError();
  auto S = std::make_unique<ExternalSampler>(Context, Command,
                                             std::move(*Program));
  if (Error E = S->greet())
    return E;
  return S;
}

Expected<std::unique_ptr<Sampler>>
createExternalSampler(const SamplerContext &Context, StringRef Command) {
  return createExternalSampler(Context, Command, std::chrono::minutes(10));
}
} // namespace mneme
} // namespace llvm
