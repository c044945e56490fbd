//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Requests.h"

using namespace llvm;
using namespace llvm::mneme;

Error Requests::submit(EvaluationRequest R, Handler H) {
  uint64_t Id = R.Id;
  UnderWay[Id] = std::move(H);
  return E.submit(std::move(R));
}

Error Requests::serve(double Seconds) {
  Expected<std::vector<Evaluation>> Results = E.wait(Seconds);
  if (!Results)
    return Results.takeError();
  for (Evaluation &V : *Results) {
    auto It = UnderWay.find(V.Id);
    if (It == UnderWay.end())
      continue;
    Handler H = std::move(It->second);
    UnderWay.erase(It);
    if (V.Failure == Evaluation::Cancelled)
      continue;
    if (Error Err = H(std::move(V)))
      return Err;
  }
  return Error::success();
}

void Requests::cancel() {
  for (uint64_t Id : E.cancel())
    UnderWay.erase(Id);
}
