//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Characters
//===----------------------------------------------------------------------===//

static bool isWordChar(char C) { return isAlnum(C) || C == '_' || C == '$'; }

/// Replaces comments and the contents of strings by blanks.
static std::string maskComments(StringRef Text) {
  std::string Code = Text.str();
  auto Blank = [&](size_t Begin, size_t End) {
    for (size_t I = Begin; I < std::min(End, Code.size()); ++I)
      if (Code[I] != '\n')
        Code[I] = ' ';
  };
  for (size_t I = 0; I < Text.size(); ++I) {
    size_t End = I;
    if (Text.substr(I).starts_with("//"))
      Blank(I, End = std::min(Text.find('\n', I), Text.size()));
    else if (Text.substr(I).starts_with("/*"))
      Blank(I, End = std::min(Text.find("*/", I), Text.size() - 2) + 2);
    else if (Text[I] == '"')
      Blank(I + 1, End = std::min(Text.find('"', I + 1), Text.size()));
    I = End;
  }
  return Code;
}

static unsigned getBits(StringRef Type) {
  if (Type == ".pred")
    return 1;
  unsigned Bits = 0;
  if (Type.size() < 3 || !StringRef("busf").contains(Type[1]) ||
      Type.drop_front(2).getAsInteger(10, Bits))
    return 0;
  return Bits;
}

