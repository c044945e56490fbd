//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The coordinator's side of other machines.
///
/// A worker connects; c and w say who speaks:
///   c {"challenge": hex}
///   w {"version": text, "name": text, "nonce": hex, "proof": hex}
///   c {"proof": hex, "study": {...}}, or {"refused": text}
///   w {"get": file, "offset": n, "size": n}
///   c {"data": file, "offset": n} and the bytes
///   w {"state": {...}, "statistics": {...}, "capacity": n}: it is ready
/// and then, any number of times:
///   c {"evaluate": n, "request": {...}}
///   w {"result": n, "evaluation": {...}}
///   c {"cancel": true}: what is not begun is not to be
///   w {"cancelled": [n, ...]}
///   c {"compare": n, "requests": [...], "rounds": n}
///   w {"compared": n, "paired": {...}}
///   c {"stop": n}: nobody waits for that comparison
///   w {"state": {...}, "statistics": {...}, "capacity": n}
///   c {"heard": true}, each time
/// Who is silent for too long is gone. At the end one of
///   c {"end": true}
///   w {"failed": text}
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_NODEPOOL_H
#define LLVM_MNEME_LIB_FARM_NODEPOOL_H

#include "Coordinator.h"
#include "Staging.h"

namespace llvm {
namespace mneme {

/// What both sides must have in common: code is not understood across builds.
std::string getProtocolVersion();

/// Bytes of a file that are asked for at once, and pieces on their way.
constexpr uint64_t PieceBytes = uint64_t(1) << 20;
constexpr unsigned PiecesAhead = 4;

class NodePool final : public Outside {
public:
  /// Takes \p Listener.
  NodePool(int Listener, std::string Token, RemoteStudy Study,
           MappedFiles Files, double SilenceSeconds,
           std::function<void(StringRef)> Message,
           std::function<void(StringRef)> Note);
  /// Tells all that it is over.
  ~NodePool() override;

  void addTo(std::vector<pollfd> &Waits) const override;
  void serve() override;
  unsigned capacity() const override;
  bool submit(uint64_t Ticket, const EvaluationRequest &R) override;
  void cancel() override;
  std::vector<std::pair<uint64_t, std::optional<Evaluation>>> take() override;
  bool compare(ArrayRef<EvaluationRequest> Requests, unsigned Rounds) override;
  Expected<std::optional<PairedEvaluation>> takeComparison() override;
  void stopComparison() override;
  void addTo(FarmStatistics &S) const override;
  json::Array describe() const override;

private:
  struct Node {
    explicit Node(int FD) : Link(FD) {}
    Channel Link;
    std::string From, Name, Challenge;
    enum StateTy { Stranger, Staging, Ready, Gone } State = Stranger;
    std::chrono::steady_clock::time_point Since, Heard;
    unsigned Capacity = 0;
    std::vector<uint64_t> Sent;
    uint64_t Comparing = 0; ///< Number of the comparison; 0: none.
    std::vector<std::string> Devices; ///< Evaluation::Device.
    json::Value About = nullptr;
    FarmStatistics Stats;
  };

  int Listener;
  std::string Token;
  RemoteStudy Study;
  MappedFiles Files;
  double SilenceSeconds;
  std::function<void(StringRef)> Message, Note; ///< As FarmResources'.
  std::vector<std::unique_ptr<Node>> Nodes;
  std::vector<std::pair<uint64_t, std::optional<Evaluation>>> Results;
  std::optional<PairedEvaluation> Compared;
  std::string ComparisonLost;
  uint64_t Comparisons = 0;
  FarmStatistics Past; ///< Of those that are gone.

  void accept();
  void receive(Node &N);
  Error handle(Node &N, Frame F);
  Error greet(Node &N, const json::Object &Message);
  Error sendPiece(Node &N, const json::Object &Message);
  Error takeState(Node &N, const json::Object &Message);
  Error takeResult(Node &N, const json::Object &Message);
  Error takeCancelled(Node &N, const json::Array &Tickets);
  Error takeCompared(Node &N, const json::Object &Message);
  void lose(Node &N, StringRef Why);
  void tell(const Twine &Text) const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_NODEPOOL_H
