//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Evolve/Operators.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/Mneme/Source/UnitText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr OperatorInfo Operators[] = {
#define OPERATOR(Name, Key, Effect, Help) {Key, OperatorEffect::Effect, Help},
#include "llvm/Mneme/Evolve/Operators.def"
};

ArrayRef<OperatorInfo> mneme::getOperators() { return Operators; }

StringRef mneme::getEffectName(OperatorEffect E) {
  static constexpr StringLiteral Names[] = {"exact", "rounds", "promises"};
  return Names[static_cast<size_t>(E)];
}

std::string SourceEditing::apply(StringRef Version) const {
  std::string Text;
  size_t At = 0;
  for (const Replacement &R : Parts) {
    Text += Version.slice(At, R.Begin);
    Text += R.Text;
    At = R.End;
  }
  return Text + Version.drop_front(At).str();
}

namespace {
class EditFinder {
public:
  EditFinder(StringRef Text, const OperatorFacts &Facts);
  std::vector<SourceEditing> find(ArrayRef<std::string> Allowed);

private:
  StringRef Text;
  const OperatorFacts &Facts;
  LineTable Lines;
  std::vector<SourceToken> Tokens; ///< Of the whole file.
  std::vector<FunctionExtent> Functions;
  std::vector<std::pair<size_t, size_t>> Blocks;
  std::vector<SourceEditing> Edits;
  unsigned Current = 0; ///< The operator.

  StringRef word(size_t I) const {
    return I < Tokens.size() ? Tokens[I].in(Text) : StringRef();
  }
  bool isIn(size_t Offset) const {
    return any_of(Blocks, [&](const auto &B) {
      return B.first <= Offset && Offset < B.second;
    });
  }
  /// Returns the index of the first token at or behind an offset.
  size_t tokenAt(size_t Offset) const {
    return partition_point(
               Tokens, [&](const SourceToken &T) { return T.Begin < Offset; }) -
           Tokens.begin();
  }
  void add(const Twine &What, size_t Where,
           std::vector<SourceEditing::Replacement> Parts) {
    Edits.push_back({Current,
                     (What + ": line " + Twine(Lines.lineOf(Where))).str(),
                     std::move(Parts)});
  }
  void addPragmas(StringRef What, StringRef Form, ArrayRef<unsigned> Values);
  /// Returns true if a word of the function's declaration is \p Word.
  bool declares(const FunctionExtent &F, StringRef Word) const;
  bool isKernel(const FunctionExtent &F) const {
    return declares(F, "__global__");
  }
  struct Parameter {
    size_t Begin, End; ///< Tokens.
    StringRef Name;
  };
  std::vector<Parameter> getParameters(const FunctionExtent &F) const;

#define OPERATOR(Name, ...) void find##Name();
#include "llvm/Mneme/Evolve/Operators.def"
};
} // namespace

EditFinder::EditFinder(StringRef Text, const OperatorFacts &Facts)
    : Text(Text), Facts(Facts), Lines(Text), Tokens(lexSource(Text)),
      Functions(findFunctions(Text, Tokens)) {
  Expected<MarkedText> Marked = cutAtMarkers(Text);
  if (!Marked) {
    consumeError(Marked.takeError());
    return;
  }
  for (size_t I = 1; I < Marked->Parts.size(); I += 2) {
    size_t Begin = Marked->Parts[I].data() - Text.data();
    Blocks.push_back({Begin, Begin + Marked->Parts[I].size()});
  }
  erase_if(Functions, [&](const FunctionExtent &F) { return !isIn(F.Begin); });
}

std::vector<SourceEditing> EditFinder::find(ArrayRef<std::string> Allowed) {
#define OPERATOR(Name, Key, ...)                                               \
  if (Allowed.empty() || is_contained(Allowed, Key))                           \
    find##Name();                                                              \
  ++Current;
#include "llvm/Mneme/Evolve/Operators.def"
  return std::move(Edits);
}

bool EditFinder::declares(const FunctionExtent &F, StringRef Word) const {
  for (size_t I = tokenAt(F.Begin), End = tokenAt(F.ParametersBegin); I < End;
       ++I)
    if (word(I) == Word)
      return true;
  return false;
}

