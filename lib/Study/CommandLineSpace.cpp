//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/CommandLineSpace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Source/Knobs.h"
#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
enum class OptionKind {
  None, // Values of SettingTuning.
  Fixed,
  Numbers,
  Switch,
  Texts,
  Pipeline,
  LLVMOption,
  Macro,
  Require,
  Derive,
  Objective
};

struct OptionInfo {
  StringRef Name, Key;
  OptionKind Kind;
  StringRef DependsOn, Help;

  bool mayRepeat() const {
    return !prefix().empty() || Kind == OptionKind::Require ||
           Kind == OptionKind::Derive;
  }
  /// Returns the prefix of the keys of NAME=values; else nothing.
  StringRef prefix() const {
    return Kind == OptionKind::LLVMOption ? StringRef(LLVMKeyPrefix)
           : Kind == OptionKind::Macro    ? StringRef(DefineKeyPrefix)
                                          : StringRef();
  }
};
} // namespace

static_assert(static_cast<int>(OptionKind::Pipeline) ==
              static_cast<int>(SettingTuning::Pipeline));

static std::vector<OptionInfo> makeOptionInfos() {
  std::vector<OptionInfo> Infos = {
#define SPACE_OPTION(Name, Key, Kind, Help)                                    \
  {Name, Key, OptionKind::Kind, "", Help},
#include "llvm/Mneme/Study/CommandLineSpace.def"
  };
  for (const SettingInfo &S : getSettings())
    if (S.isSearched())
      Infos.push_back({S.TuneOption, S.Key, static_cast<OptionKind>(S.Tuning),
                       S.DependsOn, S.Help});
  // In the order of the settings; an alias is next to its setting.
  auto GetRow = [](const OptionInfo &O) {
    const SettingInfo *S = findSetting(O.Key);
    return S ? S - getSettings().begin() : std::ptrdiff_t(getSettings().size());
  };
  llvm::stable_sort(Infos, [&](const OptionInfo &A, const OptionInfo &B) {
    return GetRow(A) < GetRow(B);
  });
  return Infos;
}

static ArrayRef<OptionInfo> getOptions() {
  static const std::vector<OptionInfo> Infos = makeOptionInfos();
  return Infos;
}

std::vector<SpaceOptionInfo> mneme::getSpaceOptions() {
  std::vector<SpaceOptionInfo> Options;
  for (const OptionInfo &O : getOptions())
    Options.push_back({O.Name, O.Help});
  return Options;
}

static const OptionInfo *findOption(StringRef Name) {
  for (const OptionInfo &O : getOptions())
    if (O.Name == Name)
      return &O;
  return nullptr;
}

/// The limit of every GPU.
static constexpr int64_t MaxBlockThreads = 1024;
/// Stands for a parameter that has no name yet; no parameter has this name.
static constexpr StringLiteral Fresh = "";

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// Returns the position of \p Token outside of brackets and quotes.
static size_t findOutside(StringRef Text, StringRef Token) {
  unsigned Depth = 0;
  char Quote = 0;
  for (size_t I = 0; I != Text.size(); ++I) {
    char C = Text[I];
    if (Quote) {
      if (C == '\\')
        ++I;
      else if (C == Quote)
        Quote = 0;
      if (I >= Text.size())
        break;
    } else if (C == '"' || C == '\'' || C == '`') {
      Quote = C;
    } else if (Depth == 0 && Text.substr(I).starts_with(Token)) {
      return I;
    } else if (C == '(') {
      ++Depth;
    } else if (C == ')' && Depth != 0) {
      --Depth;
    }
  }
  return StringRef::npos;
}

/// Returns the parts between separators outside of brackets and quotes.
static SmallVector<StringRef, 8> splitOutside(StringRef Text,
                                              StringRef Separator) {
  SmallVector<StringRef, 8> Pieces;
  while (true) {
    size_t At = findOutside(Text, Separator);
    Pieces.push_back(Text.take_front(At));
    if (At == StringRef::npos)
      return Pieces;
    Text = Text.drop_front(At + Separator.size());
  }
}

