//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Requests and results as JSON.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_MESSAGES_H
#define LLVM_MNEME_LIB_FARM_MESSAGES_H

#include "llvm/Mneme/Farm/Farm.h"

namespace llvm {
namespace mneme {

json::Value toJSON(const EvaluationRequest &R);
bool fromJSON(const json::Value &V, EvaluationRequest &R, json::Path P);

json::Value toJSON(const Evaluation &E);
bool fromJSON(const json::Value &V, Evaluation &E, json::Path P);

json::Value toJSON(const PairedEvaluation &E);
bool fromJSON(const json::Value &V, PairedEvaluation &E, json::Path P);

/// All but the image.
json::Value toJSON(const FarmCode &C);
bool fromJSON(const json::Value &V, FarmCode &C, json::Path P);

/// Of a member of a message. \p What names it in the Error.
template <typename T>
Expected<T> readMember(const json::Object &O, StringRef Key) {
  T Result;
  json::Path::Root Root(Key);
  const json::Value *V = O.get(Key);
  if (!V)
    return createStringError("a message lacks '" + Key + "'");
  if (!fromJSON(*V, Result, Root))
    return Root.getError();
  return std::move(Result);
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_MESSAGES_H
