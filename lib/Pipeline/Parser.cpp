//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recursive descent; the EBNF is in docs/PipelineSpaces.rst.
///
//===----------------------------------------------------------------------===//

#include "Parser.h"
#include "Limits.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"

using namespace llvm;
using namespace llvm::mneme;

using NodePtr = std::unique_ptr<PipelineNode>;

namespace {
class Parser {
public:
  Parser(StringRef Text, PipelineSyntax Syntax)
      : Syntax(Syntax), Lexer(Text, Syntax) {}
  Expected<PipelineTree> run();

private:
  PipelineSyntax Syntax;
  PipelineLexer Lexer;
  PipelineToken Tok;
  PipelineTree Tree;
  StringMap<unsigned> Bound;
  unsigned Depth = 0;
  unsigned Deepest = 0; ///< Maximum of Depth since the last reset.

  /// Parses "$x={a|b};". \returns false if the next tokens are not a
  /// definition.
  Expected<bool> parseDefinition();

  Error advance();
  Error expected(const Twine &What) const;
  Error take(char Symbol, const Twine &What);
  /// Counts a level of nesting during its lifetime.
  struct Level {
    Parser &P;
    explicit Level(Parser &P) : P(P) {
      P.Deepest = std::max(P.Deepest, ++P.Depth);
    }
    ~Level() { --P.Depth; }
  };
  Error checkDepth(SourcePos Pos, unsigned Depth) const;

  /// Parses items up to the first token that is not a separator.
  Expected<NodePtr> parseList(char Separator, bool MayBeEmpty);
  Error parseItems(PipelineNode &Into, char Separator);
  Expected<NodePtr> parseItem(char Separator);
  Expected<NodePtr> parseWord(char Separator);
  Expected<NodePtr> parsePiece(char Separator);
  Expected<NodePtr> parseChoice(char Separator);
  Error parseAlternatives(PipelineNode &Into, char Separator, char Close,
                          bool MayBeEmpty);
  Expected<NodePtr> parseParams();
  Expected<NodePtr> parseRange();
  Expected<NodePtr> parseUse(char Separator);
  Expected<NodePtr> parseBinding(char Separator);
  Expected<NodePtr> parseAdaptor(NodePtr Name);
  Expected<NodePtr> parsePerm(SourcePos Pos);
  Expected<NodePtr> parseSeq(SourcePos Pos);
  /// Reads "lo..hi" or "lo..hi:step" into \p N. \p What names it in errors.
  Error parseNumbers(PipelineNode &N, StringRef What);

  bool isPiece() const;
  Error checkPartOfName(const PipelineNode &N) const;
};
} // namespace

Error Parser::advance() {
  Expected<PipelineToken> Next = Lexer.next();
  if (!Next)
    return Next.takeError();
  Tok = std::move(*Next);
  return Error::success();
}

Error Parser::expected(const Twine &What) const {
  if (Tok.Kind == PipelineToken::End)
    return makeError(Tok.Pos, "expected " + What + ", not the end");
  return makeError(Tok.Pos,
                   "expected " + What + ", not '" + Tok.Spelling + "'");
}

Error Parser::take(char Symbol, const Twine &What) {
  return Tok.is(Symbol) ? advance() : expected(What);
}

Error Parser::checkDepth(SourcePos Pos, unsigned Depth) const {
  if (Depth <= MaxPipelineDepth)
    return Error::success();
  return makeError(Pos, "more than " + Twine(MaxPipelineDepth) +
                            " levels of nesting");
}

Expected<PipelineTree> Parser::run() {
  if (Error E = advance())
    return E;
  while (true) {
    Expected<bool> Defined = parseDefinition();
    if (!Defined)
      return Defined.takeError();
    if (!*Defined)
      break;
  }
  Expected<NodePtr> Root = parseList(',', /*MayBeEmpty=*/true);
  if (!Root)
    return Root.takeError();
  if (Tok.Kind != PipelineToken::End)
    return expected((*Root)->size() ? "',' or the end" : "a pass");
  for (const PipelineBinding &B : Tree.Bindings)
    if (B.NumUses == 0)
      return makeError(B.Pos, "'" + B.Name + "' is not used");
  Tree.Root = std::move(*Root);
  return std::move(Tree);
}

