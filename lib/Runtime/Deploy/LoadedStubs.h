//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds what the launches of a program's stubs lead to, while the program
/// loads and unloads modules (LoadedStubs).
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DEPLOY_LOADEDSTUBS_H
#define MNEME_LIB_RUNTIME_DEPLOY_LOADEDSTUBS_H

#include "Program.h"
#include "Shortage.h"
#include "StubTable.h"

#include <atomic>
#include <mutex>

namespace mneme {

/// A table of stubs that begins anew when the program's modules change.
template <typename T> class LoadedStubs {
public:
  /// \p Variation distinguishes architectures.
  static uint64_t keyOf(const void *Stub, unsigned Variation) {
    return reinterpret_cast<uint64_t>(Stub) | uint64_t(Variation) << 57;
  }

  /// Takes no lock. \returns null if the stub is not known yet.
  T *find(uint64_t Key) const {
    return Generation.load(std::memory_order_acquire) ==
                   Program::get().generation()
               ? Table.find(Key)
               : nullptr;
  }

  /// The same, but calls \p Make with \p Lock held if the stub is not known. It
  /// returns the object, and may throw. What is not \p IsFinal is only kept if
  /// all modules are known. \returns null if memory is missing; throws nothing.
  template <typename MakeFn, typename IsFinalFn>
  T *findOrMake(uint64_t Key, std::mutex &Lock, MakeFn Make,
                IsFinalFn IsFinal) {
    // May call constructors of the application, so without the lock.
    Program::get().retry();
    std::lock_guard<std::mutex> Guard(Lock);
    unsigned Now = Program::get().generation();
    if (Generation.load(std::memory_order_relaxed) != Now) {
      Table.clear();
      Generation.store(Now, std::memory_order_release);
    }
    if (T *Known = Table.find(Key))
      return Known;
    T *New = nullptr;
    bool Ok = attempt([&] {
      New = &Make();
      // The next launch may find memory.
      if (IsFinal(*New) || !Program::get().isIncomplete())
        Table.add(Key, *New);
    });
    return Ok ? New : nullptr;
  }

private:
  StubTable<T> Table;
  std::atomic<unsigned> Generation{0};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DEPLOY_LOADEDSTUBS_H
