//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/JSON.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/TextError.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned MaxNesting = 64;

bool mneme::isNestedTooDeep(StringRef Text) {
  unsigned Depth = 0;
  bool InString = false;
  for (size_t I = 0; I < Text.size(); ++I) {
    char C = Text[I];
    if (InString) {
      I += C == '\\';
      InString = C != '"';
    } else if (C == '"') {
      InString = true;
    } else if (C == '[' || C == '{') {
      if (++Depth > MaxNesting)
        return true;
    } else if ((C == ']' || C == '}') && Depth) {
      --Depth;
    }
  }
  return false;
}

/// LLVM's error gives its position only as text: "[1:7, byte=7]: Expected ...".
/// The byte number is one past the offending byte, except in two messages.
static Error addPosition(StringRef Text, StringRef Message) {
  size_t Offset = 0;
  StringRef Position;
  std::tie(Position, Message) = Message.split("]: ");
  Position.split("byte=").second.getAsInteger(10, Offset);
  bool IsOffender =
      Message.starts_with("Text after") || Message.starts_with("Invalid UTF-8");
  return makeTextError(Text, Offset && !IsOffender ? Offset - 1 : Offset,
                       Twine(toLower(Message.front())) + Message.drop_front());
}

Expected<json::Value> mneme::parseJSON(StringRef Text) {
  if (isNestedTooDeep(Text))
    return makeTextError(Text, 0, "nested too deeply");
  Expected<json::Value> V = json::parse(Text);
  if (V)
    return V;
  return addPosition(Text, toString(V.takeError()));
}

Expected<json::Value> mneme::readJSONFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Text = readTextFile(Path);
  if (!Text)
    return Text.takeError();
  Expected<json::Value> V = parseJSON((*Text)->getBuffer());
  if (!V)
    return createFileError(Path, V.takeError());
  return V;
}

json::Value mneme::orNull(StringRef Text) {
  return Text.empty() ? json::Value(nullptr) : json::Value(json::fixUTF8(Text));
}

//===----------------------------------------------------------------------===//
// Positions of keys
//===----------------------------------------------------------------------===//

char KeyError::ID;

std::error_code KeyError::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

/// The size of the string literal at the start of \p Text, with its quotes.
static size_t getStringSize(StringRef Text) {
  size_t I = 1;
  while (I < Text.size() && Text[I] != '"')
    I += Text[I] == '\\' ? 2 : 1;
  return std::min(I + 1, Text.size());
}

static bool isLiteralOf(StringRef Literal, StringRef Key) {
  Expected<json::Value> V = json::parse(Literal);
  if (V)
    return V->getAsString() == Key;
  consumeError(V.takeError());
  return false;
}

/// \returns the offset of the last key of \p Path.
static std::optional<size_t> findKey(StringRef Text, ArrayRef<StringRef> Path) {
  size_t Depth = 0, Found = 0; // Found keys belong to enclosing objects.
  for (size_t I = 0; I < Text.size(); ++I) {
    switch (Text[I]) {
    case '{':
    case '[':
      ++Depth;
      break;
    case '}':
    case ']':
      if (--Depth == Found)
        return std::nullopt;
      break;
    case '"': {
      StringRef Literal =
          Text.substr(I).take_front(getStringSize(Text.substr(I)));
      StringRef Rest = Text.substr(I + Literal.size()).ltrim();
      if (Depth == Found + 1 && Rest.consume_front(":") &&
          isLiteralOf(Literal, Path[Found])) {
        if (++Found == Path.size())
          return I;
        if (!Rest.ltrim().starts_with("{"))
          return std::nullopt;
      }
      I += Literal.size() - 1;
      break;
    }
    default:
      break;
    }
  }
  return std::nullopt;
}

Error mneme::locateKey(StringRef Text, ArrayRef<StringRef> Path, Error E) {
  return handleErrors(std::move(E), [&](std::unique_ptr<KeyError> K) -> Error {
    SmallVector<StringRef, 4> Keys(Path);
    Keys.push_back(K->Key);
    if (std::optional<size_t> At = findKey(Text, Keys))
      return makeTextError(Text, *At, K->Message);
    return Error(std::move(K));
  });
}