unsigned PTXFunction::bits(StringRef Register) const {
  auto Known = Registers.find(Register);
  if (Known != Registers.end())
    return Known->second;
  for (const Range &R : Ranges) {
    StringRef Number = Register;
    unsigned N;
    if (Number.consume_front(R.Prefix) && !Number.getAsInteger(10, N) &&
        N < R.Count)
      return R.Bits;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

/// Directives that end with their line.
static bool isLineDirective(StringRef Text) {
  StringRef Word = Text.take_until(isSpace);
  return Word == ".version" || Word == ".target" || Word == ".address_size" ||
         Word == ".file" || Word == ".loc";
}

/// Returns the offset of the brace that matches the one at \p Open.
size_t PTXText::findClose(size_t Open) const {
  unsigned Depth = 0;
  for (size_t I = Open; I != Code.size(); ++I) {
    Depth += Code[I] == '{';
    Depth -= Code[I] == '}';
    if (Depth == 0)
      return I;
  }
  return StringRef::npos;
}

Expected<PTXText> PTXText::parse(std::string Text) {
  PTXText P;
  P.Code = maskComments(Text);
  P.Text = std::move(Text);
  StringRef Code = P.Code;
  size_t Begin = 0;
  while (true) {
    Begin = Code.find_first_not_of(" \t\r\n;", Begin);
    if (Begin != StringRef::npos && isLineDirective(Code.substr(Begin))) {
      Begin = Code.find('\n', Begin);
      continue;
    }
    size_t End = Code.find_first_of(";{", Begin);
    if (Begin == StringRef::npos || End == StringRef::npos)
      break;
    if (Code[End] == ';') {
      Begin = End + 1;
      continue;
    }
    size_t Close = P.findClose(End);
    if (Close == StringRef::npos)
      return createStringError("malformed PTX: unbalanced braces");
    // Other braces enclose sections or the initializers of variables.
    StringRef Head = Code.slice(Begin, End);
    if (Head.contains(".entry") || Head.contains(".func"))
      if (Error E = P.parseFunction(Begin, End, Close))
        return std::move(E);
    Begin = Close + 1;
  }
  if (P.Functions.empty())
    return createStringError("malformed PTX: no function");
  return std::move(P);
}

Error PTXText::parseFunction(size_t Begin, size_t Open, size_t Close) {
  PTXFunction F;
  StringRef Head = StringRef(Code).slice(Begin, Open);
  // A prototype or directive may precede the definition, hence rfind().
  F.IsEntry = Head.contains(".entry");
  StringRef Keyword = F.IsEntry ? ".entry" : ".func";
  StringRef Rest = Head.substr(Head.rfind(Keyword) + Keyword.size()).ltrim();
  if (Rest.starts_with("("))
    Rest = Rest.substr(Rest.find(')') + 1).ltrim();
  F.Name = Rest.take_while([](char C) { return isWordChar(C); }).str();
  if (F.Name.empty())
    return createStringError("malformed PTX: a function has no name");
  F.Begin = Begin;
  F.End = Close + 1;
  F.Body = Open + 1;
  Functions.push_back(std::move(F));
  parseBody(Functions.back(), Close);
  return Error::success();
}

/// Parses a declaration after ".reg": ".b64 %r<13>" or ".b64 %SP".
void PTXText::parseRegisters(PTXFunction &F, StringRef Declaration) {
  auto [Type, Names] = Declaration.ltrim().split(' ');
  if (Type.contains('\t'))
    std::tie(Type, Names) = Declaration.ltrim().split('\t');
  unsigned Bits = getBits(Type.trim());
  for (StringRef Name : split(Names, ',')) {
    auto [Prefix, Count] = Name.trim(" \t\r\n;").split('<');
    unsigned N = 0;
    if (Count.empty())
      F.Registers[Prefix] = Bits;
    else if (!Count.trim("> \t").getAsInteger(10, N))
      F.Ranges.push_back({Prefix.str(), N, Bits});
  }
}

static bool endsBlock(StringRef Opcode) {
  StringRef Base = Opcode.split('.').first;
  return Base == "bra" || Base == "brx" || Base == "ret" || Base == "exit" ||
         Base == "trap";
}

void PTXText::parseBody(PTXFunction &F, size_t Close) {
  StringRef All = Code;
  unsigned Block = 0, Line = 1 + All.take_front(F.Body).count('\n');
  size_t Counted = F.Body;
  bool IsStart = true; // the current block has no statement yet
  for (size_t At = F.Body;;) {
    At = All.find_first_not_of(" \t\r\n;", At);
    if (At >= Close)
      break;
    PTXStatement S;
    Line += All.slice(Counted, At).count('\n');
    Counted = S.Begin = At;
    S.Line = Line;
    S.Function = Functions.size() - 1;
    StringRef Rest = All.slice(At, Close);
    StringRef Word = Rest.take_while([](char C) { return isWordChar(C); });
    StringRef Behind = Rest.drop_front(Word.size()).ltrim(" \t");
    if (Rest.front() == '{') {
      S.What = PTXStatement::Group;
      S.End = findClose(At) + 1;
    } else if (!Word.empty() && Behind.starts_with(":") &&
               !Behind.starts_with("::")) {
      S.What = PTXStatement::Label;
      S.End = All.find(':', At) + 1;
    } else if (isLineDirective(Rest)) {
      S.What = PTXStatement::Directive;
      S.End = std::min(All.find('\n', At), Close);
    } else {
      S.What = Rest.front() == '.' ? PTXStatement::Directive
                                   : PTXStatement::Instruction;
      S.End = std::min(All.find(';', At) + 1, Close);
    }
    At = S.End;
    if (StringRef Declaration = All.slice(S.Begin, S.End);
        S.What == PTXStatement::Directive && Declaration.consume_front(".reg"))
      parseRegisters(F, Declaration);
    if (S.What == PTXStatement::Label && !IsStart) {
      ++Block;
      IsStart = true;
    }
    S.Block = Block;
    if (S.What == PTXStatement::Instruction)
      parseInstruction(F, S);
    if (S.What == PTXStatement::Group)
      S.Uses = findRegisters(F, S.Begin, S.End); // also its definitions
    IsStart &=
        S.What == PTXStatement::Label || S.What == PTXStatement::Directive;
    if (endsBlock(S.Opcode)) {
      ++Block;
      IsStart = true;
    }
    Statements.push_back(std::move(S));
  }
  F.NumBlocks = Block + !IsStart;
}

std::vector<std::string>
PTXText::findRegisters(const PTXFunction &F, size_t Begin, size_t End) const {
  std::vector<std::string> Found;
  for (size_t I = Begin; I < End; ++I) {
    bool IsStart = (Code[I] == '%' || isWordChar(Code[I])) &&
                   (I == Begin || (!isWordChar(Code[I - 1]) &&
                                   Code[I - 1] != '.' && Code[I - 1] != '%'));
    if (!IsStart)
      continue;
    size_t Stop = I + 1;
    while (Stop < End && isWordChar(Code[Stop]))
      ++Stop;
    std::string Name = Code.substr(I, Stop - I);
    if (F.bits(Name) && !is_contained(Found, Name))
      Found.push_back(std::move(Name));
    I = Stop - 1;
  }
  return Found;
}

/// Returns false for instructions whose first operand is not a result, though
/// it may be a register.
static bool hasResult(StringRef Opcode) {
  static constexpr StringLiteral Without[] = {"bar",
                                              "barrier",
                                              "bra",
                                              "brkpt",
                                              "brx",
                                              "call",
                                              "cp",
                                              "discard",
                                              "exit",
                                              "fence",
                                              "griddepcontrol",
                                              "mbarrier",
                                              "membar",
                                              "nanosleep",
                                              "pmevent",
                                              "prefetch",
                                              "prefetchu",
                                              "red",
                                              "ret",
                                              "setmaxnreg",
                                              "st",
                                              "stmatrix",
                                              "sured",
                                              "sust",
                                              "trap"};
  StringRef Base = Opcode.split('.').first;
  if (Base == "bar" || Base == "barrier" || Base == "mbarrier")
    return Opcode.contains(".red") || Opcode.contains("test_wait") ||
           Opcode.contains("try_wait") || Opcode.contains(".arrive.");
  return !is_contained(Without, Base);
}

void PTXText::parseInstruction(const PTXFunction &F, PTXStatement &S) {
  StringRef All = Code;
  size_t At = S.Begin;
  if (Code[At] == '@') {
    size_t Guard = At;
    At = All.find_first_not_of(" \t\n", All.find_first_of(" \t\n", At));
    S.Uses = findRegisters(F, Guard, At);
  }
  size_t End = std::min(All.find_first_of(" \t\n;", At), S.End);
  S.Opcode = All.slice(At, End).str();
  S.Operands = End;
  if (hasResult(S.Opcode)) {
    // The result ends at the first comma outside brackets.
    size_t First = All.find_first_not_of(" \t\n", End);
    size_t Stop = First;
    for (unsigned Depth = 0; Stop < S.End; ++Stop) {
      Depth += Code[Stop] == '{' || Code[Stop] == '[';
      Depth -= Code[Stop] == '}' || Code[Stop] == ']';
      if (Depth == 0 && (Code[Stop] == ',' || Code[Stop] == ';'))
        break;
    }
    if (First < S.End && Code[First] != '[') {
      S.Defs = findRegisters(F, First, Stop);
      S.Operands = Stop;
    }
  }
  for (std::string &Name : findRegisters(F, S.Operands, S.End))
    if (!is_contained(S.Uses, Name))
      S.Uses.push_back(std::move(Name));
}

StringRef PTXText::textOf(const PTXStatement &S) const {
  return StringRef(Text).slice(S.Begin, S.End);
}

//===----------------------------------------------------------------------===//
// Isolation
//===----------------------------------------------------------------------===//

static bool isPlainSize(unsigned Bits) {
  return Bits == 1 || Bits == 16 || Bits == 32 || Bits == 64;
}

static std::string getBitType(unsigned Bits) {
  return Bits == 1 ? "pred" : "b" + std::to_string(Bits);
}

static std::string getZeroRegister(unsigned Bits) {
  return "%mneme_zero" + std::to_string(Bits);
}

bool PTXText::canIsolate(size_t Index) const {
  const PTXStatement &S = Statements[Index];
  StringRef Base = StringRef(S.Opcode).split('.').first;
  // Registers of asynchronous instructions must not be accessed meanwhile.
  if (S.What != PTXStatement::Instruction || Base == "wgmma" ||
      Base == "tcgen05")
    return false;
  const PTXFunction &F = Functions[S.Function];
  auto IsSimple = [&](const std::string &R) { return isPlainSize(F.bits(R)); };
  return (!S.Defs.empty() || !S.Uses.empty()) && all_of(S.Defs, IsSimple) &&
         all_of(S.Uses, IsSimple);
}

/// Replaces words of \p Text by their entries in \p New.
static std::string replaceNames(StringRef Text,
                                const StringMap<std::string> &New) {
  std::string Result;
  for (size_t I = 0; I != Text.size();) {
    size_t Stop = I + 1;
    if (Text[I] == '%' || isWordChar(Text[I]))
      while (Stop != Text.size() && isWordChar(Text[Stop]))
        ++Stop;
    StringRef Word = Text.slice(I, Stop);
    auto It = New.find(Word);
    Result += It == New.end() ? Word.str() : It->second;
    I = Stop;
  }
  return Result;
}

/// Returns the isolated statement. Appends the declarations of its register
/// copies, which are numbered from \p Next.
std::string PTXText::renderIsolated(const PTXStatement &S,
                                    std::string &Declarations,
                                    unsigned &Next) const {
  const PTXFunction &F = Functions[S.Function];
  auto Blind = [&](StringRef To, StringRef From) {
    unsigned Bits = F.bits(From);
    return formatv("xor.{0} {1}, {2}, {3};", getBitType(Bits), To, From,
                   getZeroRegister(Bits))
        .str();
  };
  std::string Before, After;
  StringMap<std::string> Copies;
  for (const std::string &R : S.Uses) {
    std::string Copy = "%mneme_copy" + std::to_string(Next++);
    Declarations += formatv("\t.reg .{0} {1};\n", getBitType(F.bits(R)), Copy);
    Before += Blind(Copy, R) + "\n\t";
    Copies[R] = Copy;
  }
  for (const std::string &R : S.Defs)
    After += "\n\t" + Blind(R, R);
  // The guard and the result may be the same register, so replace the guard but
  // not the result.
  StringRef All = Text;
  size_t Guard =
      Code[S.Begin] == '@' ? All.find_first_of(" \t\n", S.Begin) : S.Begin;
  return Before + replaceNames(All.slice(S.Begin, Guard), Copies) +
         All.slice(Guard, S.Operands).str() +
         replaceNames(All.slice(S.Operands, S.End), Copies) + After;
}

std::string PTXText::isolate(const BitVector &Isolated) const {
  StringRef All = Text;
  std::string Result = All.take_front(Functions.front().Begin).str() +
                       ".global .align 4 .b32 mneme_zero;\n";
  size_t At = Functions.front().Begin;
  for (auto [FI, F] : enumerate(Functions)) {
    std::string Declarations, Body;
    unsigned Next = 0;
    size_t From = F.Body;
    for (auto [I, S] : enumerate(Statements)) {
      if (S.Function != FI || !Isolated.test(I) || !canIsolate(I))
        continue;
      Body += All.slice(From, S.Begin).str() +
              renderIsolated(S, Declarations, Next);
      From = S.End;
      if (StringRef(Body).ends_with("\n") && All.substr(From).starts_with("\n"))
        ++From;
    }
    Body += All.slice(From, F.End).str();
    Result += All.slice(At, F.Body).str();
    At = F.End;
    if (From != F.Body)
      Result += "\n\t.reg .pred %mneme_zero1;\n\t.reg .b16 %mneme_zero16;\n"
                "\t.reg .b32 %mneme_zero32;\n\t.reg .b64 %mneme_zero64;\n" +
                Declarations +
                "\tld.volatile.global.b32 %mneme_zero32, [mneme_zero];\n"
                "\tcvt.u16.u32 %mneme_zero16, %mneme_zero32;\n"
                "\tcvt.u64.u32 %mneme_zero64, %mneme_zero32;\n"
                "\tsetp.ne.b32 %mneme_zero1, %mneme_zero32, 0;\n";
    Result += Body;
  }
  return Result + All.drop_front(At).str();
}

//===----------------------------------------------------------------------===//
// Removal
//===----------------------------------------------------------------------===//

bool PTXText::canRemove(size_t Index) const {
  const PTXStatement &S = Statements[Index];
  // Without its last statement, control would run past the end of the function.
  bool IsLast = Index + 1 == Statements.size() ||
                Statements[Index + 1].Function != S.Function;
  if (IsLast || S.What == PTXStatement::Label)
    return false;
  if (S.What == PTXStatement::Directive)
    return isLineDirective(textOf(S)) || textOf(S).starts_with(".pragma");
  const PTXFunction &F = Functions[S.Function];
  return all_of(S.Defs,
                [&](const std::string &R) { return isPlainSize(F.bits(R)); }) &&
         (S.What != PTXStatement::Group ||
          all_of(S.Uses,
                 [&](const std::string &R) { return isPlainSize(F.bits(R)); }));
}

/// Returns true if \p Text contains \p Name as a word.
static bool mentions(StringRef Text, StringRef Name) {
  for (size_t At = Text.find(Name); At != StringRef::npos;
       At = Text.find(Name, At + 1)) {
    size_t End = At + Name.size();
    if ((At == 0 || !isWordChar(Text[At - 1])) &&
        (End == Text.size() || !isWordChar(Text[End])))
      return true;
  }
  return false;
}

std::string PTXText::keep(const BitVector &Kept) const {
  StringRef All = Text;
  std::vector<std::string> Bodies;
  for (auto [FI, F] : enumerate(Functions)) {
    std::string Body;
    std::set<std::string> Lost, Used;
    size_t From = F.Body, Start = StringRef::npos;
    for (auto [I, S] : enumerate(Statements)) {
      if (S.Function != FI)
        continue;
      // Zeros are assigned after the declarations.
      if (Start == StringRef::npos && S.What != PTXStatement::Directive) {
        Body += All.slice(From, S.Begin).str();
        From = S.Begin;
        Start = Body.size();
      }
      if (Kept.test(I) || !canRemove(I)) {
        Used.insert(S.Uses.begin(), S.Uses.end());
        continue;
      }
      // A group may define any register that it names.
      Lost.insert(S.Defs.begin(), S.Defs.end());
      if (S.What == PTXStatement::Group)
        Lost.insert(S.Uses.begin(), S.Uses.end());
      Body += All.slice(From, S.Begin).rtrim(" \t").str();
      From = S.End;
    }
    Body += All.slice(From, F.End).str();
    std::string Zeros;
    for (const std::string &R : Lost)
      if (Used.count(R))
        Zeros += formatv("mov.{0} {1}, 0;\n\t", getBitType(F.bits(R)), R);
    if (Start != StringRef::npos)
      Body.insert(Start, Zeros);
    Bodies.push_back(std::move(Body));
  }
  std::vector<bool> IsGone(Functions.size(), false);
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (auto [FI, F] : enumerate(Functions)) {
      bool IsUsed = F.IsEntry;
      for (size_t Other = 0; Other != Functions.size() && !IsUsed; ++Other)
        IsUsed =
            Other != FI && !IsGone[Other] && mentions(Bodies[Other], F.Name);
      if (IsUsed || IsGone[FI])
        continue;
      IsGone[FI] = Changed = true;
    }
  }
  std::string Result;
  size_t At = 0;
  for (auto [FI, F] : enumerate(Functions)) {
    Result += All.slice(At, F.Begin).str();
    if (!IsGone[FI])
      Result += All.slice(F.Begin, F.Body).str() + Bodies[FI];
    At = F.End;
  }
  return Result + All.drop_front(At).str();
}
