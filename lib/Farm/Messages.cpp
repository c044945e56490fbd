//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

#define MESSAGE_TABLE "llvm/Mneme/Farm/Messages.def"
#include "llvm/Mneme/Farm/DefineMessages.inc"
#undef MESSAGE_TABLE

void mneme::printMessages(raw_ostream &OS) {
  printMessageTexts(OS, getSetTexts(), getMessageTexts(), getPartTexts());
}

//===----------------------------------------------------------------------===//
// Checks between messages
//===----------------------------------------------------------------------===//

Expected<size_t> mneme::checkRequest(const EvaluationRequest &R) {
  json::Object Head = makeHead(message::Evaluate{0, R});
  std::string Line =
      printFrameLine(message::Evaluate::Kind, json::Object(Head), 0);
  if (Line.size() > message::Evaluate::Kind.LineBytes)
    return createStringError("a configuration of more than " +
                             Twine(message::Evaluate::Kind.LineBytes) +
                             " bytes");
  message::Evaluate Ignored;
  json::Path::Root Root("the configuration");
  json::Value Value(std::move(Head)); // the error refers to its keys
  if (!readHead(Value, Ignored, Root))
    return Root.getError();
  return Line.size();
}

Error mneme::checkPaired(const PairedEvaluation &P, size_t Compared,
                         unsigned Rounds) {
  if (!P.Failure.empty())
    return P.Samples.empty()
               ? Error::success()
               : createStringError("a comparison that failed has samples");
  if (P.Samples.size() != Compared)
    return createStringError(formatv("a comparison of {0} has samples of {1}",
                                     Compared, P.Samples.size())
                                 .str());
  if (!P.CodeHashes.empty() && P.CodeHashes.size() != Compared)
    return createStringError(formatv("a comparison of {0} has hashes of {1}",
                                     Compared, P.CodeHashes.size())
                                 .str());
  for (const std::vector<double> &S : P.Samples)
    if (S.size() < Rounds || S.size() != P.Samples.front().size())
      return createStringError(
          formatv("a comparison of {0} rounds has lists of {1} and {2} samples",
                  Rounds, P.Samples.front().size(), S.size())
              .str());
  return Error::success();
}
