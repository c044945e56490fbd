//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Threads of Mneme inside an application.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_THREADS_H
#define MNEME_LIB_RUNTIME_BASE_THREADS_H

#include "llvm/Mneme/Runtime/BlockedSignals.h"
#include <algorithm>
#include <cstddef>
#include <pthread.h>
#include <unistd.h>

namespace mneme {

using llvm::mneme::BlockedSignals;

/// Starts a thread of Mneme, for which nothing waits. \returns an errno value.
inline int startThread(void *(*Work)(void *), void *Argument) {
  BlockedSignals Here;
  pthread_t Thread;
  int E = pthread_create(&Thread, nullptr, Work, Argument);
  if (!E)
    pthread_detach(Thread);
  return E;
}

/// Threads that run a function each. Uses POSIX threads, because without
/// exceptions std::thread would end the application if a thread cannot be
/// created; with POSIX, there are fewer threads or none.
class Crew {
public:
  /// Starts one thread per processor, not counting the caller's, and at most
  /// \p Wanted.
  Crew(size_t Wanted, void *(*Work)(void *), void *Argument) {
    static const long Processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t Others = Processors > 1 ? Processors - 1 : 0;
    Wanted = std::min({Wanted, Others, MaxThreads});
    if (!Wanted)
      return;
    BlockedSignals Here;
    while (Started != Wanted &&
           !pthread_create(&Threads[Started], nullptr, Work, Argument))
      ++Started;
  }
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;
  /// Waits for the threads.
  ~Crew() {
    for (size_t I = 0; I != Started; ++I)
      pthread_join(Threads[I], nullptr);
  }

private:
  static constexpr size_t MaxThreads = 16;
  pthread_t Threads[MaxThreads];
  size_t Started = 0;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_THREADS_H