std::vector<EditFinder::Parameter>
EditFinder::getParameters(const FunctionExtent &F) const {
  std::vector<Parameter> All;
  size_t I = tokenAt(F.ParametersBegin) + 1, End = tokenAt(F.ParametersEnd);
  unsigned Depth = 0;
  for (size_t Begin = I; I <= End && I < Tokens.size(); ++I) {
    StringRef W = word(I);
    bool IsLast = W == ")" && !Depth;
    if (W == "(" || W == "<" || W == "[")
      ++Depth;
    else if (!IsLast && Depth && (W == ")" || W == ">" || W == "]"))
      --Depth;
    if (!IsLast && (W != "," || Depth))
      continue;
    if (I > Begin && Tokens[I - 1].Kind == SourceToken::Word)
      All.push_back({Begin, I, word(I - 1)});
    Begin = I + 1;
    if (IsLast)
      break;
  }
  return All;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Adds a pragma before each loop, or replaces the one that it has.
/// \param Form  contains {0} for a value.
void EditFinder::addPragmas(StringRef What, StringRef Form,
                            ArrayRef<unsigned> Values) {
  StringRef Key = Form.take_until([](char C) { return C == '{'; });
  for (size_t I = 0; I != Tokens.size(); ++I) {
    if (!isIn(Tokens[I].Begin) || (word(I) != "for" && word(I) != "while"))
      continue;
    size_t Own = I;
    for (size_t J = I; J && Tokens[J - 1].Kind == SourceToken::Directive; --J)
      if (word(J - 1).starts_with(Key))
        Own = J - 1;
    for (unsigned Value : Values) {
      std::string Pragma = formatv(Form.data(), Value).str();
      std::string Description = formatv("{0} {1}", What, Value).str();
      if (Own == I)
        add(Description, Tokens[I].Begin,
            {{Tokens[I].Begin, Tokens[I].Begin, "\n" + Pragma + "\n"}});
      else if (word(Own) != Pragma)
        add(Description, Tokens[I].Begin,
            {{Tokens[Own].Begin, Tokens[Own].End, Pragma}});
    }
  }
}

void EditFinder::findUnroll() {
  addPragmas("unroll by", "#pragma unroll {0}", {1, 2, 4, 8, 16});
}

void EditFinder::findVectorize() {
  addPragmas("vectors of", "#pragma clang loop vectorize_width({0})",
             {1, 2, 4, 8});
}

/// A loop whose step is the number of threads computes the same with fewer
/// blocks.
void EditFinder::findCoarsen() {
  constexpr StringLiteral Comment = "// mneme-launch grid.x = ",
                          Own = "// mneme-launch grid.x = "
                                "ceildiv(recorded.grid.x, ";
  for (const FunctionExtent &F : Functions) {
    if (!isKernel(F))
      continue;
    bool HasLoop = false, HasStride = false;
    for (size_t I = tokenAt(F.BodyBegin), End = tokenAt(F.End); I < End; ++I) {
      HasLoop |= word(I) == "for" || word(I) == "while";
      HasStride |= word(I) == "gridDim" && word(I + 2) == "x";
    }
    size_t At = Text.find(Comment), OwnAt = Text.find(Own);
    if (!HasLoop || !HasStride || (At != StringRef::npos && At != OwnAt))
      continue;
    for (unsigned Factor : {2, 4, 8}) {
      std::string Line = formatv("{0}{1})", Own, Factor).str();
      SourceEditing::Replacement R{F.Begin, F.Begin, "\n" + Line + "\n"};
      if (OwnAt != StringRef::npos)
        R = {OwnAt, Text.find(')', OwnAt) + 1, Line};
      if (Text.slice(R.Begin, R.End) != Line)
        add("1 of " + Twine(Factor) + " blocks", F.Begin, {R});
    }
  }
}

void EditFinder::findRestrict() {
  for (const FunctionExtent &F : Functions) {
    std::vector<SourceEditing::Replacement> Parts;
    for (const Parameter &P : getParameters(F))
      if (P.End - P.Begin >= 3 && word(P.End - 2) == "*")
        Parts.push_back(
            {Tokens[P.End - 2].End, Tokens[P.End - 2].End, " __restrict__ "});
    if (!Parts.empty())
      add("__restrict__ for " + F.Name, F.Begin, std::move(Parts));
  }
}

void EditFinder::findReadOnly() {
  for (const FunctionExtent &F : Functions) {
    for (const Parameter &P : getParameters(F)) {
      bool IsConst = false, IsPointer = false;
      for (size_t I = P.Begin; I != P.End; ++I) {
        IsConst |= word(I) == "const";
        IsPointer |= word(I) == "*";
      }
      if (!IsConst || !IsPointer)
        continue;
      std::vector<SourceEditing::Replacement> Parts;
      size_t End = tokenAt(F.End);
      for (size_t I = tokenAt(F.BodyBegin); I + 1 < End; ++I) {
        if (word(I) != P.Name || word(I + 1) != "[" || word(I - 1) == "&" ||
            word(I - 1) == "." || word(I - 1) == ">")
          continue;
        size_t Close = findClosing(Text, Tokens, I + 1);
        if (Close >= End || word(Close + 1) == "." || word(Close + 1) == "[")
          continue;
        Parts.push_back({Tokens[I].Begin, Tokens[I].Begin, "__ldg(&"});
        Parts.push_back({Tokens[Close].End, Tokens[Close].End, ")"});
        // An access within the index would be in another order.
        I = Close;
      }
      if (!Parts.empty())
        add("__ldg for " + P.Name, F.Begin, std::move(Parts));
    }
  }
}

void EditFinder::findBounds() {
  for (const FunctionExtent &F : Functions) {
    if (!isKernel(F) || !Facts.BlockThreads)
      continue;
    size_t I = tokenAt(F.Begin), End = tokenAt(F.ParametersBegin);
    size_t Global = I, Own = End;
    for (; I < End; ++I) {
      if (word(I) == "__global__")
        Global = I;
      if (word(I) == "__launch_bounds__")
        Own = I;
    }
    for (unsigned Blocks : {1, 2, 4, 8}) {
      std::string Bounds =
          formatv("__launch_bounds__({0}, {1})", Facts.BlockThreads, Blocks)
              .str();
      SourceEditing::Replacement R{Tokens[Global].End, Tokens[Global].End,
                                   " " + Bounds};
      if (Own != End) {
        size_t Close = findClosing(Text, Tokens, Own + 1);
        if (Close >= Tokens.size())
          continue;
        R = {Tokens[Own].Begin, Tokens[Close].End, Bounds};
      }
      if (Text.slice(R.Begin, R.End) != Bounds)
        add(Bounds, F.Begin, {R});
    }
  }
}

void EditFinder::findInline() {
  for (const FunctionExtent &F : Functions) {
    if (isKernel(F) || !declares(F, "__device__"))
      continue;
    for (StringRef Word : {"__forceinline__", "__noinline__"}) {
      StringRef Other =
          Word == "__noinline__" ? "__forceinline__" : "__noinline__";
      if (declares(F, Word))
        continue;
      for (size_t I = tokenAt(F.Begin); Tokens[I].Begin < F.ParametersBegin;
           ++I)
        if (word(I) == (declares(F, Other) ? Other : "__device__")) {
          bool Replaces = word(I) == Other;
          add(Word + " for " + F.Name, F.Begin,
              {{Replaces ? Tokens[I].Begin : Tokens[I].End, Tokens[I].End,
                (Replaces ? "" : " ") + Word.str()}});
          break;
        }
    }
  }
}

void EditFinder::findContract() {
  for (const FunctionExtent &F : Functions) {
    size_t Body = F.BodyBegin + 1;
    StringRef Line = Text.drop_front(Body).ltrim().split('\n').first;
    bool HasOwn = Line.starts_with("#pragma clang fp");
    size_t Begin = HasOwn ? Line.data() - Text.data() : Body;
    for (StringRef Kind : {"contract(fast)", "contract(off)",
                           "contract(fast) reassociate(on)"}) {
      std::string Pragma = ("#pragma clang fp " + Kind).str();
      if (Line.trim() == Pragma)
        continue;
      add(Kind + " in " + F.Name, F.Begin,
          {{Begin, HasOwn ? Begin + Line.size() : Begin,
            HasOwn ? Pragma : "\n" + Pragma + "\n"}});
    }
  }
}

void EditFinder::findFast() {
  static constexpr std::pair<StringLiteral, StringLiteral> Names[] = {
      {"sinf", "__sinf"},       {"cosf", "__cosf"},     {"tanf", "__tanf"},
      {"expf", "__expf"},       {"exp10f", "__exp10f"}, {"logf", "__logf"},
      {"log2f", "__log2f"},     {"log10f", "__log10f"}, {"powf", "__powf"},
      {"rsqrtf", "__frsqrt_rn"}};
  for (const auto &[Slow, Quick] : Names) {
    std::vector<SourceEditing::Replacement> Parts;
    for (size_t I = 0; I + 1 < Tokens.size(); ++I)
      if (isIn(Tokens[I].Begin) && word(I) == Slow && word(I + 1) == "(")
        Parts.push_back({Tokens[I].Begin, Tokens[I].End, Quick.str()});
    if (!Parts.empty())
      add(Quick + " for " + Slow, Parts.front().Begin, std::move(Parts));
  }
}

void EditFinder::findPad() {
  for (size_t I = 0; I != Tokens.size(); ++I) {
    if (!isIn(Tokens[I].Begin) || word(I) != "__shared__")
      continue;
    // __shared__ type name[rows][columns];
    while (I < Tokens.size() && word(I) != "[" && word(I) != ";")
      ++I;
    if (word(I) != "[")
      continue;
    size_t Rows = findClosing(Text, Tokens, I);
    if (word(Rows + 1) != "[")
      continue;
    size_t Columns = findClosing(Text, Tokens, Rows + 1);
    if (Columns < Tokens.size() && word(Columns + 1) == ";")
      add("pad " + word(I - 1), Tokens[I].Begin,
          {{Tokens[Columns].Begin, Tokens[Columns].Begin, " + 1"}});
  }
}

/// Returns a named constant's value; 0 if it is none that can be halved.
static unsigned getNumber(StringRef Text) {
  unsigned Value;
  return Text.trim().getAsInteger(10, Value) || Value > 4096 ? 0 : Value;
}

void EditFinder::findNumber() {
  auto Add = [&](StringRef Name, StringRef Digits, size_t Begin) {
    unsigned Value = getNumber(Digits);
    for (unsigned New : {Value * 2, Value / 2})
      if (Value && New)
        add(Name + " = " + Twine(New), Begin,
            {{Begin, Begin + Digits.size(), std::to_string(New)}});
  };
  for (size_t I = 0; I != Tokens.size(); ++I) {
    if (!isIn(Tokens[I].Begin))
      continue;
    if (Tokens[I].Kind == SourceToken::Directive) {
      std::string Rest;
      if (getDirectiveName(word(I), Rest) != "define")
        continue;
      auto [Name, Value] = StringRef(Rest).split(' ');
      Value = Value.trim();
      if (size_t At = word(I).rfind(Value);
          getNumber(Value) && At != StringRef::npos)
        Add(Name, word(I).substr(At, Value.size()), Tokens[I].Begin + At);
    } else if (Tokens[I].Kind == SourceToken::Number && I >= 3 &&
               word(I - 1) == "=" && word(I + 1) == ";") {
      // constexpr int N = 16;
      for (size_t J = I - 2; J + 5 > I && J < I; --J)
        if (word(J) == "constexpr" || word(J) == "const") {
          Add(word(I - 2), word(I), Tokens[I].Begin);
          break;
        }
    }
  }
}

void EditFinder::findAssume() {
  for (const FunctionExtent &F : Functions) {
    if (!isKernel(F))
      continue;
    for (auto [P, Value] : zip(getParameters(F), Facts.Arguments))
      if (!Value.empty())
        add("assume " + P.Name + " == " + Value, F.Begin,
            {{F.BodyBegin + 1, F.BodyBegin + 1,
              ("\n  __builtin_assume(" + P.Name + " == " + Value + ");\n")
                  .str()}});
  }
}

std::vector<SourceEditing> mneme::findEdits(StringRef Version,
                                            const OperatorFacts &Facts,
                                            ArrayRef<std::string> Allowed) {
  return EditFinder(Version, Facts).find(Allowed);
}
