//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The messages of Messages.def as C++: message::Run is the structure of "run",
/// FromRunner holds any message that a run process sends.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_MESSAGES_H
#define LLVM_MNEME_LIB_FARM_MESSAGES_H

#include "Staging.h"
#include "llvm/Mneme/Farm/Farm.h"
#include "llvm/Mneme/Farm/MessageTable.h"

namespace llvm {
namespace mneme {

#define MESSAGE_TABLE "llvm/Mneme/Farm/Messages.def"
#include "llvm/Mneme/Farm/DeclareMessages.inc"
#undef MESSAGE_TABLE

/// The first line of a worker. Text before it is from a launcher, a shell or a
/// module system.
constexpr StringLiteral WorkerGreeting = "mneme-farm-worker 5f3b9c0e7ad84216";

/// Sends a message and waits until it is written. Error: the other side has
/// closed the connection.
template <typename M>
Error send(Channel &Link, const M &Message, StringRef Bytes = {}) {
  return Link.write(printFrameLine(M::Kind, makeHead(Message), Bytes.size()),
                    Bytes);
}

/// Queues a message with \p Bytes, which are not copied.
template <typename M>
void queue(Channel &Link, const M &Message,
           std::shared_ptr<const std::string> Bytes = {}) {
  Link.queue(
      printFrameLine(M::Kind, makeHead(Message), Bytes ? Bytes->size() : 0),
      std::move(Bytes));
}

/// Returns the error for a message that is not allowed in the current state.
template <typename M> Error makeUnexpected(const M &) {
  return createStringError("unexpected message '" + M::Kind.Key + "'");
}

/// Checks whether a receiver would accept a request. \returns its size in
/// bytes.
Expected<size_t> checkRequest(const EvaluationRequest &R);

/// Checks the size of the result of a comparison.
Error checkPaired(const PairedEvaluation &P, size_t Compared, unsigned Rounds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_MESSAGES_H
