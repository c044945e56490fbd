//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriterClock.h"
#include "Recorder.h"

using namespace mneme;

// The runtime is preloaded, so the static TLS block has room.
static thread_local bool IsWriter __attribute__((tls_model("initial-exec"))) =
    false;

void WriterClock::enterWriter() { IsWriter = true; }

bool WriterClock::isWriter() { return IsWriter; }

void WriterClock::noteOnHost(bool Is) {
  if (!IsWriter)
    return;
  restart();
  OnHost = Is;
}

void WriterClock::restart() { LastSign = Recorder::now(); }

bool WriterClock::isOverdue(uint64_t Limit) const {
  uint64_t Last = LastSign;
  return Limit && !OnHost && Recorder::now() - Last >= Limit;
}