Expected<bool> Parser::parseDefinition() {
  if (Tok.Kind != PipelineToken::Bind)
    return false;
  // Only the ';' at the end distinguishes a definition from a pass.
  PipelineLexer LexerBefore = Lexer;
  PipelineToken TokBefore = Tok;
  StringMap<unsigned> BoundBefore = Bound;
  SmallVector<unsigned> UsesBefore;
  for (const PipelineBinding &B : Tree.Bindings)
    UsesBefore.push_back(B.NumUses);
  Expected<NodePtr> Use = parseBinding(',');
  if (!Use)
    return Use.takeError();
  if (Tok.is(';')) {
    Tree.Bindings.back().NumUses = 0;
    Tree.Definitions.push_back((*Use)->Binding);
    if (Error E = advance())
      return E;
    return true;
  }
  Lexer = LexerBefore;
  Tok = std::move(TokBefore);
  Bound = std::move(BoundBefore);
  while (Tree.Bindings.size() > UsesBefore.size())
    Tree.Bindings.pop_back();
  for (auto [B, NumUses] : zip_equal(Tree.Bindings, UsesBefore))
    B.NumUses = NumUses;
  return false;
}

bool Parser::isPiece() const {
  return Tok.Kind == PipelineToken::Text || Tok.Kind == PipelineToken::Name ||
         Tok.Kind == PipelineToken::Bind || Tok.is('{') || Tok.is('<') ||
         Tok.is('[');
}

Expected<NodePtr> Parser::parseList(char Separator, bool MayBeEmpty) {
  auto List = std::make_unique<PipelineNode>(PipelineNode::List, Tok.Pos);
  List->Separator = Separator;
  if (!MayBeEmpty || isPiece())
    if (Error E = parseItems(*List, Separator))
      return E;
  return List;
}

Error Parser::parseItems(PipelineNode &Into, char Separator) {
  while (true) {
    Expected<NodePtr> Item = parseItem(Separator);
    if (!Item)
      return Item.takeError();
    Into.Children.push_back(std::move(*Item));
    if (!Tok.is(Separator))
      return Error::success();
    if (Error E = advance())
      return E;
    // LLVM allows a ';' at the end: "simplifycfg<keep-loops;>".
    if (Separator == ';' && !isPiece())
      return Error::success();
  }
}

Expected<NodePtr> Parser::parseItem(char Separator) {
  if (!isPiece())
    return expected(Separator == ',' ? "a pass" : "a parameter");
  Expected<NodePtr> Item = parseWord(Separator);
  if (!Item)
    return Item;
  if (Separator == ',' && Tok.is('(')) {
    Item = parseAdaptor(std::move(*Item));
    if (!Item)
      return Item;
  }
  if (!Tok.is('?'))
    return Item;
  auto Optional =
      std::make_unique<PipelineNode>(PipelineNode::Optional, (*Item)->Pos);
  Optional->Children.push_back(std::move(*Item));
  if (Error E = advance())
    return E;
  return Optional;
}

/// Parses the pieces of a word without space between them, "perm(...)", or
/// "seq<...>(...)".
Expected<NodePtr> Parser::parseWord(char Separator) {
  auto Word = std::make_unique<PipelineNode>(PipelineNode::Word, Tok.Pos);
  do {
    bool First = Word->Children.empty();
    Expected<NodePtr> Piece = parsePiece(Separator);
    if (!Piece)
      return Piece;
    const PipelineNode &N = **Piece;
    if (First && Separator == ',' && N.Kind == PipelineNode::Text &&
        Syntax == PipelineSyntax::Space) {
      if (N.Characters == "perm" && Tok.is('('))
        return parsePerm(N.Pos);
      if (N.Characters == "seq" && (Tok.is('(') || Tok.is('<')))
        return parseSeq(N.Pos);
    }
    Word->Children.push_back(std::move(*Piece));
  } while (isPiece() && !Tok.SpaceBefore);

  if (Word->size() == 1)
    return std::move(Word->Children.front());
  for (const NodePtr &Piece : Word->Children)
    if (Error E = checkPartOfName(*Piece))
      return E;
  return Word;
}

