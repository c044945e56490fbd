//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

CodeEntry &CodeTable::resolve(CodeEntry &E) {
  CodeEntry *Root = &E;
  while (Root->Same)
    Root = Root->Same;
  return *Root;
}

CodeEntry &CodeTable::get(StringRef Key, bool &IsNew) {
  CodeEntry *&Slot = ByKey[Key];
  IsNew = !Slot;
  if (IsNew)
    Slot = &Entries.emplace_back();
  return resolve(*Slot);
}

CodeEntry *CodeTable::meet(CodeEntry &E, Duplicate Level, StringRef Hash) {
  assert(!E.Same && "it is another one already");
  CodeEntry *&Slot = hashes(Level)[Hash];
  if (!Slot)
    Slot = &E;
  CodeEntry &Other = resolve(*Slot);
  if (&Other == &E)
    return nullptr;
  E.Same = &Other;
  return &Other;
}

CodeEntry &CodeTable::finish(CodeEntry &E, FarmCode Code, uint64_t Id) {
  auto Made = std::make_shared<const std::string>(std::move(Code.Bytes));
  Code.Bytes.clear();
  E.Code = Code;
  E.FirstId = Id;
  CodeEntry *Other = nullptr;
  if (Code.Failure.empty())
    Other = meet(E, Duplicate::Code, Code.CodeHash);
  E.State = CodeEntry::Made;
  CodeEntry &Root = Other ? *Other : E;
  if (Other && Root.State != CodeEntry::Made) {
    // The code was requested again.
    Root.State = CodeEntry::Made;
    Root.Code = std::move(Code);
  }
  if (!Made->empty() && !Root.Bytes) {
    Root.Bytes = std::move(Made);
    Bytes += Root.Bytes->size();
    Uses.push_front(&Root);
    Root.Use = Uses.begin();
  }
  return Root;
}

void CodeTable::touch(CodeEntry &E) {
  if (E.Bytes)
    Uses.splice(Uses.begin(), Uses, E.Use);
}

void CodeTable::shrink() {
  for (auto It = Uses.end(); Bytes > MaxBytes && It != Uses.begin();) {
    --It;
    CodeEntry &E = **It;
    if (E.Users)
      continue;
    Bytes -= E.Bytes->size();
    E.Bytes = nullptr;
    It = Uses.erase(It);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

ResultEntry &ResultTable::resolve(ResultEntry &E) {
  ResultEntry *Root = &E;
  while (Root->Same)
    Root = Root->Same;
  return *Root;
}

ResultEntry *ResultTable::find(StringRef Key) {
  auto It = ByKey.find(Key);
  if (It == ByKey.end())
    return nullptr;
  ResultEntry &E = resolve(*It->second);
  // Ignore an entry that is no longer measured.
  return E.Leader || E.Done ? &E : nullptr;
}

ResultEntry &ResultTable::add(StringRef Key) {
  ResultEntry &E = Entries.emplace_back();
  ByKey[Key] = &E;
  return E;
}

ResultEntry *ResultTable::meet(ResultEntry &E, StringRef CodeKey,
                               const EvaluationRequest &R) {
  assert(!E.Same && "it is another one already");
  ResultEntry *&Slot = ByCode[CodeKey];
  if (Slot) {
    ResultEntry &Other = resolve(*Slot);
    if (&Other == &E)
      return nullptr;
    if (Other.Leader || Other.answers(R)) {
      E.Same = &Other;
      return &Other;
    }
  }
  Slot = &E;
  return nullptr;
}

void ResultTable::publish(ResultEntry &E, StringRef CodeKey) {
  ResultEntry *&Slot = ByCode[CodeKey];
  if (Slot) {
    ResultEntry &Other = resolve(*Slot);
    if (Other.Leader || Other.Done)
      return;
  }
  Slot = &E;
}

void ResultTable::replace(StringRef CodeKey, const Evaluation &E,
                          double StopAbove) {
  auto It = ByCode.find(CodeKey);
  if (It == ByCode.end())
    return;
  ResultEntry &Known = resolve(*It->second);
  if (!Known.Done)
    return;
  Known.Result = E;
  Known.StopAbove = StopAbove;
}

void ResultTable::forget(ResultEntry &E) {
  E.Leader = nullptr;
  E.Done = false;
  E.Followers.clear();
}
