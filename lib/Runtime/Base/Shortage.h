//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where exceptions end. The code inside the application allocates as C++ does:
/// a failed allocation throws std::bad_alloc. No exception may leave a function
/// that code outside the runtime calls (exports, slots, threads, handlers of
/// atexit and pthread_atfork, callbacks of the C library), because callers are
/// C or were compiled without exceptions. Each such function that allocates has
/// its work in attempt(), and the work leaves consistent data behind when an
/// exception ends it. Where a thread of the application waits, or talks to the
/// launcher, it is Uncancelled.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_SHORTAGE_H
#define MNEME_LIB_RUNTIME_BASE_SHORTAGE_H

#include <exception>
#include <pthread.h>
#include <string>

/// Why a launch is not recorded for lack of memory.
#define MNEME_REASON_MEMORY "out of memory"

namespace mneme {

/// Calls \p Work. \returns false when an allocation in it failed. Exceptions
/// that are not the standard library's pass: so does the end of a thread that
/// is cancelled.
template <typename Fn> bool attempt(Fn &&Work) {
  try {
    Work();
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

/// As long as it lives, the calling thread cannot be cancelled: not in the middle
/// of a message, or with a lock. It ends behind the call that it is in.
class Uncancelled {
public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &Before); }
  Uncancelled(const Uncancelled &) = delete;
  Uncancelled &operator=(const Uncancelled &) = delete;
  ~Uncancelled() { pthread_setcancelstate(Before, nullptr); }

private:
  int Before;
};

/// MNEME_REASON_MEMORY as a string, which takes no memory.
inline std::string outOfMemory() {
  static_assert(sizeof(MNEME_REASON_MEMORY) <= 16,
                "fits into a std::string that does not allocate");
  return MNEME_REASON_MEMORY;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_SHORTAGE_H