/// Replaces the parameters in an expression by the results of \p By.
static Expr substitute(const Expr &E, function_ref<Expr(const Expr &)> By) {
  if (!E || E.kind() == Expr::Constant || E.kind() == Expr::Recorded)
    return E;
  if (E.kind() == Expr::Parameter)
    return By(E);
  SmallVector<Expr, 3> Operands;
  for (const Expr &O : E.operands())
    Operands.push_back(substitute(O, By));
  return Expr::op(E.op(), Operands);
}

/// Replaces each part of \p E that is the same expression as \p Old by \p By.
static Expr replaceExpr(const Expr &E, const Expr &Old, const Expr &By) {
  if (!E || E.kind() != Expr::Op)
    return E;
  if (E.print() == Old.print())
    return By;
  SmallVector<Expr, 3> Operands;
  for (const Expr &O : E.operands())
    Operands.push_back(replaceExpr(O, Old, By));
  return Expr::op(E.op(), Operands);
}

//===----------------------------------------------------------------------===//
// Studies
//===----------------------------------------------------------------------===//

static ConfigField *findField(Study &S, StringRef Key) {
  auto It =
      find_if(S.Fields, [&](const ConfigField &F) { return F.Key == Key; });
  return It == S.Fields.end() ? nullptr : &*It;
}

static const DerivedValue *findDerived(const Study &S, StringRef Name) {
  auto It =
      find_if(S.Derived, [&](const DerivedValue &D) { return D.Name == Name; });
  return It == S.Derived.end() ? nullptr : &*It;
}

/// Adds the parameters and derived values that an expression depends on.
static void addUsed(const Study &S, const Expr &E, StringSet<> &Used) {
  substitute(E, [&](const Expr &P) {
    if (!Used.insert(P.name()).second)
      return P;
    if (const Parameter *Q = S.findParameter(P.name()))
      addUsed(S, Q->When, Used);
    else if (const DerivedValue *D = findDerived(S, P.name()))
      addUsed(S, D->Is, Used);
    return P;
  });
}

/// Returns the parameters and derived values that fields or constraints use.
static StringSet<> getUsed(const Study &S) {
  StringSet<> Used;
  for (const ConfigField &F : S.Fields) {
    addUsed(S, F.Is, Used);
    addUsed(S, F.When, Used);
  }
  for (const Constraint &C : S.Constraints)
    addUsed(S, C.Holds, Used);
  return Used;
}

namespace {
/// The new value of a field: a searched parameter, or an expression.
struct FieldValue {
  std::optional<Parameter> Searched;
  Expr Is;

  ValueType type() const { return Searched ? Searched->type() : Is.type(); }
};

class Builder {
public:
  Builder(const CommandLineSpace &Space, Study &S) : Given(Space), S(S) {}
  Error build();
  void keepLaunch();

private:
  enum StateTy { Pending, Active, Done };

  Error checkNames();
  void addDefaults();
  bool isGiven(StringRef Key) const;
  Error apply(size_t Number);
  struct Item {
    const OptionInfo *Info;
    std::string Text;
    std::string Message; ///< Message of a constraint.
    StateTy State = Pending;
  };
  Error applyPart(const Item &It);
  Expected<FieldValue> parseValue(const OptionInfo &O, StringRef Text);
  Error applyWhatDefines(StringRef Name);

  Expected<FieldValue> parseNumbers(StringRef Text);
  Expected<FieldValue> parseRange(StringRef Text, size_t Dots);
  Expected<FieldValue> parseList(ArrayRef<StringRef> Pieces);
  Expected<FieldValue> parseLLVMValues(StringRef Text);
  Expected<FieldValue> parsePipeline(StringRef Text);
  Expected<Expr> parseFixed(StringRef Piece);
  Expected<Expr> parse(StringRef Piece);

  Error setField(StringRef Key, StringRef Name, FieldValue V,
                 StringRef DependsOn);
  Expected<Expr> getCondition(StringRef Key);
  void replaceParameter(StringRef Name, const Expr &By);
  void replaceComputed(StringRef Key, const Expr &By);
  void dropUnused(const StringSet<> &Before);
  Error addNamed(StringRef Prefix, StringRef Text);
  Error addDerived(StringRef Text);
  Error addConstraint(StringRef Text, StringRef Message);
  Error setObjectives(StringRef Text);

