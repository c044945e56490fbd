//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Handling of failed allocations. The code inside the application uses C++
/// allocation: a failed allocation throws std::bad_alloc. No exception may
/// leave a function that is called from outside of the runtime (exports, slots,
/// threads, handlers of atexit and pthread_atfork, callbacks of the C library),
/// because callers are C or were compiled without exceptions. Each such
/// function that allocates does its work in attempt(), and the work must leave
/// consistent data behind if an exception ends it. While a thread of the
/// application waits or communicates with the launcher, it is Uncancelled.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_SHORTAGE_H
#define MNEME_LIB_RUNTIME_BASE_SHORTAGE_H

#include <exception>
#include <pthread.h>
#include <string>

/// Reason for not recording a launch for lack of memory.
#define MNEME_REASON_MEMORY "out of memory"

namespace mneme {

/// Calls \p Work. \returns false if an allocation in it failed. Exceptions that
/// are not the standard library's are propagated, such as the one that ends a
/// cancelled thread.
template <typename Fn> bool attempt(Fn &&Work) {
  try {
    Work();
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

/// Prevents cancellation of the calling thread during its lifetime, so that the
/// thread does not end within a message or while it holds a lock. A pending
/// cancellation takes effect later.
class Uncancelled {
public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &Before); }
  Uncancelled(const Uncancelled &) = delete;
  Uncancelled &operator=(const Uncancelled &) = delete;
  ~Uncancelled() { pthread_setcancelstate(Before, nullptr); }

private:
  int Before;
};

/// Returns MNEME_REASON_MEMORY as a string, without allocating.
inline std::string outOfMemory() {
  static_assert(sizeof(MNEME_REASON_MEMORY) <= 16,
                "fits into a std::string that does not allocate");
  return MNEME_REASON_MEMORY;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_SHORTAGE_H
