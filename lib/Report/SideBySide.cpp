//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/SideBySide.h"
#include "ReportParts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
/// A row of the table: a line of one or both sides.
struct CodeRow {
  char Marker; ///< ' ', '~', '|', '<', '>'
  std::optional<size_t> Lines[2];
};

/// The rows of one form of the code.
struct CodeTable {
  std::vector<StringRef> Lines[2];
  std::vector<CodeRow> Rows;
  /// The texts have too many different lines to find those in common.
  bool IsUnaligned = false;

  StringRef text(const CodeRow &R, unsigned Side) const {
    return R.Lines[Side] ? Lines[Side][*R.Lines[Side]] : StringRef();
  }
};
} // namespace

/// Replaces the numbers in matches of \p Names by '#'.
static std::string maskNumbers(StringRef Line, const Regex &Names) {
  std::string Masked;
  SmallVector<StringRef, 4> Matches;
  while (Names.match(Line, &Matches) && !Matches[0].empty()) {
    size_t Begin = Matches[0].data() - Line.data();
    Masked += Line.take_front(Begin);
    bool InNumber = false;
    for (char C : Matches[0]) {
      if (!isDigit(C))
        Masked += C;
      else if (!InNumber)
        Masked += '#';
      InNumber = isDigit(C);
    }
    Line = Line.drop_front(Begin + Matches[0].size());
  }
  return Masked + Line.str();
}

/// Adds a run of differing lines. Removed and added lines are paired as changed
/// lines.
static void addRun(ArrayRef<DiffLine> Run, std::vector<CodeRow> &Rows) {
  std::vector<size_t> Gone, Come;
  for (const DiffLine &L : Run)
    L.Kind == '-' ? Gone.push_back(L.A) : Come.push_back(L.B);
  for (size_t I = 0; I != std::max(Gone.size(), Come.size()); ++I) {
    CodeRow Row{'|', {}};
    if (I < Gone.size())
      Row.Lines[0] = Gone[I];
    else
      Row.Marker = '>';
    if (I < Come.size())
      Row.Lines[1] = Come[I];
    else
      Row.Marker = '<';
    Rows.push_back(Row);
  }
}

static CodeTable makeTable(const CodePair &Code) {
  CodeTable T;
  Regex Names(Code.NumberedNames);
  std::vector<std::string> Masked[2];
  for (unsigned Side : {0, 1}) {
    T.Lines[Side] = splitLines(Code.Sides[Side].Text);
    for (StringRef Line : T.Lines[Side])
      Masked[Side].push_back(maskNumbers(Line, Names));
  }
  std::vector<StringRef> Keys[2] = {{Masked[0].begin(), Masked[0].end()},
                                    {Masked[1].begin(), Masked[1].end()}};
  std::optional<std::vector<DiffLine>> Lines = compareLines(Keys[0], Keys[1]);
  if (!Lines) {
    T.IsUnaligned = true;
    Lines.emplace();
    for (size_t I = 0; I != Keys[0].size(); ++I)
      Lines->push_back({'-', I, 0});
    for (size_t I = 0; I != Keys[1].size(); ++I)
      Lines->push_back({'+', Keys[0].size(), I});
  }
  for (size_t I = 0; I != Lines->size();) {
    const DiffLine &L = (*Lines)[I];
    if (L.Kind == ' ') {
      bool Equal = T.Lines[0][L.A] == T.Lines[1][L.B];
      T.Rows.push_back({Equal ? ' ' : '~', {L.A, L.B}});
      ++I;
      continue;
    }
    size_t End = I;
    while (End != Lines->size() && (*Lines)[End].Kind != ' ')
      ++End;
    addRun(ArrayRef(*Lines).slice(I, End - I), T.Rows);
    I = End;
  }
  return T;
}

/// Returns "2 lines changed, 1 only on the bad side".
static std::string describeRows(const CodeTable &T) {
  if (T.IsUnaligned)
    return "too many different lines for a comparison";
  static constexpr std::pair<char, StringLiteral> Kinds[] = {
      {'|', "changed"},
      {'<', "only on the good side"},
      {'>', "only on the bad side"},
      {'~', "equal except for numbered names"}};
  SmallVector<std::string> Parts;
  for (auto [Marker, What] : Kinds) {
    size_t Count = count_if(
        T.Rows, [M = Marker](const CodeRow &R) { return R.Marker == M; });
    if (Count)
      Parts.push_back(formatv("{0}{1} {2}", Count,
                              !Parts.empty() ? ""
                              : Count == 1   ? " line"
                                             : " lines",
                              What)
                          .str());
  }
  return Parts.empty() ? "no difference" : join(Parts, ", ");
}

