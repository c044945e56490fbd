//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AST.h"
#include "Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/TextError.h"

using namespace llvm;
using namespace llvm::mneme;

Error mneme::makeError(SourcePos Pos, const Twine &Message) {
  return make_error<TextError>(Pos.Line, Pos.Column, Message);
}

bool PipelineTree::isPartOfName(const PipelineNode &N,
                                const PipelineNode *&Not) const {
  switch (N.Kind) {
  case PipelineNode::Text:
  case PipelineNode::Params:
  case PipelineNode::Range:
  case PipelineNode::Word: // Its pieces were checked.
    return true;
  case PipelineNode::Use:
    if (isPartOfName(definition(N), Not))
      return true;
    Not = &N;
    return false;
  case PipelineNode::List:
    if (N.size() > 1) {
      Not = &N.child(1);
      return false;
    }
    [[fallthrough]];
  case PipelineNode::Optional:
  case PipelineNode::Choice:
    return all_of(N.Children,
                  [&](const auto &C) { return isPartOfName(*C, Not); });
  case PipelineNode::Adaptor:
  case PipelineNode::Perm:
  case PipelineNode::Seq:
    Not = &N;
    return false;
  }
  llvm_unreachable("all kinds");
}

bool PipelineTree::canBeEmpty(const PipelineNode &N) const {
  auto Child = [&](const auto &C) { return canBeEmpty(*C); };
  switch (N.Kind) {
  case PipelineNode::Optional:
    return true;
  case PipelineNode::Choice:
  case PipelineNode::Seq:
    return (N.Kind == PipelineNode::Seq && N.Low == 0) ||
           any_of(N.Children, Child);
  case PipelineNode::Adaptor:
    return canBeEmpty(N.child(1));
  case PipelineNode::Use:
    return canBeEmpty(definition(N));
  case PipelineNode::Text:
  case PipelineNode::Range:
    return false;
  case PipelineNode::Word:
  case PipelineNode::List:
  case PipelineNode::Params:
  case PipelineNode::Perm:
    return all_of(N.Children, Child);
  }
  llvm_unreachable("all kinds");
}

static void printBinding(const PipelineTree &T, const PipelineBinding &B,
                         raw_ostream &OS);

static void printNode(const PipelineTree &T, const PipelineNode &N,
                      raw_ostream &OS) {
  auto PrintAll = [&](StringRef Separator) {
    ListSeparator LS(Separator);
    for (const auto &C : N.Children) {
      OS << LS;
      printNode(T, *C, OS);
    }
  };
  switch (N.Kind) {
  case PipelineNode::Text:
    for (char C : N.Characters) {
      if (PipelineLexer::isEscapable(C))
        OS << '\\';
      OS << C;
    }
    return;
  case PipelineNode::Word:
    return PrintAll("");
  case PipelineNode::List:
    return PrintAll(StringRef(&N.Separator, 1));
  case PipelineNode::Params:
    OS << '<';
    PrintAll(";");
    OS << '>';
    return;
  case PipelineNode::Range:
    OS << '[' << N.Low << ".." << N.High;
    if (N.Step != 1)
      OS << ':' << N.Step;
    OS << ']';
    return;
  case PipelineNode::Choice:
    OS << '{';
    PrintAll("|");
    OS << '}';
    return;
  case PipelineNode::Optional:
    printNode(T, N.child(0), OS);
    OS << '?';
    return;
  case PipelineNode::Adaptor:
    printNode(T, N.child(0), OS);
    OS << '(';
    printNode(T, N.child(1), OS);
    OS << ')';
    return;
  case PipelineNode::Perm:
    OS << "perm(";
    PrintAll(",");
    OS << ')';
    return;
  case PipelineNode::Seq:
    OS << "seq<" << N.Low;
    if (N.hasLength())
      OS << ".." << N.High;
    OS << ">(";
    PrintAll("|");
    OS << ')';
    return;
  case PipelineNode::Use:
    if (N.Binds)
      return printBinding(T, T.Bindings[N.Binding], OS);
    OS << T.Bindings[N.Binding].Name;
    return;
  }
}

static void printBinding(const PipelineTree &T, const PipelineBinding &B,
                         raw_ostream &OS) {
  OS << B.Name << '=';
  printNode(T, *B.Definition, OS);
}

std::string PipelineTree::print() const {
  std::string Text;
  raw_string_ostream OS(Text);
  for (unsigned I : Definitions) {
    printBinding(*this, Bindings[I], OS);
    OS << ';';
  }
  printNode(*this, *Root, OS);
  return Text;
}

std::string PipelineTree::print(const PipelineNode &N) const {
  std::string Text;
  raw_string_ostream OS(Text);
  printNode(*this, N, OS);
  return Text;
}