Expected<NodePtr> Parser::parsePiece(char Separator) {
  if (Tok.is('{'))
    return parseChoice(Separator);
  if (Tok.is('<'))
    return parseParams();
  if (Tok.is('['))
    return parseRange();
  if (Tok.Kind == PipelineToken::Name)
    return parseUse(Separator);
  if (Tok.Kind == PipelineToken::Bind)
    return parseBinding(Separator);
  auto Text = std::make_unique<PipelineNode>(PipelineNode::Text, Tok.Pos);
  Text->Characters = Tok.Spelling;
  if (Error E = advance())
    return E;
  return Text;
}

Error Parser::checkPartOfName(const PipelineNode &N) const {
  const PipelineNode *Not = nullptr;
  if (Tree.isPartOfName(N, Not))
    return Error::success();
  return makeError(Not->Pos, "'" + Tree.print(*Not) +
                                 "' cannot stand in a part of a name");
}

Expected<NodePtr> Parser::parseChoice(char Separator) {
  auto Choice = std::make_unique<PipelineNode>(PipelineNode::Choice, Tok.Pos);
  Level L(*this);
  if (Error E = checkDepth(Tok.Pos, Depth))
    return E;
  if (Error E = advance())
    return E;
  if (Error E = parseAlternatives(*Choice, Separator, '}', /*MayBeEmpty=*/true))
    return E;
  return Choice;
}

Error Parser::parseAlternatives(PipelineNode &Into, char Separator, char Close,
                                bool MayBeEmpty) {
  while (true) {
    Expected<NodePtr> List = parseList(Separator, MayBeEmpty);
    if (!List)
      return List.takeError();
    StringRef More = (*List)->size()    ? Separator == ',' ? "','" : "';'"
                     : Separator == ',' ? "a pass"
                                        : "a parameter";
    Into.Children.push_back(std::move(*List));
    if (!Tok.is('|'))
      return take(Close, More + ", '|' or '" + Twine(Close) + "'");
    if (Error E = advance())
      return E;
  }
}

Expected<NodePtr> Parser::parseParams() {
  auto Params = std::make_unique<PipelineNode>(PipelineNode::Params, Tok.Pos);
  Level L(*this);
  if (Error E = checkDepth(Tok.Pos, Depth))
    return E;
  if (Error E = advance())
    return E;
  if (!Tok.is('>'))
    if (Error E = parseItems(*Params, ';'))
      return E;
  if (Error E = take('>', "';' or '>'"))
    return E;
  return Params;
}

Error Parser::parseNumbers(PipelineNode &N, StringRef What) {
  StringRef Text = Tok.Spelling;
  if (Tok.Kind != PipelineToken::Text)
    return expected(What);
  auto Fail = [&](const Twine &Message) {
    return makeError(Tok.Pos, Message + " in '" + Tok.Spelling + "'");
  };
  auto [Low, Rest] = Text.split("..");
  auto [High, Step] = Rest.split(':');
  bool IsSeq = N.Kind == PipelineNode::Seq;
  if (IsSeq && !Text.contains(".."))
    High = Low;
  if (Low.getAsInteger(10, N.Low) || High.getAsInteger(10, N.High))
    return expected(What);
  if (Rest.contains(':') && (IsSeq || Step.getAsInteger(10, N.Step)))
    return expected(What);
  if (N.Low > N.High)
    return Fail("the lower end is above the upper one");
  if (N.Step < 1)
    return Fail("the step is not positive");
  // More values might not fit into 64 bits, or into a sampler's double.
  if (uint64_t(N.High) - uint64_t(N.Low) >= MaxPipelineValues)
    return Fail("too wide a range");
  if (IsSeq && (N.Low < 0 || N.High == 0))
    return Fail("a length that is not positive");
  if (IsSeq && N.High > MaxPipelineSeq)
    return Fail("a sequence of more than " + Twine(MaxPipelineSeq) + " steps");
  return advance();
}

Expected<NodePtr> Parser::parseRange() {
  auto Range = std::make_unique<PipelineNode>(PipelineNode::Range, Tok.Pos);
  if (Error E = advance())
    return E;
  if (Error E = parseNumbers(*Range, "'lo..hi' or 'lo..hi:step'"))
    return E;
  if (Error E = take(']', "']'"))
    return E;
  return Range;
}

