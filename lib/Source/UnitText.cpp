//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/UnitText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Reading what -frewrite-includes writes
//===----------------------------------------------------------------------===//

static constexpr StringLiteral Expanded = " expanded by -frewrite-includes */",
                               Disabled =
                                   "/* disabled by -frewrite-includes */";

namespace {
/// A line marker: # LINE "FILE" FLAGS
struct LineMarker {
  unsigned Line = 0;
  std::string File;
  bool Enters = false, Returns = false;
};
} // namespace

static std::optional<LineMarker> parseMarker(StringRef Text) {
  LineMarker M;
  if (!Text.consume_front("# ") || Text.consumeInteger(10, M.Line) ||
      !Text.consume_front(" \""))
    return std::nullopt;
  while (!Text.empty() && Text.front() != '"') {
    Text.consume_front("\\");
    M.File += Text.empty() ? '\0' : Text.front();
    Text = Text.drop_front();
  }
  Text.consume_front("\"");
  for (StringRef Flag : split(Text.trim(), ' ')) {
    M.Enters |= Flag == "1";
    M.Returns |= Flag == "2";
  }
  return M;
}

static std::string quoteFile(StringRef File) {
  std::string Text;
  raw_string_ostream OS(Text);
  OS << '"';
  OS.write_escaped(File);
  OS << '"';
  return Text;
}

namespace {
/// Reads a unit line by line.
class UnitReader {
public:
  explicit UnitReader(StringRef Text) : Rest(Text), Whole(Text) {}

  bool next() {
    if (Rest.empty())
      return false;
    Begin = Rest.data() - Whole.data();
    size_t Size = Rest.find('\n');
    Size = Size == StringRef::npos ? Rest.size() : Size + 1;
    Line = Rest.take_front(Size);
    Rest = Rest.drop_front(Size);
    return true;
  }
  /// Returns the line without indentation and line end.
  StringRef bare() const { return Line.trim(); }
  StringRef indentation() const {
    return Line.take_front(Line.size() - Line.ltrim(" \t").size());
  }

  StringRef Line; ///< With its line end.
  size_t Begin = 0;

private:
  StringRef Rest, Whole;
};
} // namespace

class UnitText::Parser {
public:
  explicit Parser(UnitText &Unit) : Unit(Unit), Reader(Unit.Rewritten) {}
  Error run();

private:
  bool isTarget() const { return !Files.empty() && Files.back() == Unit.File; }
  void handle(const LineMarker &M);
  void readInclusion();
  void readSkipped();
  void readCondition();
  void endInclusion();
  void addText(StringRef Text) {
    if (isTarget())
      Unit.Original += Text;
  }
  void addDirective(Directive::KindTy Kind, StringRef Text);

  UnitText &Unit;
  UnitReader Reader;
  std::vector<std::string> Files; ///< The files that are open.
  /// For each inclusion that is open: the index of its directive in the target;
  /// unset in another file.
  std::vector<std::optional<size_t>> Inclusions;
  bool HasMain = false;
  unsigned Entries = 0;
};

void UnitText::Parser::handle(const LineMarker &M) {
  size_t Next = Reader.Begin + Reader.Line.size();
  auto Enter = [&] {
    Files.push_back(M.File);
    if (!isTarget() || ++Entries != 1)
      return;
    Unit.Begin = Next;
    Unit.Includers.assign(Files.begin(), Files.end() - 1);
  };
  if (M.Enters) {
    Enter();
  } else if (M.Returns) {
    if (Files.size() > 1)
      Files.pop_back();
  } else if (Files.empty()) {
    Files.push_back(M.File); // "<built-in>"
  } else if (!HasMain && Files.size() == 1 && M.File != Files.back()) {
    HasMain = true;
    Files.clear();
    Enter();
  }
}

void UnitText::Parser::addDirective(Directive::KindTy Kind, StringRef Text) {
  if (!isTarget())
    return;
  Directive D = {Kind, "", 0, 0, false};
  std::string Rest;
  StringRef Name = getDirectiveName(Text.trim(), Rest);
  D.Spelling = (Name + " " + Rest).str();
  Unit.Directives.push_back(std::move(D));
}

