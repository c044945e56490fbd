//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <sys/resource.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

namespace {
struct ShortageInfo {
  std::errc Code;
  StringLiteral Mend;
};
} // namespace

static constexpr ShortageInfo Shortages[] = {
    {std::errc::not_enough_memory,
     "free memory, or raise the limit (ulimit -v, -d)"},
    {std::errc::too_many_files_open, "raise the limit (ulimit -n)"},
    {std::errc::too_many_files_open_in_system, "close files of other programs"},
    {std::errc::no_space_on_device,
     "free disk space, or set TMPDIR to another folder"},
    {std::errc::file_too_large, "raise the limit (ulimit -f)"},
    {std::errc::resource_unavailable_try_again,
     "end other processes, or raise the limit (ulimit -u)"},
};

static const ShortageInfo *findShortage(std::error_code EC) {
  auto *It =
      find_if(Shortages, [&](const ShortageInfo &S) { return EC == S.Code; });
  return It == std::end(Shortages) ? nullptr : It;
}

char ShortageError::ID;

void ShortageError::log(raw_ostream &OS) const {
  OS << Message;
  if (const ShortageInfo *S = findShortage(EC))
    OS << ": " << S->Mend;
}

Error mneme::recognizeShortage(Error E) {
  return handleErrors(
      std::move(E), [](std::unique_ptr<ErrorInfoBase> Info) -> Error {
        std::error_code EC = Info->convertToErrorCode();
        if (Info->isA<ShortageError>() || !findShortage(EC))
          return Error(std::move(Info));
        // The message may not contain the reason.
        std::string Message = Info->message();
        if (!StringRef(Message).contains(EC.message()))
          Message += ": " + EC.message();
        return make_error<ShortageError>(std::move(Message), EC);
      });
}

Error mneme::makeOutOfMemoryError() {
  return make_error<ShortageError>(
      "out of memory", std::make_error_code(std::errc::not_enough_memory));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// \returns the number after "\p Name" in a file of /proc or /sys, or
/// std::nullopt if there is none.
static std::optional<uint64_t> readNumber(const Twine &Path, StringRef Name) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> File =
      MemoryBuffer::getFileAsStream(Path);
  if (!File)
    return std::nullopt;
  for (StringRef Line : split((*File)->getBuffer(), '\n')) {
    uint64_t Number;
    if (Line.consume_front(Name) && !Line.ltrim().consumeInteger(10, Number))
      return Number;
  }
  return std::nullopt;
}

static uint64_t getRest(int Resource, std::optional<uint64_t> Used) {
  rlimit Limit;
  if (::getrlimit(Resource, &Limit) != 0 || Limit.rlim_cur == RLIM_INFINITY)
    return UINT64_MAX;
  return Limit.rlim_cur - std::min<uint64_t>(Limit.rlim_cur, Used.value_or(0));
}

uint64_t mneme::getAvailableMemory() {
  constexpr uint64_t KiB = 1024;
  constexpr StringLiteral Status = "/proc/self/status";
  auto InBytes = [](std::optional<uint64_t> N) -> std::optional<uint64_t> {
    return N ? std::optional(*N * KiB) : std::nullopt;
  };
  uint64_t Least =
      std::min(getRest(RLIMIT_AS, InBytes(readNumber(Status, "VmSize:"))),
               getRest(RLIMIT_DATA, InBytes(readNumber(Status, "VmData:"))));
  if (auto Free = InBytes(readNumber("/proc/meminfo", "MemAvailable:")))
    Least = std::min(Least, *Free);
  // Inside a container, its control group appears as the root.
  if (auto Max = readNumber("/sys/fs/cgroup/memory.max", ""))
    Least = std::min(
        Least,
        *Max - std::min(*Max, readNumber("/sys/fs/cgroup/memory.current", "")
                                  .value_or(0)));
  return Least;
}
