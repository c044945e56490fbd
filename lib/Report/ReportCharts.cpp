//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exports.h"
#include "ReportParts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Samplers/Sampler.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::string mneme::escapeHTML(StringRef Text) {
  std::string Escaped;
  raw_string_ostream OS(Escaped);
  printHTMLEscaped(json::fixUTF8(Text), OS);
  return Escaped;
}

std::string mneme::formatNumber(double V) {
  std::string Text;
  raw_string_ostream OS(Text);
  if (std::abs(V) >= 1000 && std::abs(V) < 1e9 && V == std::floor(V))
    OS << format("%.0f", V);
  else
    OS << format("%.4g", V);
  return Text;
}

std::string mneme::formatMetric(StringRef Metric, double V) {
  if (Metric == "occupancy")
    return formatNumber(V * 100) + " %";
  std::string Unit = getMetricUnit(Metric).value_or("").str();
  if (Unit == "ns")
    for (StringRef Larger : {"us", "ms", "s"}) {
      if (std::abs(V) < 1000)
        break;
      V /= 1000;
      Unit = Larger.str();
    }
  return formatNumber(V) + (Unit.empty() ? "" : " " + Unit);
}

std::string mneme::formatRatio(const RatioEstimate &R) {
  return formatv("{0:f3} ({1})", R.Value, describeInterval(R)).str();
}