/// Reads "#if … /* x.h expanded by -frewrite-includes */", the directive, and
/// "#else …". The text of the file follows.
void UnitText::Parser::readInclusion() {
  std::string Text = Reader.indentation().str();
  while (Reader.next() && !Reader.bare().ends_with(Expanded))
    Text += Reader.Line;
  addText(Text);
  addDirective(Directive::Include, Text);
  size_t Index = Unit.Directives.size() - 1;
  Inclusions.push_back(isTarget() ? std::optional(Index) : std::nullopt);
  if (!isTarget())
    return;
  // A marker of this file precedes that of the included one.
  Unit.Directives[Index].Begin = Reader.Begin + Reader.Line.size();
}

/// Reads a directive that includes nothing.
void UnitText::Parser::readSkipped() {
  std::string Text = Reader.indentation().str();
  while (Reader.next() && !Reader.bare().ends_with(Expanded))
    Text += Reader.Line;
  addText(Text);
  addDirective(Directive::Include, Text);
}

void UnitText::Parser::readCondition() {
  std::string Indentation = Reader.indentation().str();
  std::vector<StringRef> Lines;
  while (Reader.next() && !Reader.bare().ends_with(Disabled))
    Lines.push_back(Reader.Line);
  if (!Reader.next())
    return;
  bool IsElse = Reader.bare().starts_with("#el");
  // Clang adds "#endif" and, to balance an #elif, "#if 0".
  if (!Lines.empty())
    Lines.pop_back();
  if (IsElse && !Lines.empty())
    Lines.erase(Lines.begin());
  std::string Text = Indentation + join(Lines, "");
  addText(Text);
  addDirective(Directive::Condition, Text);
  if (isTarget())
    Unit.Directives.back().IsTrue =
        Reader.bare().split(' ').second.starts_with("1");
}

void UnitText::Parser::endInclusion() {
  std::optional<size_t> Index = Inclusions.back();
  Inclusions.pop_back();
  if (Index)
    Unit.Directives[*Index].End = Reader.Begin;
  else if (isTarget())
    Unit.End = Reader.Begin;
}

Error UnitText::Parser::run() {
  while (Reader.next()) {
    StringRef Line = Reader.bare();
    if (std::optional<LineMarker> M = parseMarker(Reader.Line)) {
      handle(*M);
    } else if (!Line.starts_with("#")) {
      addText(Reader.Line);
    } else if (Line.ends_with(Expanded)) {
      // Behind "/*" is the name of the file; that of a directive without effect
      // is empty.
      bool IsSkipped = Line.drop_back(Expanded.size()).trim().ends_with("/*");
      if (Line.starts_with("#endif") && !Inclusions.empty())
        endInclusion();
      else if (IsSkipped)
        readSkipped();
      else
        readInclusion();
    } else if (Line.ends_with(Disabled)) {
      readCondition();
    } else {
      addText(Reader.Line);
    }
  }
  if (!Unit.End)
    Unit.End = Unit.Rewritten.size();
  if (Entries == 1)
    return Error::success();
  return createStringError(
      formatv("'{0}' is {1} in the unit", Unit.File,
              Entries ? formatv("included {0} times", Entries).str()
                      : "missing")
          .str());
}

