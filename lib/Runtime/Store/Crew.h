//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A group of helper threads.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_STORE_CREW_H
#define MNEME_LIB_RUNTIME_STORE_CREW_H

#include <algorithm>
#include <cstddef>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace mneme {

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
    // The application's signal handlers must not run on Mneme's threads.
    sigset_t All, Old;
    sigfillset(&All);
    pthread_sigmask(SIG_SETMASK, &All, &Old);
    while (Started != Wanted &&
           !pthread_create(&Threads[Started], nullptr, Work, Argument))
      ++Started;
    pthread_sigmask(SIG_SETMASK, &Old, nullptr);
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

#endif // MNEME_LIB_RUNTIME_STORE_CREW_H