Expected<NodePtr> Parser::parseUse(char Separator) {
  auto It = Bound.find(Tok.Spelling);
  if (It == Bound.end())
    return makeError(Tok.Pos, "'" + Tok.Spelling + "' is not bound before");
  auto Use = std::make_unique<PipelineNode>(PipelineNode::Use, Tok.Pos);
  Use->Binding = It->second;
  PipelineBinding &B = Tree.Bindings[Use->Binding];
  Deepest = std::max(Deepest, Depth + B.Height);
  if (Error E = checkDepth(Tok.Pos, Depth + B.Height))
    return E;
  // A definition whose lists have another separator can only be part of a name.
  const PipelineNode &D = *B.Definition;
  if (D.Kind == PipelineNode::Choice && D.child(0).Separator != Separator)
    if (Error E = checkPartOfName(*Use))
      return E;
  ++B.NumUses;
  if (Error E = advance())
    return E;
  return Use;
}

Expected<NodePtr> Parser::parseBinding(char Separator) {
  PipelineBinding B;
  B.Name = Tok.Spelling;
  B.Pos = Tok.Pos;
  B.NumUses = 1;
  if (Error E = advance())
    return E;
  unsigned Outer = std::exchange(Deepest, Depth);
  Expected<NodePtr> Definition =
      Tok.is('{') ? parseChoice(Separator) : parseRange();
  if (!Definition)
    return Definition;
  B.Height = Deepest - Depth;
  Deepest = std::max(Outer, Deepest);
  B.Definition = std::move(*Definition);

  // The name is bound only now: its own definition must not use it.
  auto [It, New] = Bound.try_emplace(B.Name, Tree.Bindings.size());
  if (!New) {
    SourcePos First = Tree.Bindings[It->second].Pos;
    return makeError(B.Pos, "'" + B.Name + "' is already bound at " +
                                Twine(First.Line) + ":" + Twine(First.Column));
  }
  auto Use = std::make_unique<PipelineNode>(PipelineNode::Use, B.Pos);
  Use->Binding = It->second;
  Use->Binds = true;
  Tree.Bindings.push_back(std::move(B));
  return Use;
}

Expected<NodePtr> Parser::parseAdaptor(NodePtr Name) {
  auto Adaptor =
      std::make_unique<PipelineNode>(PipelineNode::Adaptor, Name->Pos);
  if (Name->Kind == PipelineNode::Perm || Name->Kind == PipelineNode::Seq)
    return expected("','");
  if (Error E = checkPartOfName(*Name))
    return E;
  if (Tree.canBeEmpty(*Name))
    return makeError(Name->Pos, "the name before '(' can be empty");
  Level L(*this);
  if (Error E = checkDepth(Tok.Pos, Depth))
    return E;
  if (Error E = advance())
    return E;
  Expected<NodePtr> Items = parseList(',', /*MayBeEmpty=*/false);
  if (!Items)
    return Items;
  if (Error E = take(')', "',' or ')'"))
    return E;
  Adaptor->Children.push_back(std::move(Name));
  Adaptor->Children.push_back(std::move(*Items));
  return Adaptor;
}

Expected<NodePtr> Parser::parsePerm(SourcePos Pos) {
  auto Perm = std::make_unique<PipelineNode>(PipelineNode::Perm, Pos);
  Level L(*this);
  if (Error E = checkDepth(Pos, Depth))
    return E;
  if (Error E = advance())
    return E;
  if (Error E = parseItems(*Perm, ','))
    return E;
  if (Error E = take(')', "',' or ')'"))
    return E;
  return Perm;
}

Expected<NodePtr> Parser::parseSeq(SourcePos Pos) {
  auto Seq = std::make_unique<PipelineNode>(PipelineNode::Seq, Pos);
  Level L(*this);
  if (Error E = checkDepth(Pos, Depth))
    return E;
  if (Error E = take('<', "'<' and the lengths"))
    return E;
  if (Error E = parseNumbers(*Seq, "a length or 'lo..hi'"))
    return E;
  if (Error E = take('>', "'>'"))
    return E;
  if (Error E = take('(', "'('"))
    return E;
  if (Error E = parseAlternatives(*Seq, ',', ')', /*MayBeEmpty=*/false))
    return E;
  return Seq;
}

Expected<PipelineTree> mneme::parsePipelineTree(StringRef Text,
                                                PipelineSyntax Syntax) {
  if (Syntax == PipelineSyntax::Space && Text.size() > MaxPipelineText)
    return makeError({}, "a text of more than " + Twine(MaxPipelineText) +
                             " bytes");
  return Parser(Text, Syntax).run();
}