Expected<UnitText> UnitText::parse(std::string Rewritten, StringRef File) {
  UnitText Unit;
  Unit.Rewritten = std::move(Rewritten);
  Unit.File = File.str();
  if (Error E = Parser(Unit).run())
    return std::move(E);
  Unit.OpenAtBegin =
      countOpenConditionals(StringRef(Unit.Rewritten).take_front(Unit.Begin));
  return std::move(Unit);
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

namespace {
/// A text with the origins of its lines.
class OriginWriter {
public:
  explicit OriginWriter(ComposedText &Out) : Out(Out) {}
  /// Adds text whose first line is \p Origin. \p Step is 1 if the following
  /// lines are those of the version, otherwise 0.
  void add(StringRef Text, unsigned Origin, unsigned Step) {
    Out.Text += Text;
    for (size_t I = Text.count('\n'); I; --I, Origin += Step)
      Out.Origins.push_back(Origin);
  }
  void endLine(unsigned Origin) {
    if (!Out.Text.empty() && Out.Text.back() != '\n')
      add("\n", Origin, 0);
  }

private:
  ComposedText &Out;
};
} // namespace

class UnitText::Composer {
public:
  Composer(const UnitText &Unit, StringRef Version,
           ArrayRef<SourceBlock> Blocks, bool OnlyRest)
      : Unit(Unit), Version(Version), Blocks(Blocks), OnlyRest(OnlyRest),
        Writer(Out) {}
  ComposedText run(bool WithTail);

private:
  void addText(StringRef Text);
  void addLine(StringRef Line);
  void addDirective(StringRef Text);
  /// Conditionals that are open there. Those of an included file are closed.
  unsigned countOpen(size_t VersionEnd) const {
    return Unit.OpenAtBegin +
           countOpenConditionals(Version.take_front(VersionEnd));
  }
  void addUnit(size_t Begin, size_t End, unsigned Origin);
  void endFixed(size_t VersionEnd);
  const Directive *find(Directive::KindTy Kind, StringRef Spelling);
  void mark(StringRef Flags = "") {
    Writer.add(
        formatv("# {0} {1}{2}\n", Number, quoteFile(Unit.File), Flags).str(), 0,
        0);
  }
  const UnitText &Unit;
  StringRef Version;
  ArrayRef<SourceBlock> Blocks;
  bool OnlyRest;
  ComposedText Out;
  OriginWriter Writer;
  unsigned Line = 1;   ///< Of the version.
  unsigned Number = 1; ///< The same line for __LINE__.
  size_t StartedBlocks = 0, EndedBlocks = 0;
  StringMap<unsigned> Used; ///< Directives by spelling.
};

bool mneme::isMarkerLine(StringRef Line) {
  StringRef Text = Line.trim();
  return Text.consume_front("//") &&
         (Text.contains(BlockStart) || Text.contains(BlockEnd));
}

void UnitText::Composer::addLine(StringRef Text) {
  Writer.add(Text, Line, 1);
  bool IsWhole = Text.ends_with("\n");
  if (!isMarkerLine(Text)) {
    Line += IsWhole;
    Number += IsWhole;
    return;
  }
  Line += IsWhole;
  if (Text.contains(BlockEnd)) {
    if (EndedBlocks < Blocks.size())
      Number = Blocks[EndedBlocks].Last + 1;
    ++EndedBlocks;
  } else {
    ++StartedBlocks;
  }
  Writer.endLine(Line);
  mark();
}

void UnitText::Composer::addText(StringRef Text) {
  while (!Text.empty()) {
    size_t Size = Text.find('\n');
    Size = Size == StringRef::npos ? Text.size() : Size + 1;
    addLine(Text.take_front(Size));
    Text = Text.drop_front(Size);
  }
}

/// Equal directives stand for their occurrences in the original, in order; the
/// last one for all others.
const UnitText::Directive *UnitText::Composer::find(Directive::KindTy Kind,
                                                    StringRef Spelling) {
  const Directive *Found = nullptr;
  unsigned Index = Used[Spelling]++;
  for (const Directive &D : Unit.Directives)
    if (D.Kind == Kind && D.Spelling == Spelling) {
      Found = &D;
      if (Index-- == 0)
        break;
    }
  return Found;
}

/// \p Text is a directive of the version without its line end.
void UnitText::Composer::addDirective(StringRef Text) {
  std::string Rest;
  StringRef Name = getDirectiveName(Text, Rest);
  std::string Spelling = (Name + " " + Rest).str();
  const Directive *D = nullptr;
  bool IsCondition = Name == "if" || Name == "elif";
  if (Name.starts_with("include") || Name == "import" ||
      Spelling == "pragma once")
    D = find(Directive::Include, Spelling);
  else if (IsCondition && StringRef(Rest).contains("__has_"))
    D = find(Directive::Condition, Spelling);
  if (!D)
    return addText(Text);

  unsigned First = Line, Lines = Text.count('\n');
  Line += Lines;
  Number += Lines;
  if (IsCondition) {
    Writer.add(formatv("#{0} {1}", Name, D->IsTrue ? 1 : 0).str(), First, 0);
    Writer.add(std::string(Lines, '\n'), First, 1);
    return;
  }
  if (D->Begin == D->End) {
    Writer.add(std::string(Lines, '\n'), First, 1);
    return;
  }
  Writer.endLine(First);
  addUnit(D->Begin, D->End, First);
  mark(" 2");
  if (!StartedBlocks)
    endFixed(Text.end() - Version.begin());
}

/// Adds text of the unit. What is before the first block is dropped later if
/// only the rest is wanted.
void UnitText::Composer::addUnit(size_t Begin, size_t End, unsigned Origin) {
  if (!OnlyRest || StartedBlocks)
    Writer.add(StringRef(Unit.Rewritten).slice(Begin, End), Origin, 0);
}

/// \param VersionEnd  the end of the version's part.
void UnitText::Composer::endFixed(size_t VersionEnd) {
  if (OnlyRest) {
    Out.Text.clear();
    Out.Origins.clear();
    Out.OpenBefore = countOpen(VersionEnd);
  }
  Out.Fixed = Out.Text.size();
  Out.FixedMarkers.clear();
  StringRef Flags = "";
  for (StringRef File : Unit.Includers) {
    Out.FixedMarkers += formatv("# 1 {0}{1}\n", quoteFile(File), Flags).str();
    Flags = " 1";
  }
  Out.FixedMarkers +=
      formatv("# {0} {1}{2}\n", Number, quoteFile(Unit.File), Flags).str();
}

ComposedText UnitText::Composer::run(bool WithTail) {
  addUnit(0, Unit.Begin, 0);
  endFixed(0);
  size_t At = 0;
  for (const SourceToken &T : lexSource(Version)) {
    if (T.Kind != SourceToken::Directive)
      continue;
    addText(Version.slice(At, T.Begin));
    At = T.End;
    addDirective(T.in(Version));
  }
  addText(Version.drop_front(At));
  Writer.endLine(Line);
  if (WithTail) {
    Writer.add(StringRef(Unit.Rewritten).drop_front(Unit.End), 0, 0);
    return std::move(Out);
  }
  for (unsigned I = countOpen(Version.size()); I; --I)
    Writer.add("#endif\n", 0, 0);
  return std::move(Out);
}

static StringRef dropTail(StringRef Version) {
  size_t At = Version.rfind(BlockEnd);
  return At == StringRef::npos ? Version
                               : Version.take_front(Version.find('\n', At) + 1);
}

ComposedText UnitText::compose(StringRef Version, ArrayRef<SourceBlock> Blocks,
                               bool WithTail) const {
  return Composer(*this, WithTail ? Version : dropTail(Version), Blocks,
                  /*OnlyRest=*/false)
      .run(WithTail);
}

ComposedText UnitText::composeRest(StringRef Version,
                                   ArrayRef<SourceBlock> Blocks,
                                   bool WithTail) const {
  return Composer(*this, WithTail ? Version : dropTail(Version), Blocks,
                  /*OnlyRest=*/true)
      .run(WithTail);
}

//===----------------------------------------------------------------------===//
// Markers
//===----------------------------------------------------------------------===//

std::string mneme::addMarkers(StringRef Original,
                              ArrayRef<SourceBlock> Blocks) {
  LineTable Lines(Original);
  std::string Text;
  size_t At = 0;
  for (const SourceBlock &B : Blocks) {
    size_t Begin = Lines.offsetOf(B.First), End = Lines.offsetOf(B.Last + 1);
    Text += Original.slice(At, Begin);
    Text += ("// " + BlockStart + " " + B.Name + "\n").str();
    Text += Original.slice(Begin, End);
    if (Text.back() != '\n')
      Text += '\n';
    Text += ("// " + BlockEnd + "\n").str();
    At = End;
  }
  return Text + Original.drop_front(At).str();
}

Expected<MarkedText> mneme::cutAtMarkers(StringRef Text) {
  MarkedText Marked;
  bool IsOpen = false;
  size_t PartBegin = 0, OpenedAt = 0;
  for (size_t At = 0; At < Text.size();) {
    size_t Next = std::min(Text.find('\n', At), Text.size() - 1) + 1;
    StringRef Line = Text.slice(At, Next);
    if (isMarkerLine(Line)) {
      bool Opens = Line.contains(BlockStart);
      if (Opens == IsOpen)
        return makeTextError(Text, At,
                             Opens ? "a block inside a block: expected " +
                                         BlockEnd
                                   : "the end of a block that does not begin");
      if (Opens) {
        StringRef Name = Line.substr(Line.find(BlockStart) + BlockStart.size());
        Marked.Names.push_back(Name.trim().str());
        OpenedAt = At;
      }
      Marked.Parts.push_back(Text.slice(PartBegin, At));
      PartBegin = Next;
      IsOpen = Opens;
    }
    At = Next;
  }
  if (IsOpen)
    return makeTextError(Text, OpenedAt, "a block without " + BlockEnd);
  Marked.Parts.push_back(Text.drop_front(PartBegin));
  return std::move(Marked);
}
