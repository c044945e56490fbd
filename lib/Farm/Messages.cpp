//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
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
    ++Fields;
    const json::Value *V = O->get(Key);
    Good = V ? Rule::read(*V, Out, P.field(Key))
             : rules::refuse(P.field(Key), "missing value");
  }

  bool finish() {
    if (Good && O->size() != Fields)
      Good = rules::refuse(P, "has an unknown field");
    return Good;
  }

private:
  const json::Object *O;
  json::Path P;
  bool Good;
  size_t Fields = 0;
};
} // namespace

#define FARM_PART(Name, T, Description)                                        \
  bool rules::Name::read(const json::Value &V, T &Out, json::Path P) {         \
    FieldReader R(V, P);
#define FARM_FIELD(Rule, Member, Key, Description)                             \
  R.read<rules::Rule>(Key, Out.Member);
#define FARM_END                                                               \
  return R.finish();                                                           \
  }
#include "Messages.def"

#define FARM_MESSAGE(Name, Key, Line, Bytes, Description)                      \
  bool mneme::readHead(const json::Value &V, message::Name &Out,               \
                       json::Path P) {                                         \
    FieldReader R(V, P);
#define FARM_FIELD(Rule, Member, Key, Description)                             \
  R.read<rules::Rule>(Key, Out.Member);
#define FARM_END                                                               \
  return R.finish();                                                           \
  }
#include "Messages.def"

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

#define FARM_PART(Name, T, Description)                                        \
  json::Value rules::Name::write(const T &M) {                                 \
    json::Object O;
#define FARM_FIELD(Rule, Member, Key, Description)                             \
  O[Key] = rules::Rule::write(M.Member);
#define FARM_END                                                               \
  return std::move(O);                                                         \
  }
#include "Messages.def"

#define FARM_MESSAGE(Name, Key, Line, Bytes, Description)                      \
  json::Object mneme::makeHead(const message::Name &M) {                       \
    (void)M;                                                                   \
    json::Object O;
#define FARM_FIELD(Rule, Member, Key, Description)                             \
  O[Key] = rules::Rule::write(M.Member);
#define FARM_END                                                               \
  return O;                                                                    \
  }
#include "Messages.def"

//===----------------------------------------------------------------------===//
// Checks between messages
//===----------------------------------------------------------------------===//

Expected<size_t> mneme::checkRequest(const EvaluationRequest &R) {
  json::Object Head = makeHead(message::Evaluate{0, R});
  std::string Line =
      printFrameLine(message::Evaluate::Kind, json::Object(Head), 0);
  if (Line.size() > message::Evaluate::Kind.LineBytes)
    return createStringError("a configuration of more than " +
                             Twine(message::Evaluate::Kind.LineBytes) +
                             " bytes");
  message::Evaluate Ignored;
  json::Path::Root Root("the configuration");
  json::Value Value(std::move(Head)); // the error refers to its keys
  if (!readHead(Value, Ignored, Root))
    return Root.getError();
  return Line.size();
}

Error mneme::checkPaired(const PairedEvaluation &P, size_t Compared,
                         unsigned Rounds) {
  if (!P.Failure.empty())
    return P.Samples.empty()
               ? Error::success()
               : createStringError("a comparison that failed has samples");
  if (P.Samples.size() != Compared)
    return createStringError(formatv("a comparison of {0} has samples of {1}",
                                     Compared, P.Samples.size())
                                 .str());
  for (const std::vector<double> &S : P.Samples)
    if (S.size() < Rounds || S.size() != P.Samples.front().size())
      return createStringError(
          formatv("a comparison of {0} rounds has lists of {1} and {2} samples",
                  Rounds, P.Samples.front().size(), S.size())
              .str());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Documentation
//===----------------------------------------------------------------------===//

namespace {
struct FieldText {
  StringRef Key, Description;
  std::string Rule;
};
struct ObjectText {
  StringRef Name, Description;
  MessageKind Kind; ///< Of a message.
  std::vector<FieldText> Fields;
};
} // namespace

static std::vector<ObjectText> getParts() {
  std::vector<ObjectText> Parts;
#define FARM_PART(Name, T, Description)                                        \
  Parts.push_back({#Name, Description, {}, {}});
#define FARM_FIELD(Rule, Member, Key, Description)                             \
  Parts.back().Fields.push_back({Key, Description, rules::Rule::describe()});
#include "Messages.def"
  return Parts;
}

static std::vector<ObjectText> getMessages() {
  std::vector<ObjectText> Messages;
#define FARM_MESSAGE(Name, Key, Line, Bytes, Description)                      \
  Messages.push_back({#Name, Description, message::Name::Kind, {}});
#define FARM_FIELD(Rule, Member, Key, Description)                             \
  Messages.back().Fields.push_back({Key, Description, rules::Rule::describe()});
#include "Messages.def"
  return Messages;
}

static void printFields(raw_ostream &OS, const ObjectText &Text) {
  for (const FieldText &F : Text.Fields)
    OS << formatv("\n* ``{0}``: {1} ({2})", F.Key, F.Description, F.Rule);
  OS << (Text.Fields.empty() ? "" : "\n");
}

static void printTitle(raw_ostream &OS, StringRef Title, char Line) {
  OS << '\n' << Title << '\n' << std::string(Title.size(), Line) << '\n';
}

void mneme::printProtocol(raw_ostream &OS) {
  std::vector<ObjectText> Messages = getMessages();
  auto Print = [&](StringRef Name) {
    const ObjectText &M =
        *find_if(Messages, [&](const ObjectText &T) { return T.Name == Name; });
    printTitle(OS, ("``" + M.Kind.Key + "``").str(), '-');
    OS << formatv("\n{0}. Line: at most {1} bytes.", M.Description,
                  M.Kind.LineBytes);
    if (M.Kind.Bytes)
      OS << formatv(" After it: at most {0} bytes.", M.Kind.Bytes);
    OS << '\n';
    printFields(OS, M);
  };
#define FARM_SET(Name, Sender, Receiver)                                       \
  printTitle(OS, "From " Sender " to " Receiver, '=');
#define FARM_SENDS(M) Print(#M);
#include "Messages.def"
  printTitle(OS, "Objects within messages", '=');
  for (const ObjectText &Part : getParts()) {
    printTitle(OS, Part.Name, '-');
    OS << '\n' << Part.Description << ".\n";
    printFields(OS, Part);
  }
}
