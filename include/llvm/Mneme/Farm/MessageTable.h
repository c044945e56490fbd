//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts of tables of messages (DeclareMessages.inc) that are the same for
/// all tables: reading objects, sets of messages, documentation.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_FARM_MESSAGETABLE_H
#define LLVM_MNEME_FARM_MESSAGETABLE_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Farm/MessageRules.h"
#include "llvm/Mneme/Process/Frame.h"
#include <variant>

namespace llvm {
class raw_ostream;
namespace mneme {

/// Reads the fields of an object, each once.
class FieldReader {
public:
  FieldReader(const json::Value &V, json::Path P) : O(V.getAsObject()), P(P) {
    if (!O)
      rules::refuse(P, "expected an object");
    Good = O;
  }

  template <typename Rule, typename T> void read(StringLiteral Key, T &Out) {
    if (!Good)
      return;
    Keys.push_back(Key);
    const json::Value *V = O->get(Key);
    Good = V ? Rule::read(*V, Out, P.field(Key))
             : rules::refuse(P.field(Key), "missing value");
  }

  /// Leaves \p Out unchanged if the object lacks the field.
  template <typename Rule, typename T>
  void readOptional(StringLiteral Key, T &Out) {
    if (Good && O->get(Key))
      read<Rule>(Key, Out);
  }

  bool finish() {
    if (Good && O->size() != Keys.size())
      for (const auto &KV : *O)
        if (!is_contained(Keys, StringRef(KV.first)))
          Good = rules::refuse(P.field(KV.first), "unknown field");
    return Good;
  }

private:
  const json::Object *O;
  json::Path P;
  bool Good;
  SmallVector<StringRef, 32> Keys; ///< Fields read so far.
};

/// std::variant<T...>. With a first type that is ignored, a list of types can
/// have a comma before each.
template <typename First, typename... T> struct VariantOf {
  using Type = std::variant<T...>;
};

/// The messages of one side. readHead() is found in their namespace.
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

//===----------------------------------------------------------------------===//
// Documentation
//===----------------------------------------------------------------------===//

struct FieldText {
  StringRef Key, Description;
  std::string Rule;
};
/// A message or a part.
struct ObjectText {
  StringRef Name, Description;
  MessageKind Kind; ///< Of a message.
  std::vector<FieldText> Fields;
};
/// The messages of one side.
struct SetText {
  StringRef Sender, Receiver;
  std::vector<StringRef> Messages; ///< Names.
};

/// Prints sections of a page (reStructuredText).
void printMessageTexts(raw_ostream &OS, ArrayRef<SetText> Sets,
                       ArrayRef<ObjectText> Messages,
                       ArrayRef<ObjectText> Parts);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_FARM_MESSAGETABLE_H
