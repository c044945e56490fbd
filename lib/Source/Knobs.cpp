//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/Knobs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Support/TextError.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral Start = "mneme-";

/// Returns the text of a line's comment; empty if there is none. A comment may
/// also stand behind code.
static StringRef getComment(StringRef Line) {
  size_t At = std::min(Line.find("//"), Line.find("/*"));
  if (At == StringRef::npos)
    return "";
  StringRef Text = Line.drop_front(At + 2);
  return Text.take_front(Text.find("*/")).trim(" \t\r*/");
}

/// Splits "block.x = TILE, grid.x = max(A, B)" at commas outside of brackets.
static std::vector<StringRef> splitSettings(StringRef Text) {
  std::vector<StringRef> Parts;
  unsigned Depth = 0;
  size_t Begin = 0;
  for (size_t I = 0; I != Text.size(); ++I) {
    if (Text[I] == '(')
      ++Depth;
    else if (Text[I] == ')' && Depth)
      --Depth;
    else if (Text[I] == ',' && !Depth) {
      Parts.push_back(Text.slice(Begin, I).trim());
      Begin = I + 1;
    }
  }
  Parts.push_back(Text.drop_front(Begin).trim());
  return Parts;
}

namespace {
class KnobReader {
public:
  explicit KnobReader(StringRef Source) : Source(Source) {}
  Expected<std::vector<SourceKnob>> read();

private:
  StringRef Source;
  std::vector<SourceKnob> Knobs;

  Error readComment(StringRef Comment);
  Error readLaunch(StringRef Text);
  Error refuse(StringRef Where, const Twine &Message) const {
    return makeTextError(Source, Where.data() - Source.data(), Message);
  }
};
} // namespace

Error KnobReader::readLaunch(StringRef Text) {
  for (StringRef Part : splitSettings(Text)) {
    auto [Key, Value] = Part.split('=');
    const SettingInfo *S = findSetting(Key.trim());
    if (!S || S->Stage != SettingStage::Launch || !S->isSearched())
      return refuse(Part, "expected a setting of the launch, such as block.x, "
                          "got '" +
                              Key.trim() + "'");
    if (Value.trim().empty())
      return refuse(Part, "expected " + Key.trim() + " = expression");
    Knobs.push_back({S->TuneOption.str(), Value.trim().str()});
  }
  return Error::success();
}

Error KnobReader::readComment(StringRef Comment) {
  StringRef Word = Comment.take_until([](char C) { return isSpace(C); });
  StringRef Text = Comment.drop_front(Word.size()).trim();
  if (Word == "mneme-launch")
    return readLaunch(Text);
  if (Word == "mneme-require") {
    Knobs.push_back({"require", Text.str()});
    return Error::success();
  }
  if (Word != "mneme-knob")
    return refuse(Comment, "expected mneme-knob, mneme-launch or "
                           "mneme-require, got '" +
                               Word + "'");
  auto [Name, Values] = Text.split('=');
  if (!isMacroName(Name.trim()) || Values.trim().empty())
    return refuse(Comment, "expected mneme-knob NAME = values");
  Knobs.push_back({"define", (Name.trim() + "=" + Values.trim()).str()});
  return Error::success();
}

Expected<std::vector<SourceKnob>> KnobReader::read() {
  for (StringRef Line : split(Source, '\n'))
    if (StringRef Comment = getComment(Line); Comment.starts_with(Start))
      if (Error E = readComment(Comment))
        return std::move(E);
  return std::move(Knobs);
}

Expected<std::vector<SourceKnob>> mneme::findKnobs(StringRef Source) {
  return KnobReader(Source).read();
}