std::pair<std::string, std::string>
mneme::describeChange(StringRef Metric, double Before, double After) {
  if (Before == After)
    return {"", ""};
  bool Minimize = getMetricDirection(Metric) != Direction::Maximize;
  std::string Class = (After < Before) == Minimize ? "good" : "bad";
  if (Before == 0)
    return {"", Class};
  return {formatv("{0}{1:f1} %", After > Before ? "+" : "",
                  (After / Before - 1) * 100)
              .str(),
          Class};
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

namespace {
/// Maps values to coordinates.
struct Scale {
  double Low, High;  ///< Range of values; values outside are clamped.
  double From, To;   ///< Range of coordinates.
  bool Log = false;

  double operator()(double V) const {
    V = std::clamp(V, Low, High);
    double Share = Log ? std::log(V / Low) / std::log(High / Low)
                       : (V - Low) / (High - Low);
    return From + Share * (To - From);
  }
  /// Returns the distance of ticks for at most \p Most of them.
  double step(unsigned Most) const {
    double Rough = (High - Low) / Most;
    double Power = std::pow(10, std::floor(std::log10(Rough)));
    for (double Factor : {1, 2, 5})
      if (Power * Factor >= Rough)
        return Power * Factor;
    return Power * 10;
  }
  /// Returns round values.
  std::vector<double> ticks(unsigned Most) const {
    std::vector<double> Ticks;
    if (!Log) {
      double Step = step(Most);
      for (double T = std::ceil(Low / Step) * Step; T <= High + Step * 1e-9;
           T += Step)
        Ticks.push_back(std::abs(T) < Step * 1e-9 ? 0 : T);
      return Ticks;
    }
    static constexpr double Steps[] = {1, 2, 5};
    // Only powers of ten if there are many of them.
    size_t PerPower = std::log10(High / Low) * 3 > Most ? 1 : 3;
    for (double Power = std::pow(10, std::floor(std::log10(Low)));
         Power <= High; Power *= 10)
      for (double Step : ArrayRef(Steps).take_front(PerPower))
        if (Power * Step >= Low && Power * Step <= High)
          Ticks.push_back(Power * Step);
    return Ticks;
  }
};

struct Size {
  double Width = 960, Height = 320;
  double Left = 90, Right = 16, Top = 28, Bottom = 48;
};

/// The unit of all labels of an axis.
struct AxisUnit {
  std::string Name;
  double Value = 1; ///< In the unit of Metrics.def.
};
} // namespace

static AxisUnit getAxisUnit(StringRef Metric, const Scale &S) {
  if (Metric == "occupancy")
    return {"%", 0.01};
  AxisUnit U{getMetricUnit(Metric).value_or("").str()};
  if (U.Name == "ns")
    for (StringRef Larger : {"us", "ms", "s"}) {
      if (std::max(std::abs(S.Low), std::abs(S.High)) < 1000 * U.Value)
        break;
      U = {Larger.str(), U.Value * 1000};
    }
  return U;
}

/// Prints as many decimals as distinguish neighbouring ticks.
static std::string printTick(double V, const Scale &S, unsigned Most,
                             const AxisUnit &Unit) {
  if (S.Log)
    return formatNumber(V / Unit.Value);
  double Decimals = std::ceil(-std::log10(S.step(Most) / Unit.Value) - 1e-9);
  std::string Text;
  raw_string_ostream(Text) << format(
      "%.*f", static_cast<int>(std::clamp(Decimals, 0.0, 9.0)), V / Unit.Value);
  return Text;
}

/// Returns "time (us)".
static std::string nameAxis(StringRef Metric, const AxisUnit &Unit) {
  return (Metric + (Unit.Name.empty() ? "" : " (" + Unit.Name + ")")).str();
}

/// Returns a scale on which good values are well separated. Values far worse
/// than most are clamped to its edge.
static Scale makeValueScale(std::vector<double> Values, Direction Dir) {
  llvm::sort(Values);
  double Low = Values.front(), High = Values.back();
  if (Dir == Direction::Minimize)
    High = std::min(High, getQuantile(Values, 0.9) * 1.1);
  Scale S{Low, High, 0, 1};
  if (Low > 0 && High / Low > 20) {
    S.Log = true;
    S.Low *= 0.9;
    S.High *= 1.1;
    return S;
  }
  double Margin = High > Low ? (High - Low) * 0.06 : std::abs(Low) * 0.1 + 1;
  S.Low -= Margin;
  S.High += Margin;
  return S;
}

static format_object<double> place(double V) { return format("%.1f", V); }

static void beginSVG(raw_ostream &OS, const Size &S, StringRef Name,
                     StringRef Title) {
  OS << "<svg class=\"" << Name << "\" viewBox=\"0 0 " << S.Width << ' '
     << S.Height << "\" role=\"img\" aria-label=\"" << escapeHTML(Title)
     << "\">\n";
}

static void drawText(raw_ostream &OS, double X, double Y, StringRef Anchor,
                     StringRef Text, StringRef Class = "tick") {
  OS << "<text class=\"" << Class << "\" x=\"" << place(X) << "\" y=\""
     << place(Y) << "\" text-anchor=\"" << Anchor << "\">" << escapeHTML(Text)
     << "</text>\n";
}

static void drawLine(raw_ostream &OS, StringRef Class, double X1, double Y1,
                     double X2, double Y2) {
  OS << "<line class=\"" << Class << "\" x1=\"" << place(X1) << "\" y1=\""
     << place(Y1) << "\" x2=\"" << place(X2) << "\" y2=\"" << place(Y2)
     << "\"/>\n";
}

/// Largest numbers of ticks on a vertical and a horizontal axis.
static constexpr unsigned MaxTicksY = 7, MaxTicksX = 10;

/// Draws a vertical axis with a grid line for each tick.
static void drawValueAxis(raw_ostream &OS, const Size &S, const Scale &Y,
                          StringRef Metric) {
  AxisUnit Unit = getAxisUnit(Metric, Y);
  for (double T : Y.ticks(MaxTicksY)) {
    drawLine(OS, "grid", S.Left, Y(T), S.Width - S.Right, Y(T));
    drawText(OS, S.Left - 8, Y(T) + 4, "end", printTick(T, Y, MaxTicksY, Unit));
  }
  drawText(OS, 4, 14, "start", nameAxis(Metric, Unit), "tick strong");
}

/// Labels the horizontal axis.
static void nameLevelAxis(raw_ostream &OS, const Size &S, StringRef Name) {
  drawText(OS, (S.Left + S.Width - S.Right) / 2, S.Height - 6, "middle", Name,
           "tick strong");
}

/// Draws a horizontal axis with a grid line for each tick.
static void drawLevelAxis(raw_ostream &OS, const Size &S, const Scale &X,
                          StringRef Metric) {
  AxisUnit Unit = getAxisUnit(Metric, X);
  double Bottom = S.Height - S.Bottom;
  for (double T : X.ticks(MaxTicksX)) {
    drawLine(OS, "grid", X(T), S.Top, X(T), Bottom);
    drawText(OS, X(T), Bottom + 18, "middle", printTick(T, X, MaxTicksX, Unit));
  }
  nameLevelAxis(OS, S, nameAxis(Metric, Unit));
}

/// Returns the tooltip of a trial.
static std::string describe(const Trial &T, const Study &S) {
  std::string Text = ("trial " + Twine(T.Number)).str();
  for (auto [O, V] : zip(S.Objectives, T.Values))
    Text += ", " + O.Metric + " " + formatMetric(O.Metric, V);
  if (T.State == TrialState::Pruned)
    Text += ", stopped early";
  if (!T.Failure.empty())
    Text += ", " + T.Failure.str();
  if (T.DuplicateOf)
    Text += ", equal code to trial " + std::to_string(*T.DuplicateOf);
  return Text;
}

static void drawDot(raw_ostream &OS, const StudyRecord &R, const Trial &T,
                    StringRef Class, double X, double Y, double Radius) {
  OS << "<circle class=\"" << Class << "\" data-trial=\"" << T.Number
     << "\" cx=\"" << place(X) << "\" cy=\"" << place(Y) << "\" r=\""
     << place(Radius) << "\"><title>"
     << escapeHTML(describe(T, R.Space.study())) << "</title></circle>\n";
}

static bool isMeasured(const Trial &T, size_t Objectives = 1) {
  return T.State != TrialState::Running && T.Values.size() >= Objectives;
}

//===----------------------------------------------------------------------===//
// Charts
//===----------------------------------------------------------------------===//

/// Returns the baseline's value of \p O at the beginning of the study.
static std::optional<double> findBaseline(const StudyRecord &R,
                                          const Objective &O) {
  const BaselineSample *First = nullptr;
  for (const BaselineSample &B : R.Outcome.Baselines)
    if (B.Instance == 0 && (!First || B.When < First->When))
      First = &B;
  if (O.Metric == "time" && First)
    return First->Nanoseconds; // Values are scaled to that time.
  if (R.Outcome.Instances.empty())
    return std::nullopt;
  const StringMap<double> &M = R.Outcome.Instances[0].Metrics;
  auto It = M.find(O.Metric);
  return It == M.end() ? std::nullopt : std::optional(It->second);
}

static void drawBestSoFar(raw_ostream &OS, const StudyRecord &R, const Scale &X,
                          const Scale &Y) {
  bool Minimize = R.Space.study().Objectives[0].Dir == Direction::Minimize;
  std::optional<double> Best;
  for (const Trial &T : R.Trials) {
    if (T.State != TrialState::Complete || T.Kind == TrialKind::Canary ||
        T.Values.empty())
      continue;
    double V = T.Values[0];
    if (Best && (Minimize ? V >= *Best : V <= *Best))
      continue;
    if (Best)
      OS << " H" << place(X(T.Number)) << " V" << place(Y(V));
    else
      OS << "<path class=\"best\" d=\"M" << place(X(T.Number)) << ','
         << place(Y(V));
    Best = V;
  }
  if (Best)
    OS << " H" << place(X.To) << "\"/>\n";
}

bool mneme::isOff(const Trial &Canary) {
  return Canary.Suspect || (Canary.State == TrialState::Failed &&
                            Canary.Failure != FailureKind::WorkerLost);
}

/// Draws a diamond, because a canary is not a candidate.
static void drawCanary(raw_ostream &OS, const StudyRecord &R, const Trial &T,
                       double X, double Y) {
  OS << "<path class=\"canary" << (isOff(T) ? " off" : "") << "\" data-trial=\""
     << T.Number << "\" d=\"M" << place(X) << ',' << place(Y - 5)
     << "l5,5 -5,5 -5,-5z\"><title>canary, "
     << escapeHTML(describe(T, R.Space.study())) << "</title></path>\n";
}

void mneme::drawHistory(raw_ostream &OS, const StudyRecord &R) {
  const Objective &O = R.Space.study().Objectives[0];
  std::vector<double> Values;
  uint64_t Last = 1;
  for (const Trial &T : R.Trials) {
    Last = std::max(Last, T.Number);
    if (isMeasured(T))
      Values.push_back(T.Values[0]);
  }
  if (Values.empty()) {
    OS << "<p>No trial was measured.</p>\n";
    return;
  }
  std::optional<double> Baseline = findBaseline(R, O);
  if (Baseline)
    Values.push_back(*Baseline);
  Size S;
  Scale Y = makeValueScale(Values, O.Dir);
  if (Baseline)
    Y.High = std::max(Y.High, *Baseline * (*Baseline > 0 ? 1.03 : 0.97));
  double Strip = S.Height - S.Bottom; // Failures are below all values.
  Y.From = Strip - 18;
  Y.To = S.Top;
  Scale X{0, static_cast<double>(Last), S.Left + 6, S.Width - S.Right - 6};

  beginSVG(OS, S, "history", O.Metric + " by trial");
  drawValueAxis(OS, S, Y, O.Metric);
  for (double T : X.ticks(MaxTicksX))
    if (T == std::floor(T))
      drawText(OS, X(T), Strip + 20, "middle", formatNumber(T));
  nameLevelAxis(OS, S, "trial");
  drawLine(OS, "grid", S.Left, Strip, S.Width - S.Right, Strip);
  drawText(OS, S.Left - 8, Strip + 4, "end", "failed");
  drawBestSoFar(OS, R, X, Y);
  const Trial *Winner = R.winner();
  std::vector<const Trial *> Canaries;
  for (const Trial &T : R.Trials) {
    double At = X(static_cast<double>(T.Number));
    if (T.Kind == TrialKind::Canary)
      Canaries.push_back(&T);
    else if (T.State == TrialState::Failed)
      drawDot(OS, R, T, "failed", At, Strip, 2.5);
    else if (isMeasured(T))
      drawDot(OS, R, T,
              (getTrialStateName(T.State) + (&T == Winner ? " winner" : ""))
                  .str(),
              At, Y(T.Values[0]), &T == Winner ? 5 : 3);
  }
  // On top of the trials, which would hide them.
  for (const Trial *T : Canaries)
    if (isMeasured(*T) || T->State == TrialState::Failed)
      drawCanary(OS, R, *T, X(static_cast<double>(T->Number)),
                 isMeasured(*T) ? Y(T->Values[0]) : Strip);
  if (Baseline) {
    drawLine(OS, "baseline", S.Left, Y(*Baseline), S.Width - S.Right,
             Y(*Baseline));
    drawText(OS, S.Width - S.Right, Y(*Baseline) - 5, "end", "baseline",
             "tick mark");
  }
  OS << "</svg>\n<p class=\"legend\"><span class=\"key complete\"></span> "
        "measured <span class=\"key pruned\"></span> stopped early "
        "<span class=\"key failed\"></span> failed <span class=\"key "
        "canary\"></span> canary: the baseline once more <span class=\"key "
        "canary off\"></span> canary off the baseline <span class=\"key "
        "best\"></span> best so far. Values far worse than most lie on the "
        "upper edge.</p>\n";
}

void mneme::drawFront(raw_ostream &OS, const StudyRecord &R) {
  const Study &Study = R.Space.study();
  const Objective &A = Study.Objectives[0], &B = Study.Objectives[1];
  std::vector<double> ValuesA, ValuesB;
  for (const Trial &T : R.Trials)
    if (isMeasured(T, 2)) {
      ValuesA.push_back(T.Values[0]);
      ValuesB.push_back(T.Values[1]);
    }
  if (ValuesA.empty())
    return;
  std::vector<Direction> Directions;
  for (const Objective &O : Study.Objectives)
    Directions.push_back(O.Dir);
  std::vector<uint64_t> Front = getParetoFront(R.Trials, Directions);
  Size S;
  Scale X = makeValueScale(ValuesA, A.Dir), Y = makeValueScale(ValuesB, B.Dir);
  X.From = S.Left + 6;
  X.To = S.Width - S.Right - 6;
  Y.From = S.Height - S.Bottom;
  Y.To = S.Top;
  beginSVG(OS, S, "front", A.Metric + " and " + B.Metric);
  drawValueAxis(OS, S, Y, B.Metric);
  drawLevelAxis(OS, S, X, A.Metric);
  for (const Trial &T : R.Trials)
    if (isMeasured(T, 2))
      drawDot(OS, R, T,
              is_contained(Front, T.Number) ? "complete winner"
                                            : getTrialStateName(T.State),
              X(T.Values[0]), Y(T.Values[1]),
              is_contained(Front, T.Number) ? 5 : 3);
  OS << "</svg>\n<p class=\"legend\"><span class=\"key winner\"></span> "
        "Pareto-optimal.</p>\n";
}

namespace {
/// A vertical axis for a dimension or the objective.
struct Axis {
  std::string Name;
  std::optional<unsigned> Dim;
};
} // namespace

/// Returns the dimensions worth an axis.
static std::vector<Axis>
chooseAxes(const SearchSpace &Space,
           ArrayRef<ParameterImportance> Importance) {
  static constexpr size_t MaxAxes = 11;
  std::vector<unsigned> Order; // Indices of parameters.
  ArrayRef<Parameter> Parameters = Space.study().Parameters;
  for (const ParameterImportance &P : Importance)
    for (auto [I, Q] : enumerate(Parameters))
      if (Q.Name == P.Name)
        Order.push_back(I);
  for (unsigned I = 0; I < Parameters.size(); ++I)
    if (!is_contained(Order, I))
      Order.push_back(I);
  std::vector<Axis> Axes;
  for (unsigned P : Order)
    for (auto [I, D] : enumerate(Space.dimensions()))
      // A single value is not a choice.
      if (D.Parameter == P && D.Count != 1 && Axes.size() < MaxAxes)
        Axes.push_back({D.Name, static_cast<unsigned>(I)});
  return Axes;
}

static std::string formatValue(const Value &V) {
  if (const auto *Text = std::get_if<std::string>(&V))
    return *Text;
  if (const auto *Real = std::get_if<double>(&V))
    return formatNumber(*Real);
  return formatv("{0}", toJSON(V)).str();
}

/// Shortens a text in its middle, because alternatives often differ in their
/// ends.
static std::string shorten(StringRef Text, size_t Length) {
  if (Text.size() <= Length)
    return Text.str();
  return (Text.take_front(Length / 2) + "…" +
          Text.take_back(Length - Length / 2 - 1))
      .str();
}

/// Width of a wide character in a label; fonts differ.
static constexpr double LetterWidth = 7.6;

void mneme::drawParallelCoordinates(
    raw_ostream &OS, const StudyRecord &R,
    ArrayRef<ParameterImportance> Importance) {
  const SearchSpace &Space = R.Space;
  const Objective &O = Space.study().Objectives[0];
  std::vector<const Trial *> Lines;
  std::vector<double> Values;
  for (const Trial &T : R.Trials)
    if (isMeasured(T)) {
      Lines.push_back(&T);
      Values.push_back(T.Values[0]);
    }
  std::vector<Axis> Axes = chooseAxes(Space, Importance);
  if (Lines.empty() || Axes.empty()) {
    OS << "<p>No trial was measured.</p>\n";
    return;
  }
  Axes.push_back({O.Metric, std::nullopt});
  bool Minimize = O.Dir == Direction::Minimize;
  // Draw the best trials last, on top of the others.
  llvm::sort(Lines, [&](const Trial *A, const Trial *B) {
    double X = A->Values[0], Y = B->Values[0];
    return std::pair(Minimize ? -X : X, A->Number) <
           std::pair(Minimize ? -Y : Y, B->Number);
  });

  Size S;
  S.Height = 410;
  S.Top = 58;
  S.Bottom = 46;
  S.Left = 60;
  S.Right = 70;
  double Bottom = S.Height - S.Bottom, NotThere = S.Height - 10;
  Scale V = makeValueScale(Values, O.Dir);
  V.From = Bottom;
  V.To = S.Top;
  double Room = (S.Width - S.Left - S.Right) / (Axes.size() - 1);
  auto AxisX = [&](size_t I) { return S.Left + Room * I; };
  auto AxisY = [&](const Axis &A, const Trial &T) {
    if (!A.Dim)
      return V(T.Values[0]);
    const Dimension &D = Space.dimensions()[*A.Dim];
    if (!Space.isActive(T.P, *A.Dim))
      return NotThere;
    Scale Y{D.Low, D.High, Bottom, S.Top};
    Y.Log = D.Log;
    if (D.Kind == Dimension::Real)
      return D.High > D.Low ? Y(T.P[*A.Dim]) : Y.From;
    // Spread lines with the same choice side by side, in the order of their
    // trials, to show how many there are.
    double Spread = std::min(26.0, (Bottom - S.Top) / D.Count * 0.7);
    double Beside = R.Trials.size() < 2
                        ? 0
                        : static_cast<double>(T.Number % 97) / 96 - 0.5;
    return Y(T.P[*A.Dim]) + Beside * Spread;
  };

  beginSVG(OS, S, "parallel", "choices and " + O.Metric + " of all trials");
  for (auto [I, T] : enumerate(Lines)) {
    // Fifths of the trials; the best is number 4.
    OS << "<polyline class=\"fifth" << I * 5 / Lines.size()
       << "\" data-trial=\"" << T->Number << "\" points=\"";
    for (auto [K, A] : enumerate(Axes))
      OS << (K ? " " : "") << place(AxisX(K)) << ',' << place(AxisY(A, *T));
    OS << "\"><title>" << escapeHTML(describe(*T, Space.study()))
       << "</title></polyline>\n";
  }
  for (auto [I, A] : enumerate(Axes)) {
    double X = AxisX(I);
    drawLine(OS, "axis", X, S.Top, X, Bottom);
    AxisUnit Unit = A.Dim ? AxisUnit() : getAxisUnit(O.Metric, V);
    // Two heights, because long names do not fit side by side. Names at the
    // edges must stay within the page.
    OS << "<g><title>" << escapeHTML(A.Name) << "</title>\n";
    std::string Name = shorten(A.Dim ? A.Name : nameAxis(O.Metric, Unit),
                               2 * Room / LetterWidth - 1);
    double Half = Name.size() * LetterWidth / 2;
    drawText(OS, std::clamp(X, Half, S.Width - Half), I % 2 ? 14 : 30, "middle",
             Name, "tick strong");
    OS << "</g>\n";
    if (!A.Dim) {
      for (double T : V.ticks(MaxTicksY))
        drawText(OS, X + 6, V(T) + 4, "start",
                 printTick(T, V, MaxTicksY, Unit));
      continue;
    }
    const Dimension &D = Space.dimensions()[*A.Dim];
    Scale Y{D.Low, D.High, Bottom, S.Top};
    Y.Log = D.Log;
    std::vector<double> Marks;
    if (D.Kind == Dimension::Real || D.Count > 8)
      Marks = {D.Low, D.High};
    else
      for (uint64_t K = 0; K < D.Count; ++K)
        Marks.push_back(K);
    for (double M : Marks)
      drawText(OS, X + 5, Y(M) + 4, "start",
               shorten(formatValue(Space.dimensionValue(*A.Dim, M)),
                       (Room - 8) / LetterWidth),
               "tick mark");
  }
  OS << "</svg>\n<p class=\"legend\">From the slowest fifth <span class=\"key "
        "fifth0\"></span> to the best <span class=\"key fifth4\"></span>; at "
        "the bottom, parameters that a trial does not have. Names that end in "
        "numbers are decisions of a pipeline.</p>\n";
}

//===----------------------------------------------------------------------===//
// Distribution and occupancy
//===----------------------------------------------------------------------===//

void mneme::drawDistribution(raw_ostream &OS, ArrayRef<SampleSet> Sets) {
  // More dots would hide each other.
  static constexpr size_t MaxDots = 400;
  static constexpr double RowHeight = 56;
  std::vector<double> All;
  for (const SampleSet &Set : Sets)
    append_range(All, Set.Nanoseconds);
  Size S;
  S.Left = 130;
  S.Height = S.Top + S.Bottom + RowHeight * Sets.size();
  Scale X = makeValueScale(All, Direction::Minimize);
  X.From = S.Left + 6;
  X.To = S.Width - S.Right - 6;
  beginSVG(OS, S, "distribution", "times of launches");
  drawLevelAxis(OS, S, X, "time");
  for (auto [Row, Set] : enumerate(Sets)) {
    double Middle = S.Top + RowHeight * (Row + 0.5);
    drawText(OS, S.Left - 10, Middle + 4, "end", Set.Name, "tick strong");
    size_t Count = Set.Nanoseconds.size();
    size_t Stride = divideCeil(Count, MaxDots);
    for (size_t I = 0; I < Count; I += Stride) {
      // Spread equal times vertically, in the same way on each page.
      double Above = static_cast<double>(I * 7 % 23) / 22 - 0.5;
      OS << "<circle class=\"sample " << Set.Class << "\" cx=\""
         << place(X(Set.Nanoseconds[I])) << "\" cy=\""
         << place(Middle + Above * RowHeight * 0.5) << "\" r=\"2.5\"/>\n";
    }
    SampleSummary Summary = summarize(Set.Nanoseconds);
    double Median = X(Summary.Median);
    drawLine(OS, "median", Median, Middle - RowHeight * 0.4, Median,
             Middle + RowHeight * 0.4);
    bool AtRight = Median > S.Width * 0.7;
    drawText(OS, Median + (AtRight ? -6 : 6), Middle - RowHeight * 0.3,
             AtRight ? "end" : "start",
             "median " + formatMetric("time", Summary.Median) + " (" +
                 formatMetric("time", Summary.Low) + " to " +
                 formatMetric("time", Summary.High) + ")",
             "tick mark");
  }
  OS << "</svg>\n";
}

/// Returns the threads per block of a trial; unset if it sets no block size.
static std::optional<int64_t> getBlockSize(const SearchSpace &Space,
                                           const Trial &T) {
  int64_t Threads = 1;
  bool IsChosen = false;
  for (StringRef Key : {"block.x", "block.y", "block.z"}) {
    std::optional<int64_t> Chosen = T.Config.getInteger(Key);
    IsChosen |= Chosen.has_value();
    auto Recorded = Space.recorded().find(Key);
    if (!Chosen && Recorded != Space.recorded().end())
      Chosen = std::get<int64_t>(Recorded->second);
    Threads *= Chosen.value_or(1);
  }
  return IsChosen ? std::optional(Threads) : std::nullopt;
}

bool mneme::drawOccupancy(raw_ostream &OS, const StudyRecord &R) {
  struct Group {
    unsigned Count = 0;
    const Trial *Example = nullptr;
  };
  std::map<std::pair<int64_t, double>, Group> Groups;
  std::set<int64_t> Sizes;
  for (const Trial &T : R.Trials) {
    auto Occupancy = T.Metrics.find("occupancy");
    std::optional<int64_t> Threads = getBlockSize(R.Space, T);
    if (!Threads || Occupancy == T.Metrics.end() || T.Kind == TrialKind::Canary)
      continue;
    Sizes.insert(*Threads);
    Group &G = Groups[{*Threads, Occupancy->second}];
    ++G.Count;
    if (!G.Example || &T == R.winner())
      G.Example = &T;
  }
  if (Sizes.size() < 2)
    return false;
  Size S;
  S.Height = 240;
  Scale X{0, static_cast<double>(*Sizes.rbegin()) * 1.05, S.Left,
          S.Width - S.Right};
  Scale Y{0, 1, S.Height - S.Bottom, S.Top};
  beginSVG(OS, S, "occupancy", "occupancy by threads of a block");
  drawValueAxis(OS, S, Y, "occupancy");
  // Label the tuned sizes instead of round values, where there is room.
  double Free = 0;
  for (int64_t Threads : Sizes) {
    double Half = std::to_string(Threads).size() * LetterWidth / 2 + 3;
    if (X(Threads) - Half < Free)
      continue;
    drawText(OS, X(Threads), S.Height - S.Bottom + 18, "middle",
             std::to_string(Threads));
    Free = X(Threads) + Half;
  }
  nameLevelAxis(OS, S, "threads of a block");
  for (const auto &[Place, G] : Groups) {
    bool IsWinner = G.Example == R.winner();
    OS << "<circle class=\"complete" << (IsWinner ? " winner" : "")
       << "\" data-trial=\"" << G.Example->Number << "\" cx=\""
       << place(X(Place.first)) << "\" cy=\"" << place(Y(Place.second))
       << "\" r=\"" << place(std::min(10.0, 3 + std::sqrt(G.Count)))
       << "\"><title>" << Place.first << " threads, "
       << formatMetric("occupancy", Place.second) << ", " << G.Count
       << (G.Count == 1 ? " trial" : " trials") << ", as trial "
       << G.Example->Number << "</title></circle>\n";
  }
  OS << "</svg>\n";
  return true;
}

namespace {
/// The work of a launch of one kind, and the peaks that limit it, per second.
struct Roofline {
  std::string Kind, Unit;
  double Amount = 0, Bytes = 0;
  double Peak = 0, DRAM = 0, Cache = 0;

  double intensity() const { return Amount / Bytes; }
};
} // namespace

/// Reads VerificationPower::Bound of the first launch.
static std::optional<Roofline> readRoofline(const StudyRecord &R) {
  auto Find = [](const json::Object *O, StringRef Key) {
    return O ? O->getObject(Key) : nullptr;
  };
  const json::Array &Launches = R.Verification.Launches;
  const json::Object *Bound = Find(
      Find(Launches.empty() ? nullptr : Launches[0].getAsObject(), "power"),
      "bound");
  const json::Object *Work = Find(Bound, "work"), *Peaks = Find(Bound, "peaks");
  const json::Object *Computed = Find(Work, "computed");
  if (!Computed || !Peaks)
    return std::nullopt;
  auto Read = [](const json::Object &O, StringRef Key) {
    return O.getNumber(Key).value_or(0);
  };
  Roofline L;
  L.Bytes = Read(*Work, "read_bytes") + Read(*Work, "written_bytes");
  L.DRAM = Read(*Peaks, "dram");
  L.Cache = Read(*Peaks, "l2");
  auto Consider = [&](StringRef Kind, StringRef Key, StringRef Unit) {
    double Amount = Read(*Computed, Key), Peak = Read(*Peaks, Key);
    if (Amount > 0 && Peak > 0 && Amount * L.Peak >= L.Amount * Peak) {
      L.Amount = Amount;
      L.Peak = Peak;
      L.Kind = Kind.str();
      L.Unit = Unit.str();
    }
  };
#define WORK(Name, Key, Unit, Description) Consider(#Name, Key, Unit);
#include "llvm/Mneme/Transforms/Work.def"
  if (L.Amount <= 0 || L.Bytes <= 0 || L.DRAM <= 0 || L.Cache <= 0)
    return std::nullopt;
  return L;
}

bool mneme::drawRoofline(raw_ostream &OS, const StudyRecord &R) {
  std::optional<Roofline> L = readRoofline(R);
  if (!L || R.Outcome.Instances.empty())
    return false;
  struct Point {
    StringRef Name, Class;
    double Nanoseconds;
  };
  SmallVector<Point, 2> Points;
  if (double Time = R.Outcome.Instances[0].Metrics.lookup("time"); Time > 0)
    Points.push_back({"baseline", "reference", Time});
  if (const Trial *Winner = R.winner())
    if (double Time = Winner->Metrics.lookup("time"); Time > 0)
      Points.push_back({"winner", "winner", Time});
  if (Points.empty())
    return false;
  auto Rate = [&](const Point &P) { return L->Amount / P.Nanoseconds * 1e9; };
  // Both ridges and the launch are in the picture.
  double Ridges[] = {L->Peak / L->DRAM, L->Peak / L->Cache, L->intensity()};
  double Lowest = L->Peak;
  for (const Point &P : Points)
    Lowest = std::min(Lowest, Rate(P));
  Size S;
  S.Height = 300;
  Scale X{*min_element(Ridges) / 4, *max_element(Ridges) * 4, S.Left,
          S.Width - S.Right, /*Log=*/true};
  Scale Y{Lowest / 4, L->Peak * 2, S.Height - S.Bottom, S.Top, /*Log=*/true};
  beginSVG(OS, S, "roofline", "roofline");
  for (double T : Y.ticks(MaxTicksY)) {
    drawLine(OS, "grid", S.Left, Y(T), S.Width - S.Right, Y(T));
    drawText(OS, S.Left - 8, Y(T) + 4, "end", formatNumber(T));
  }
  for (double T : X.ticks(MaxTicksX))
    drawText(OS, X(T), S.Height - S.Bottom + 18, "middle", formatNumber(T));
  drawText(OS, 4, 14, "start", L->Kind + " " + L->Unit + " a second",
           "tick strong");
  nameLevelAxis(OS, S, L->Unit + " per byte that the launch has to move");
  for (auto [Name, Bandwidth] : {std::pair(StringRef("DRAM"), L->DRAM),
                                 std::pair(StringRef("L2"), L->Cache)}) {
    // From the lower or left edge to the peak.
    double From = std::max(X.Low, Y.Low / Bandwidth), To = L->Peak / Bandwidth;
    drawLine(OS, "axis", X(From), Y(From * Bandwidth), X(To), Y(L->Peak));
    drawText(OS, X(To) - 6, Y(L->Peak) - 6, "end", Name, "tick strong");
  }
  drawLine(OS, "axis", X(std::min(Ridges[0], Ridges[1])), Y(L->Peak), X(X.High),
           Y(L->Peak));
  for (const Point &P : Points)
    OS << "<circle class=\"" << P.Class << "\" cx=\""
       << place(X(L->intensity())) << "\" cy=\"" << place(Y(Rate(P)))
       << "\" r=\"6\"><title>" << P.Name << ", "
       << formatMetric("time", P.Nanoseconds) << "</title></circle>\n";
  OS << "</svg>\n";
  return true;
}

void mneme::drawWaterfall(raw_ostream &OS, ArrayRef<WaterfallStep> Steps) {
  Size S;
  S.Left = 200;
  S.Height = 26 * Steps.size() + 6;
  Scale X{0, 1, S.Left, S.Width - 90};
  beginSVG(OS, S, "bars", "shares");
  for (auto [I, Step] : enumerate(Steps)) {
    double Y = 26 * I + 4;
    drawText(OS, S.Left - 10, Y + 14, "end", shorten(Step.Name, 28),
             "tick strong");
    OS << "<rect class=\"" << Step.Class << "\" x=\"" << place(X(Step.Begin))
       << "\" y=\"" << place(Y) << "\" width=\""
       << place(std::max(1.0, X(Step.End) - X(Step.Begin)))
       << "\" height=\"18\" rx=\"2\"/>\n";
    drawText(OS, X(Step.End) + 8, Y + 14, "start",
             formatv("{0:f1} %", (Step.End - Step.Begin) * 100).str());
  }
  OS << "</svg>\n";
}

void mneme::drawBars(raw_ostream &OS,
                     ArrayRef<std::pair<std::string, double>> Shares) {
  std::vector<WaterfallStep> Steps;
  for (const auto &[Name, Share] : Shares)
    Steps.push_back({Name, 0, Share, "bar"});
  drawWaterfall(OS, Steps);
}
