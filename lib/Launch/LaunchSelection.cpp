//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Launch/Launcher.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Runtime/Ranks.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral RecordIdNames[] = {
#define RECORD_ID(Id, Name, Input, Help) Name,
#include "llvm/Mneme/Runtime/Selection.def"
};

static constexpr StringLiteral HashInputs[] = {
#define RECORD_ID(Id, Name, Input, Help) Input,
#include "llvm/Mneme/Runtime/Selection.def"
};

static constexpr StringLiteral PickNames[] = {
#define PICK(Id, Name, Help) Name,
#include "llvm/Mneme/Runtime/Selection.def"
};

static constexpr StringLiteral EpilogueNames[] = {
#define EPILOGUE(Id, Name, Help) Name,
#include "llvm/Mneme/Runtime/Selection.def"
};
static constexpr StringLiteral WaitNames[] = {
#define WAIT(Id, Name, Help) Name,
#include "llvm/Mneme/Runtime/Selection.def"
};

static Error checkWord(StringRef Option, StringRef Word,
                       ArrayRef<StringLiteral> Known) {
  if (is_contained(Known, Word))
    return Error::success();
  return createStringError(Option + "='" + Word + "': expected one of " +
                           join(Known, ", "));
}

static Error checkRegex(StringRef Option, StringRef Text) {
  std::string Problem;
  if (Text.empty() || Regex(Text).isValid(Problem))
    return Error::success();
  return createStringError(Option + ": invalid regular expression '" + Text +
                           "': " + Problem);
}

static Error checkList(StringRef Option, StringRef Text,
                       const std::string &Problem) {
  if (Problem.empty())
    return Error::success();
  return createStringError(Option + "='" + Text + "': " + Problem);
}

bool LaunchSelection::selects(StringRef Symbol) const {
  Regex Wanted(KernelRegex);
  return KernelRegex.empty() || Wanted.match(Symbol) ||
         Wanted.match(demangleSymbol(Symbol));
}

Error LaunchSelection::check() const {
  if (Error E = checkRegex("--kernel", KernelRegex))
    return E;
  if (Error E = checkRegex("--record-regions", RegionRegex))
    return E;
  if (Error E = checkWord("--record-id", RecordId, RecordIdNames))
    return E;
  if (Error E = checkWord("--pick", Pick, PickNames))
    return E;
  if (Error E = checkWord("--epilogue", Epilogue, EpilogueNames))
    return E;
  if (Error E = checkWord("--wait", Wait, WaitNames))
    return E;
  ::mneme::RankChoice RankList;
  if (Error E = checkList("--ranks", Ranks, RankList.parse(Ranks)))
    return E;
  ::mneme::NumberList List;
  if (Launches.empty())
    return Error::success();
  if (Error E = checkList("--launches", Launches, List.parse(Launches)))
    return E;
  if (List.contains(0))
    return checkList("--launches", Launches, "launches count from 1");
  return Error::success();
}

std::vector<std::pair<std::string, std::string>>
LaunchSelection::environment() const {
  std::vector<std::pair<std::string, std::string>> Env = {
      {MNEME_ENV_KERNELS, KernelRegex},
      {MNEME_ENV_SKIP, utostr(Skip)},
      {MNEME_ENV_LAUNCHES, Launches},
      {MNEME_ENV_MAX_RECORDINGS, utostr(MaxRecordings)},
      {MNEME_ENV_REQUIRE_IR, utostr(RequireIR)},
      {MNEME_ENV_RECORD_ID, RecordId},
      {MNEME_ENV_PICK, Pick},
      {MNEME_ENV_EPILOGUE, Epilogue},
      {MNEME_ENV_MAX_BYTES, utostr(MaxBytes)},
      {MNEME_ENV_RANKS, Ranks},
      {MNEME_ENV_REGIONS, RegionRegex},
      {MNEME_ENV_REACHABLE, utostr(Reachable)},
      {MNEME_ENV_IPC, utostr(Ipc)},
      {MNEME_ENV_WAIT, Wait},
      {MNEME_ENV_WAIT_LIMIT, formatv("{0:f3}", WaitLimit).str()},
  };
  // With lazy loading, a kernel's first launch includes the time in which the
  // driver loads it, which waits for all streams.
  if (Pick == "slowest" || Wait != "device")
    Env.emplace_back("CUDA_MODULE_LOADING", "EAGER");
  return Env;
}

StringRef LaunchSelection::hashInput() const {
  return HashInputs[llvm::find(RecordIdNames, RecordId) - RecordIdNames];
}