  CommandLineSpace Given;
  Study &S;
  std::vector<Item> Items;
  /// The whole text of the current option, for error positions.
  StringRef Whole;
  std::string Failure;

  /// Returns an error at \p Piece, a part of Whole.
  Error error(StringRef Piece, const Twine &Message) const {
    return makeTextError(Whole, Piece.data() - Whole.data(), Message);
  }
  Error checkNumber(StringRef Piece, const Expr &E) const;
};
} // namespace

/// Returns \p Piece with spaces in front of it, so that it has the same
/// position as in \p Whole.
static std::string pad(StringRef Whole, StringRef Piece) {
  std::string Text = Whole.take_front(Piece.data() - Whole.data()).str();
  for (char &C : Text)
    if (C != '\n')
      C = ' ';
  return Text + Piece.str();
}

Expected<Expr> Builder::parseFixed(StringRef Piece) {
  return parseExpr(pad(Whole, Piece),
                   [](StringRef Name) -> Expected<ValueType> {
                     return createStringError(
                         "'" + Name + "' is neither a number nor recorded");
                   });
}

Error Builder::applyWhatDefines(StringRef Name) {
  for (size_t I = 0; I != Items.size(); ++I) {
    const OptionInfo &O = *Items[I].Info;
    StringRef Text = Items[I].Text;
    bool Defines = O.Key == Name;
    if (O.Kind == OptionKind::Derive)
      Defines = Text.split('=').first.trim() == Name;
    else if (!O.prefix().empty())
      Defines = Text.split('=').first.trim() == Name ||
                (O.prefix() + Text.split('=').first.trim()).str() == Name;
    if (!Defines)
      continue;
    if (Items[I].State == Active)
      return createStringError("'" + Name + "' depends on itself");
    if (Items[I].State == Pending)
      if (Error E = apply(I))
        return E;
  }
  return Error::success();
}

