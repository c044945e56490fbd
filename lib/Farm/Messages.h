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

#include "MessageRules.h"
#include "Staging.h"
#include "llvm/Mneme/Farm/Farm.h"
#include "llvm/Mneme/Process/Frame.h"
#include <variant>

namespace llvm {
namespace mneme {
namespace rules {

#define FARM_PART(Name, T, Description)                                        \
  struct Name {                                                                \
    using Type = T;                                                            \
    static bool read(const json::Value &V, T &Out, json::Path P);              \
    static json::Value write(const T &V);                                      \
    static std::string describe() { return #Name; }                            \
  };
#define FARM_LIST(Name, Part, Max) using Name = ListOf<Part, Max>;
#include "Messages.def"

} // namespace rules

/// The first line of a worker. Text before it is from a launcher, a shell or a
/// module system.
constexpr StringLiteral WorkerGreeting = "mneme-farm-worker 5f3b9c0e7ad84216";

namespace message {

#define FARM_MESSAGE(Name, K, Line, Bytes, Description)                        \
  struct Name {                                                                \
    static constexpr MessageKind Kind = {K, Line, Bytes};
#define FARM_FIELD(Rule, Member, Key, Description) rules::Rule::Type Member{};
#define FARM_END                                                               \
  std::string Bytes{}; /**< What followed the line. */                         \
  }                                                                            \
  ;
#include "Messages.def"

} // namespace message

/// The JSON object of a message.
#define FARM_MESSAGE(Name, Key, Line, Bytes, Description)                      \
  json::Object makeHead(const message::Name &M);                               \
  bool readHead(const json::Value &V, message::Name &M, json::Path P);
#include "Messages.def"

/// std::variant<T...>. With a first type that is ignored, a list of types can
/// have a comma before each.
template <typename First, typename... T> struct VariantOf {
  using Type = std::variant<T...>;
};

// clang-format off
#define FARM_SET(Name, Sender, Receiver) using Name = VariantOf<void
#define FARM_SENDS(M) , message::M
#define FARM_SET_END >::Type;
// clang-format on
#include "Messages.def"

template <typename SetT> struct MessageSet;
template <typename... T> struct MessageSet<std::variant<T...>> {
  static constexpr MessageKind Kinds[] = {T::Kind...};

  template <typename M> static Expected<std::variant<T...>> read(Frame &F) {
    M Message;
    json::Path::Root Root(M::Kind.Key);
    json::Value Head(std::move(F.Head)); // the error refers to its keys
    if (!readHead(Head, Message, Root))
      return createStringError("malformed message: " +
                               llvm::toString(Root.getError()));
    Message.Bytes = std::move(F.Bytes);
    return std::move(Message);
  }

  /// Decodes and validates a frame.
  static Expected<std::variant<T...>> decode(Frame F) {
    using ReadFn = Expected<std::variant<T...>> (*)(Frame &);
    static constexpr ReadFn Readers[] = {&MessageSet::read<T>...};
    return Readers[F.Kind](F);
  }
};

/// \returns the next message of a stream, or std::nullopt if it is not complete
/// yet.
template <typename SetT>
Expected<std::optional<SetT>> nextMessage(FrameParser &Parser) {
  Expected<std::optional<Frame>> F = Parser.next();
  if (!F)
    return F.takeError();
  if (!*F)
    return std::nullopt;
  Expected<SetT> Message = MessageSet<SetT>::decode(std::move(**F));
  if (!Message)
    return Message.takeError();
  return std::move(*Message);
}

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

/// The protocol as a page of the documentation (reStructuredText).
void printProtocol(raw_ostream &OS);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_MESSAGES_H
