//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

template <>
bool mneme::rules::Real<serve::rules::FiniteLimits>::read(const json::Value &V,
                                                          double &Out,
                                                          json::Path P) {
  std::optional<double> N = V.getAsNumber();
  if (!N || !accepts(*N))
    return refuse(P, "expected a finite number");
  Out = *N;
  return true;
}

bool serve::rules::Object::read(const json::Value &V, json::Object &Out,
                                json::Path P) {
  const json::Object *O = V.getAsObject();
  if (!O)
    return refuse(P, "expected an object");
  Out = *O;
  return true;
}

bool serve::rules::Array::read(const json::Value &V, json::Array &Out,
                               json::Path P) {
  const json::Array *A = V.getAsArray();
  if (!A)
    return refuse(P, "expected an array");
  Out = *A;
  return true;
}

bool serve::rules::FailureText::read(const json::Value &V, FailureKind &Out,
                                     json::Path P) {
  std::optional<FailureKind> Known =
      FailureKind::parse(V.getAsString().value_or("?"));
  if (!Known)
    return refuse(P, "expected the name of a failure");
  Out = *Known;
  return true;
}

namespace llvm {
namespace mneme {
namespace serve {
#define MESSAGE_TABLE "llvm/Mneme/Serve/Messages.def"
#include "llvm/Mneme/Farm/DefineMessages.inc"
#undef MESSAGE_TABLE

void printMessages(raw_ostream &OS) {
  printMessageTexts(OS, getSetTexts(), getMessageTexts(), getPartTexts());
}
} // namespace serve
} // namespace mneme
} // namespace llvm