/// Parses an expression of parameters, derived values, recorded facts and keys
/// of fields. A key stands for the field's value.
Expected<Expr> Builder::parse(StringRef Piece) {
  std::string Text = pad(Whole, Piece);
  Expected<Expr> E =
      parseExpr(Text, [&](StringRef Name) -> Expected<ValueType> {
        if (Error E = applyWhatDefines(Name))
          return E;
        if (const Parameter *P = S.findParameter(Name))
          return P->type();
        if (const DerivedValue *D = findDerived(S, Name))
          return D->Is.type();
        if (const ConfigField *F = findField(S, Name))
          return F->Is.type();
        if (std::optional<ValueType> T = getRecordedType(Name))
          return *T;
        return createStringError("there is no parameter '" + Name + "'");
      });
  if (!E)
    return E;
  return substitute(*E, [&](const Expr &P) {
    if (S.findParameter(P.name()) || findDerived(S, P.name()))
      return P;
    if (const ConfigField *F = findField(S, P.name()))
      return F->Is;
    return Expr::recorded(P.name());
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Converts all numbers to reals if one of them is a real.
static void makeAlike(MutableArrayRef<Expr> Numbers) {
  if (none_of(Numbers,
              [](const Expr &E) { return E.type() == ValueType::Real; }))
    return;
  for (Expr &E : Numbers)
    if (E && E.type() == ValueType::Int)
      E = Expr::op(ExprOp::ToReal, E).fold([](StringRef, Expr::KindTy) {
        return std::nullopt;
      });
}

Error Builder::checkNumber(StringRef Piece, const Expr &E) const {
  if (E.type() == ValueType::Int || E.type() == ValueType::Real)
    return Error::success();
  return error(Piece, "expected a number, got " + E.print());
}

/// Parses "low..high", "low..high:step" or "low..high:*2".
Expected<FieldValue> Builder::parseRange(StringRef Text, size_t Dots) {
  StringRef High = Text.drop_front(Dots + 2), Step;
  if (size_t Colon = findOutside(High, ":"); Colon != StringRef::npos) {
    Step = High.drop_front(Colon + 1);
    High = High.take_front(Colon);
  }
  Parameter P;
  SmallVector<Expr, 2> Bounds;
  for (StringRef Bound : {Text.take_front(Dots), High}) {
    Expected<Expr> E = parseFixed(Bound);
    if (!E)
      return E.takeError();
    if (Error Err = checkNumber(Bound, *E))
      return Err;
    Bounds.push_back(*E);
  }
  makeAlike(Bounds);
  P.Low = Bounds[0];
  P.High = Bounds[1];
  if (P.Low.type() == ValueType::Real)
    P.Kind = Parameter::Real;
  if (Step.data() && Step.trim() == "*2") {
    P.Scale = Parameter::Log;
  } else if (Step.data()) {
    if (P.Kind == Parameter::Real)
      return error(Step, "a range of reals has no step");
    Expected<Expr> E = parseFixed(Step);
    if (!E)
      return E.takeError();
    if (Error Err = checkNumber(Step, *E))
      return Err;
    P.Step = *E;
  }
  if (Error E = checkRange(P))
    return error(Text, toString(std::move(E)));
  FieldValue V;
  V.Searched = P;
  return V;
}

Expected<FieldValue> Builder::parseList(ArrayRef<StringRef> Pieces) {
  Parameter P;
  P.Kind = Parameter::Choice;
  for (StringRef Piece : Pieces) {
    Expected<Expr> E = parseFixed(Piece);
    if (!E)
      return E.takeError();
    if (Error Err = checkNumber(Piece, *E))
      return Err;
    P.Choices.push_back(*E);
  }
  makeAlike(P.Choices);
  FieldValue V;
  V.Searched = P;
  return V;
}

/// Parses a range, a list or an expression.
Expected<FieldValue> Builder::parseNumbers(StringRef Text) {
  if (size_t Dots = findOutside(Text, ".."); Dots != StringRef::npos)
    return parseRange(Text, Dots);
  SmallVector<StringRef, 8> Pieces = splitOutside(Text, ",");
  if (Pieces.size() > 1)
    return parseList(Pieces);
  // Such a difference would be negative, and no setting is negative.
  auto [Low, High] = Text.split('-');
  unsigned long long From, To;
  if (!Low.trim().getAsInteger(10, From) && !High.trim().getAsInteger(10, To) &&
      From < To)
    return error(Text, "'" + Text + "' is a difference; did you mean '" +
                           Low.trim() + ".." + High.trim() + "'?");
  Expected<Expr> E = parse(Text);
  if (!E)
    return E.takeError();
  FieldValue V;
  V.Is = *E;
  return V;
}

static FieldValue makeBoth() {
  FieldValue V;
  V.Searched.emplace();
  V.Searched->Kind = Parameter::Bool;
  return V;
}

static FieldValue makeConstant(Value Is) {
  FieldValue V;
  V.Is = Expr::constant(std::move(Is));
  return V;
}

/// Parses on, off or both; unset for other texts.
static std::optional<FieldValue> parseSwitch(StringRef Text) {
  Text = Text.trim();
  if (Text == "on" || Text == "off")
    return makeConstant(Text == "on");
  if (Text == "both" || Text == "on|off" || Text == "off|on")
    return makeBoth();
  return std::nullopt;
}

static FieldValue makeTexts(ArrayRef<StringRef> Pieces) {
  if (Pieces.size() == 1)
    return makeConstant(Pieces[0].trim().str());
  FieldValue V;
  V.Searched.emplace();
  V.Searched->Kind = Parameter::Choice;
  for (StringRef Piece : Pieces)
    V.Searched->Choices.push_back(Expr::constant(Piece.trim().str()));
  return V;
}

/// Returns the controls files in a folder, in the order of their names.
static Expected<std::vector<std::string>> listControls(StringRef Folder) {
  std::vector<std::string> Names;
  std::error_code EC;
  for (sys::fs::directory_iterator I(Folder, EC), End; I != End && !EC;
       I.increment(EC))
    if (sys::path::extension(I->path()) == ".acf")
      Names.push_back(I->path());
  if (EC)
    return createFileError(Folder, EC);
  if (Names.empty())
    return createStringError("folder '" + Folder +
                             "' has no controls file: no name ends in .acf");
  llvm::sort(Names);
  return Names;
}

/// A folder among the values is none and each of its controls files.
static Expected<FieldValue> makeControls(StringRef Text) {
  std::vector<std::string> Names;
  for (StringRef Piece : splitOutside(Text, "|")) {
    Piece = Piece.trim();
    if (!sys::fs::is_directory(Piece)) {
      Names.push_back(Piece.str());
      continue;
    }
    Expected<std::vector<std::string>> Files = listControls(Piece);
    if (!Files)
      return Files.takeError();
    Names.push_back("");
    append_range(Names, *Files);
  }
  StringSet<> Seen;
  llvm::erase_if(Names, [&](StringRef N) { return !Seen.insert(N).second; });
  return makeTexts(SmallVector<StringRef, 8>(Names.begin(), Names.end()));
}

static bool isWord(StringRef Text) {
  auto IsWordChar = [](char C) { return isAlnum(C) || C == '-' || C == '_'; };
  return !Text.empty() && all_of(Text, IsWordChar);
}

/// Parses the values in --opt=NAME=VALUES: numbers, on|off, or words.
Expected<FieldValue> Builder::parseLLVMValues(StringRef Text) {
  if (std::optional<FieldValue> V = parseSwitch(Text))
    return *V;
  SmallVector<StringRef, 8> Words = splitOutside(Text, "|");
  if (Words.size() == 1 && !isWord(Text.trim()))
    return parseNumbers(Text);
  Expected<FieldValue> V =
      Words.size() == 1 ? parseNumbers(Text) : parseList(Words);
  if (V || !all_of(Words, [](StringRef W) { return isWord(W.trim()); }))
    return V;
  consumeError(V.takeError());
  return makeTexts(Words);
}

Expected<FieldValue> Builder::parsePipeline(StringRef Text) {
  Expected<PipelineSpace> Space = PipelineSpace::parse(Text);
  if (!Space)
    return Space.takeError();
  APInt Count = Space->count();
  if (Count == 1)
    return makeConstant(Space->print(Space->at(APInt(Count.getBitWidth(), 0))));
  FieldValue V;
  V.Searched.emplace();
  V.Searched->Kind = Parameter::Pipeline;
  V.Searched->Space = Text.str();
  return V;
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

void Builder::replaceParameter(StringRef Name, const Expr &By) {
  std::string Old = Name.str();
  auto Replace = [&](Expr &E) {
    E = substitute(E, [&](const Expr &P) { return P.name() == Old ? By : P; });
  };
  erase_if(S.Parameters, [&](const Parameter &P) { return P.Name == Old; });
  for (Parameter &P : S.Parameters)
    Replace(P.When);
  for (DerivedValue &D : S.Derived)
    Replace(D.Is);
  for (Constraint &C : S.Constraints)
    Replace(C.Holds);
  for (ConfigField &F : S.Fields) {
    Replace(F.Is);
    Replace(F.When);
  }
}

/// Replaces the expression of a field that a study computes by \p By, also in
/// constraints and in other fields that compute it.
void Builder::replaceComputed(StringRef Key, const Expr &By) {
  StringSet<> Before = getUsed(S);
  Expr Old = findField(S, Key)->Is;
  for (DerivedValue &D : S.Derived)
    D.Is = replaceExpr(D.Is, Old, By);
  for (Constraint &C : S.Constraints)
    C.Holds = replaceExpr(C.Holds, Old, By);
  for (ConfigField &F : S.Fields) {
    F.Is = replaceExpr(F.Is, Old, By);
    F.When = replaceExpr(F.When, Old, By);
  }
  dropUnused(Before);
}

/// Drops what was used before and is unused now, with the derived values that
/// depend on it.
void Builder::dropUnused(const StringSet<> &Before) {
  StringSet<> Now = getUsed(S), Gone;
  auto IsGone = [&](const auto &X) {
    if (!Before.contains(X.Name) || Now.contains(X.Name))
      return false;
    Gone.insert(X.Name);
    return true;
  };
  erase_if(S.Parameters, IsGone);
  erase_if(S.Derived, IsGone);
  // In order: a derived value depends only on earlier ones.
  erase_if(S.Derived, [&](const DerivedValue &D) {
    bool Lost = false;
    substitute(D.Is, [&](const Expr &P) {
      Lost |= Gone.contains(P.name());
      return P;
    });
    if (Lost)
      Gone.insert(D.Name);
    return Lost;
  });
}

/// Returns true for what was recorded of the launch.
static bool isOfLaunch(const ConfigField &F) {
  return isLaunchField(F.Key) && getRecordedType(F.Key);
}

/// Returns the first value of a parameter; unset for pipelines.
static Expr getFirst(const Parameter &P) {
  switch (P.Kind) {
  case Parameter::Int:
  case Parameter::Real:
    return P.Low;
  case Parameter::Bool:
    return Expr::constant(false);
  case Parameter::Choice:
    return P.Choices.front();
  case Parameter::Pipeline:
    return Expr();
  }
  llvm_unreachable("unknown kind");
}

void Builder::keepLaunch() {
  StringSet<> OfLaunch, Before = getUsed(S);
  StringMap<Expr> Recorded;
  for (const ConfigField &F : S.Fields) {
    if (!isOfLaunch(F))
      continue;
    addUsed(S, F.Is, OfLaunch);
    addUsed(S, F.When, OfLaunch);
    if (F.Is.kind() == Expr::Parameter)
      Recorded.try_emplace(F.Is.name(), Expr::recorded(F.Key));
  }
  erase_if(S.Fields, isOfLaunch);
  for (const Parameter &P : std::vector<Parameter>(S.Parameters)) {
    Expr By = Recorded.lookup(P.Name);
    if (!By)
      By = P.Default ? P.Default : getFirst(P);
    if (OfLaunch.contains(P.Name) && By)
      replaceParameter(P.Name, By);
  }
  dropUnused(Before);
}

/// Returns the condition under which a field has an effect; unset: always.
Expected<Expr> Builder::getCondition(StringRef Key) {
  if (Key.empty())
    return Expr();
  if (Error E = applyWhatDefines(Key))
    return E;
  const ConfigField *F = findField(S, Key);
  if (!F) {
    S.Fields.push_back({Key.str(), Expr::constant(true)});
    return Expr();
  }
  if (F->Is.kind() != Expr::Constant)
    return F->Is;
  if (!std::get<bool>(F->Is.value()))
    return createStringError("it has no effect while " + Key + " is off");
  return Expr();
}

Error Builder::setField(StringRef Key, StringRef Name, FieldValue V,
                        StringRef DependsOn) {
  Expected<std::optional<ValueType>> Type = getFieldType(Key);
  if (!Type)
    return Type.takeError();
  if (*Type && V.type() != **Type)
    return createStringError("needs " + getTypeName(**Type) + ", not " +
                             getTypeName(V.type()));

  if (ConfigField *F = findField(S, Key)) {
    const Parameter *Old = F->Is.kind() == Expr::Parameter
                               ? S.findParameter(F->Is.name())
                               : nullptr;
    // The parameter keeps its name, as constraints and other fields refer to
    // it.
    if (Old && V.Searched && Old->type() == V.type()) {
      Parameter &P = S.Parameters[Old - S.Parameters.data()];
      V.Searched->Name = P.Name;
      V.Searched->When = P.When;
      P = *V.Searched;
      return Error::success();
    }
    if (Old && !V.Searched && Old->type() == V.type()) {
      replaceParameter(std::string(Old->Name), V.Is);
      return Error::success();
    }
  }

  Expected<Expr> When = getCondition(DependsOn);
  if (!When)
    return When.takeError();
  const ConfigField *Computed = findField(S, Key);
  if (Computed && (Computed->Is.kind() != Expr::Op ||
                   Computed->Is.type() != V.type()))
    Computed = nullptr;
  // A parameter with the new one's name may be dropped together with its use.
  if (Computed)
    replaceComputed(Key, V.Searched ? Expr::parameter(Fresh, V.type()) : V.Is);
  if (V.Searched) {
    if (S.findParameter(Name) || findDerived(S, Name))
      return createStringError("the name '" + Name + "' is used already");
    V.Searched->Name = Name.str();
    V.Searched->When = *When;
    V.Is = Expr::parameter(Name, V.type());
    S.Parameters.push_back(*V.Searched);
    if (Computed)
      replaceParameter(Fresh, V.Is);
  }
  if (ConfigField *F = findField(S, Key)) {
    StringSet<> Before = getUsed(S);
    F->Is = V.Is;
    F->When = Expr();
    dropUnused(Before);
  } else {
    S.Fields.push_back({Key.str(), V.Is});
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Options without a field of their own
//===----------------------------------------------------------------------===//

/// Adds the field Prefix + NAME for NAME=values.
Error Builder::addNamed(StringRef Prefix, StringRef Text) {
  auto [Name, Values] = Text.split('=');
  Name = Name.trim();
  if (Name.empty() || !Text.contains('='))
    return createStringError("expected NAME=values");
  Expected<FieldValue> V = parseLLVMValues(Values);
  if (!V)
    return V.takeError();
  std::string Key = (Prefix + Name).str();
  bool IsTaken = S.findParameter(Name) || findDerived(S, Name);
  return setField(Key, IsTaken ? StringRef(Key) : Name, *V, "");
}

Error Builder::addDerived(StringRef Text) {
  auto [Name, Value] = Text.split('=');
  Name = Name.trim();
  if (Name.empty() || !Text.contains('='))
    return createStringError("expected NAME=expression");
  if (Error E = checkName(Name))
    return E;
  if (S.findParameter(Name) || findDerived(S, Name))
    return createStringError("the name '" + Name + "' is used already");
  Expected<Expr> E = parse(Value);
  if (!E)
    return E.takeError();
  S.Derived.push_back({Name.str(), *E});
  return Error::success();
}

Error Builder::addConstraint(StringRef Text, StringRef Message) {
  Expected<Expr> E = parse(Text);
  if (!E)
    return E.takeError();
  if (E->type() != ValueType::Bool)
    return createStringError("needs bool, not " + getTypeName(E->type()));
  if (none_of(S.Constraints, [&](const Constraint &C) {
        return C.Holds.print() == E->print();
      }))
    S.Constraints.push_back({*E, Message.str()});
  return Error::success();
}

Error Builder::setObjectives(StringRef Text) {
  std::vector<Objective> Wanted;
  for (StringRef Piece : splitOutside(Text, ",")) {
    StringRef Metric, Suffix;
    std::tie(Metric, Suffix) = Piece.trim().split(':');
    if (Error E = checkMetric(Metric))
      return error(Metric, toString(std::move(E)));
    Objective O;
    O.Metric = Metric.str();
    O.Dir = *getMetricDirection(Metric);
    if (Suffix == "min")
      O.Dir = Direction::Minimize;
    else if (Suffix == "max")
      O.Dir = Direction::Maximize;
    else if (Piece.contains(':'))
      return error(Suffix, "expected min or max, not '" + Suffix + "'");
    if (any_of(Wanted, [&](const auto &W) { return W.Metric == Metric; }))
      return error(Metric, "'" + Metric + "' occurs twice");
    Wanted.push_back(O);
  }
  S.Objectives = Wanted;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// All options
//===----------------------------------------------------------------------===//

Expected<FieldValue> Builder::parseValue(const OptionInfo &O, StringRef Text) {
  switch (O.Kind) {
  case OptionKind::Numbers:
    return parseNumbers(Text);
  case OptionKind::Switch:
    if (std::optional<FieldValue> V = parseSwitch(Text))
      return *V;
    return createStringError("expected on, off or both");
  case OptionKind::Texts:
    return O.Key == "ptxas_controls" ? makeControls(Text)
                                     : makeTexts(splitOutside(Text, "|"));
  case OptionKind::Pipeline:
    return parsePipeline(Text);
  default:
    llvm_unreachable("it has no field");
  }
}

Error Builder::applyPart(const Item &It) {
  const OptionInfo &O = *It.Info;
  StringRef Text = It.Text;
  switch (O.Kind) {
  case OptionKind::LLVMOption:
  case OptionKind::Macro:
    return addNamed(O.prefix(), Text);
  case OptionKind::Require:
    return addConstraint(Text, It.Message);
  case OptionKind::Derive:
    return addDerived(Text);
  case OptionKind::Objective:
    return setObjectives(Text);
  default:
    break;
  }
  Expected<FieldValue> V = parseValue(O, Text);
  if (!V)
    return V.takeError();
  return setField(O.Key, O.Key, *V, O.DependsOn);
}

Error Builder::apply(size_t Number) {
  Item &It = Items[Number];
  It.State = Active;
  // An option that needs this one may be in progress.
  StringRef Outer = std::exchange(Whole, It.Text);
  Error E = applyPart(It);
  Whole = Outer;
  It.State = Done;
  if (!E)
    return Error::success();
  E = quoteText(("--" + It.Info->Name).str(), It.Text, std::move(E));
  std::string Message = toString(std::move(E));
  // The option that fails first contains the mistake.
  if (Failure.empty())
    Failure = std::move(Message);
  return createStringError(Failure);
}

bool Builder::isGiven(StringRef Key) const {
  return any_of(Items, [&](const Item &It) { return It.Info->Key == Key; });
}

Error Builder::checkNames() {
  for (const SpaceOption &G : Given) {
    const OptionInfo *Info = findOption(G.Name);
    if (!Info)
      return createStringError("there is no option '--" + G.Name +
                               "' of a space");
    if (!Info->mayRepeat())
      for (const Item &It : Items)
        if (It.Info->Kind == Info->Kind && It.Info->Key == Info->Key)
          return createStringError("--" + G.Name + "='" + G.Text +
                                   "': there is --" + It.Info->Name +
                                   " already");
    Items.push_back({Info, G.Text, ""});
  }
  return Error::success();
}

/// Adds a grid that covers the recorded threads, and a limit of threads, for
/// given blocks.
void Builder::addDefaults() {
  auto Add = [&](const Twine &Name, const Twine &Text, StringRef Message) {
    Items.push_back({findOption(Name.str()), Text.str(), Message.str()});
  };
  bool Any = false;
  for (StringRef D : {"x", "y", "z"}) {
    if (!isGiven(("block." + D).str()))
      continue;
    Any = true;
    std::string Grid = ("grid." + D).str();
    // A study's grid for blocks that it computes does not fit other blocks.
    const ConfigField *F = findField(S, ("block." + D).str());
    bool IsComputed = F && F->Is.kind() == Expr::Op;
    if (!isGiven(Grid) && (IsComputed || !findField(S, Grid)))
      Add("grid-" + D, "ceildiv(recorded.threads." + D + ", block." + D + ")",
          "");
  }
  std::string Limit = std::to_string(MaxBlockThreads);
  if (Any)
    Add("require", "block.x * block.y * block.z <= " + Limit,
        "a block has more than " + Limit + " threads");
}

Error Builder::build() {
  if (Error E = checkNames())
    return E;
  addDefaults();
  for (size_t I = 0; I != Items.size(); ++I)
    if (Items[I].State == Pending)
      if (Error E = apply(I))
        return E;
  // parseLLVMValues() may have taken the name of an option that failed for a
  // word.
  if (!Failure.empty())
    return createStringError(Failure);
  if (S.Objectives.empty())
    S.Objectives.push_back({"time", Direction::Minimize});
  return checkStudy(S);
}

Error mneme::applyToStudy(const CommandLineSpace &Space, Study &S) {
  return Builder(Space, S).build();
}

/// Returns the name of a macro's option, the kind of others.
static std::string getSubject(StringRef Option, StringRef Text) {
  return (Option == "define" ? Option + " " + Text.split('=').first.trim()
                             : Twine(Option))
      .str();
}

void mneme::keepLaunch(Study &S) { Builder({}, S).keepLaunch(); }

Error mneme::addKnobs(CommandLineSpace &Space) {
  auto Source =
      find_if(Space, [](const SpaceOption &O) { return O.Name == "source"; });
  if (Source == Space.end() ||
      findOutside(Source->Text, "|") != StringRef::npos)
    return Error::success();
  std::string Path = Source->Text;
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Path);
  if (!File)
    return File.takeError();
  StringRef Text = (*File)->getBuffer();
  Expected<std::vector<SourceKnob>> Knobs = findKnobs(Text);
  if (!Knobs)
    return quoteText(Path, Text, Knobs.takeError());
  CommandLineSpace All;
  for (const SourceKnob &K : *Knobs) {
    bool IsGiven =
        K.Option != "require" && any_of(Space, [&](const auto &O) {
          return getSubject(O.Name, O.Text) == getSubject(K.Option, K.Text);
        });
    if (!IsGiven)
      All.push_back({K.Option, K.Text});
  }
  append_range(All, Space);
  Space = std::move(All);
  return Error::success();
}
