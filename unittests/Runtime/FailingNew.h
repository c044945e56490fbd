//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An operator new, of the whole program, that fails when it is told to.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_UNITTESTS_RUNTIME_FAILINGNEW_H
#define MNEME_UNITTESTS_RUNTIME_FAILINGNEW_H

#include "llvm/Support/Compiler.h"
#include <cstdint>
#include <initializer_list>
#if LLVM_ADDRESS_SANITIZER_BUILD
#include <sanitizer/lsan_interface.h>
#endif

namespace mneme {

/// While it lives, allocation \p Index, from 0, of all threads fails; with \p
/// AllFollowing, so do those behind it.
class FailingNew {
public:
  explicit FailingNew(uint64_t Index, bool AllFollowing = false);
  FailingNew(const FailingNew &) = delete;
  FailingNew &operator=(const FailingNew &) = delete;
  ~FailingNew();

  /// Whether one has failed so far.
  bool hasFailed() const;

  /// While it lives, none of this thread's fails, nor counts.
  class Pause {
  public:
    Pause();
    Pause(const Pause &) = delete;
    Pause &operator=(const Pause &) = delete;
    ~Pause();
  };
};

/// Calls \p F(index, all following) until a call comes to its end without a
/// failure. \p F says whether it met one.
template <typename Fn> void forEachFailure(Fn F) {
#if LLVM_ADDRESS_SANITIZER_BUILD
  // Of an inline function that LLVM has too, compiled without exceptions, the
  // linker may keep LLVM's, which does not clean up.
  __lsan::ScopedDisabler Leaks;
#endif
  for (bool AllFollowing : {false, true})
    for (uint64_t Index = 0; F(Index, AllFollowing); ++Index)
      ;
}

} // namespace mneme

#endif // MNEME_UNITTESTS_RUNTIME_FAILINGNEW_H