/// Returns why a form is missing, by side; empty if both sides have it.
static std::string describeMissing(const CodePair &Code) {
  if (Code.Sides[0].Missing == Code.Sides[1].Missing)
    return Code.Sides[0].Missing;
  static constexpr StringLiteral Names[] = {"the good side", "the bad side"};
  SmallVector<std::string, 2> Parts;
  for (auto [Side, Name] : zip_equal(Code.Sides, Names))
    if (!Side.Missing.empty())
      Parts.push_back((Name + ": " + Side.Missing).str());
  return join(Parts, "; ");
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

namespace {
/// A metric that at least one side has.
struct MetricRow {
  std::string Name, Values[2], Change, Class, Description;
};
} // namespace

static MetricRow makeRow(StringRef Name, std::optional<double> Good,
                         std::optional<double> Bad, StringRef Description) {
  MetricRow Row;
  Row.Name = Name.str();
  Row.Description = Description.str();
  std::optional<double> Both[] = {Good, Bad};
  for (auto [Text, V] : zip_equal(Row.Values, Both))
    Text = V ? formatMetric(Name, *V) : "-";
  if (Good && Bad)
    std::tie(Row.Change, Row.Class) = describeChange(Name, *Good, *Bad);
  return Row;
}

static std::vector<MetricRow> makeMetricRows(const SideBySide &S) {
  std::vector<MetricRow> Rows;
  auto Get = [&](unsigned Side, StringRef Name) -> std::optional<double> {
    auto It = S.Metrics[Side].find(Name);
    return It == S.Metrics[Side].end() ? std::nullopt
                                       : std::optional(It->second);
  };
  for (const MetricInfo &M : getMetricInfos()) {
    std::optional<double> Good = Get(0, M.Name), Bad = Get(1, M.Name);
    if (Good || Bad)
      Rows.push_back(makeRow(M.Name, Good, Bad, M.Description));
  }
  for (const CodePair &Code : S.Code) {
    auto Count = [&](unsigned Side) -> std::optional<double> {
      const ShownCode &C = Code.Sides[Side];
      return C.Missing.empty() ? std::optional<double>(C.Instructions)
                               : std::nullopt;
    };
    if (Count(0) || Count(1))
      Rows.push_back(makeRow(Code.Id + " instructions", Count(0), Count(1),
                             "instructions of the " + Code.Title));
  }
  if (S.TimeRatio)
    Rows.push_back(
        {"time ratio",
         {"1", formatRatio(*S.TimeRatio)},
         "",
         !S.TimeRatio->isSignificant() ? ""
         : S.TimeRatio->Value < 1      ? "good"
                                       : "bad",
         "ratio of the bad to the good side, with its 95 % interval"});
  return Rows;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string expandTabs(StringRef Line) {
  constexpr size_t TabWidth = 4;
  std::string Text;
  for (char C : Line)
    if (C == '\t')
      Text.append(TabWidth - Text.size() % TabWidth, ' ');
    else
      Text += C;
  return Text;
}

/// Prints one row. Wraps long lines, because they may differ in their ends.
static void printRow(raw_ostream &OS, const CodeTable &T, const CodeRow &Row,
                     size_t Column) {
  std::string Left = expandTabs(T.text(Row, 0));
  std::string Right = expandTabs(T.text(Row, 1));
  StringRef L = Left, R = Right;
  char Marker = Row.Marker;
  do {
    std::string Line =
        formatv("{0} {1} {2}", left_justify(L.take_front(Column), Column),
                Marker, R.take_front(Column))
            .str();
    OS << StringRef(Line).rtrim() << '\n';
    L = L.substr(Column);
    R = R.substr(Column);
    Marker = ' ';
  } while (!L.empty() || !R.empty());
}

void mneme::printSideBySide(raw_ostream &OS, const SideBySide &S,
                            unsigned Width) {
  size_t Column = std::max(20u, (std::max(Width, 3u) - 3) / 2);
  OS << "good side       " << S.Names[0] << "\nbad side        " << S.Names[1]
     << "\n\n";
  OS << formatv("{0,-24} {1,14} {2,14}\n", "", "good side", "bad side");
  for (const MetricRow &Row : makeMetricRows(S))
    OS << StringRef(formatv("{0,-24} {1,14} {2,14}  {3}", Row.Name,
                            Row.Values[0], Row.Values[1], Row.Change)
                        .str())
              .rtrim()
       << '\n';
  for (const CodePair &Code : S.Code) {
    OS << '\n' << Code.Title << ": ";
    if (std::string Why = describeMissing(Code); !Why.empty()) {
      OS << Why << '\n';
      continue;
    }
    CodeTable T = makeTable(Code);
    OS << describeRows(T) << '\n';
    for (const CodeRow &Row : T.Rows)
      printRow(OS, T, Row, Column);
  }
}

//===----------------------------------------------------------------------===//
// HTML
//===----------------------------------------------------------------------===//

static const char PageStyle[] = R"css(
body { max-width: none; }
.code { width: 100%; table-layout: fixed; }
.code td { border: 0; padding: 0 6px; font: 12.5px/1.5 ui-monospace, SFMono-Regular,
  Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
  tab-size: 4; }
.code td.mark { color: var(--muted); text-align: center; padding: 0; }
.code col.mark { width: 22px; }
.code .changed td, .code .gone td.l, .code .come td.r { background: var(--page); }
.code .gone td.l, .code .changed del { background: var(--bad-soft); color: var(--bad);
  text-decoration: none; }
.code .come td.r, .code .changed ins { background: var(--good-soft); color: var(--good); }
.code .numbers td.mark { opacity: .6; }
nav a { color: var(--accent); margin-right: 14px; }
)css";

/// Writes a line with its differing part, extended to whole words, in an
/// element \p Tag.
static void writeMarked(raw_ostream &OS, StringRef Text, StringRef Other,
                        StringRef Tag) {
  size_t Limit = std::min(Text.size(), Other.size()), Begin = 0, End = 0;
  while (Begin != Limit && Text[Begin] == Other[Begin])
    ++Begin;
  while (End != Limit - Begin &&
         Text[Text.size() - 1 - End] == Other[Other.size() - 1 - End])
    ++End;
  while (Begin && isAlnum(Text[Begin - 1]))
    --Begin;
  while (End && isAlnum(Text[Text.size() - End]))
    --End;
  OS << escapeHTML(Text.take_front(Begin)) << '<' << Tag << '>'
     << escapeHTML(Text.drop_front(Begin).drop_back(End)) << "</" << Tag << '>'
     << escapeHTML(Text.take_back(End));
}

static StringRef getRowClass(char Marker) {
  switch (Marker) {
  case '~':
    return "numbers";
  case '|':
    return "changed";
  case '<':
    return "gone";
  case '>':
    return "come";
  }
  return "";
}

static void writeCode(raw_ostream &OS, const SideBySide &S,
                      const CodePair &Code) {
  OS << "<section id=\"" << escapeHTML(Code.Id) << "\">\n<h2>"
     << escapeHTML(Code.Title) << "</h2>\n";
  if (std::string Why = describeMissing(Code); !Why.empty()) {
    OS << "<p class=\"note\">" << escapeHTML(Why) << "</p>\n</section>\n";
    return;
  }
  CodeTable T = makeTable(Code);
  OS << "<p class=\"note\">" << escapeHTML(describeRows(T))
     << "</p>\n<table class=\"code\">\n<colgroup><col><col "
        "class=\"mark\"><col></colgroup>\n<tr><th>"
     << escapeHTML(S.Names[0]) << "</th><th></th><th>" << escapeHTML(S.Names[1])
     << "</th></tr>\n";
  for (const CodeRow &Row : T.Rows) {
    StringRef Left = T.text(Row, 0), Right = T.text(Row, 1);
    std::string Class = getRowClass(Row.Marker).str();
    OS << "<tr" << (Class.empty() ? "" : " class=\"" + Class + "\"")
       << "><td class=\"l\">";
    if (Row.Marker == '|')
      writeMarked(OS, Left, Right, "del");
    else
      OS << escapeHTML(Left);
    OS << "</td><td class=\"mark\">" << escapeHTML(StringRef(&Row.Marker, 1))
       << "</td><td class=\"r\">";
    if (Row.Marker == '|')
      writeMarked(OS, Right, Left, "ins");
    else
      OS << escapeHTML(Right);
    OS << "</td></tr>\n";
  }
  OS << "</table>\n</section>\n";
}

static void writeMetrics(raw_ostream &OS, const SideBySide &S) {
  OS << "<section id=\"metrics\">\n<h2>Metrics</h2>\n<table>\n"
        "<tr><th></th><th class=\"n\">good side<br><code>"
     << escapeHTML(S.Names[0])
     << "</code></th><th class=\"n\">bad side<br><code>"
     << escapeHTML(S.Names[1]) << "</code></th><th></th><th></th></tr>\n";
  for (const MetricRow &Row : makeMetricRows(S))
    OS << "<tr><td>" << escapeHTML(Row.Name) << "</td><td class=\"n\">"
       << escapeHTML(Row.Values[0]) << "</td><td class=\"n\">"
       << escapeHTML(Row.Values[1]) << "</td><td class=\"n " << Row.Class
       << "\">" << escapeHTML(Row.Change) << "</td><td>"
       << escapeHTML(Row.Description) << "</td></tr>\n";
  OS << "</table>\n</section>\n";
}

Error mneme::writeSideBySidePage(const SideBySide &S, StringRef Path) {
  return writeFileAtomically(Path, [&](raw_ostream &OS) {
    beginPage(OS, S.Kernel, PageStyle);
    OS << "<p>" << escapeHTML(join(S.Facts, " · ")) << "</p>\n<p>"
       << escapeHTML(S.Outcome) << "</p>\n<nav>";
    for (const CodePair &Code : S.Code)
      OS << "<a href=\"#" << escapeHTML(Code.Id) << "\">"
         << escapeHTML(Code.Title) << "</a>";
    OS << "</nav>\n</header>\n";
    writeMetrics(OS, S);
    OS << "<p class=\"note\">| changed · &lt; and &gt; only on one side · ~ "
          "different only in the numbers of registers, labels and values "
          "without names</p>\n";
    for (const CodePair &Code : S.Code)
      writeCode(OS, S, Code);
    OS << "</body>\n</html>\n";
    return Error::success();
  });
}
