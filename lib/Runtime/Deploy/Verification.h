//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares the memory after a launch of a tuned kernel with that after a
/// launch of the application's own kernel, on the application's memory.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DEPLOY_VERIFICATION_H
#define MNEME_LIB_RUNTIME_DEPLOY_VERIFICATION_H

#include "Shortage.h"
#include "llvm/Mneme/Runtime/Package.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mneme {

/// The result of a verification.
enum class Verdict : uint8_t {
#define VERDICT(Id, Text) Id,
#include "Verdicts.def"
};
constexpr size_t NumVerdicts = 0
#define VERDICT(Id, Text) +1
#include "Verdicts.def"
    ;

/// Returns why a launch was not verified; empty if it was.
const char *describeVerdict(Verdict V);

/// Memory that a launch may change.
struct MemoryRange {
  uint64_t Address;
  uint64_t Size;
  std::string Name; ///< For messages: "argument 0".
};

/// Eight bytes of an argument, which may be a pointer.
struct ArgumentWord {
  size_t Arg;
  uint64_t Value;
};

/// Returns the words of a launch's arguments. \p Values has a pointer per
/// argument, or is null. May throw.
std::vector<ArgumentWord> wordsOf(PackageRange<MnemePackageArg> Args,
                                  const void *const *Values);

/// Returns the range that \p Address lies in, or null.
MemoryRange *findRange(std::vector<MemoryRange> &Ranges, uint64_t Address);

/// Names the ranges without a name: "argument 0" for the first argument that
/// points there, otherwise "memory at 0x7f0000000000". May throw.
void nameRanges(std::vector<MemoryRange> &Ranges,
                const std::vector<ArgumentWord> &Words);

/// Access to the memory of a device that is idle.
class DeviceMemory {
public:
  /// \returns false on failure.
  virtual bool read(void *To, uint64_t From, uint64_t Size) const = 0;
  virtual bool write(uint64_t To, const void *From, uint64_t Size) const = 0;

protected:
  ~DeviceMemory() = default;
};

/// The first bytes that a tuned kernel writes differently.
struct Difference {
  std::string Buffer; ///< The name of its range.
  uint64_t Size = 0;  ///< Of the range.
  uint64_t Offset = 0;
  uint32_t NumBytes = 0; ///< Of the following values: at most 4.
  uint32_t Own = 0, Tuned = 0;

  /// "argument 0, offset 4 of 512 bytes: 0x00000002 instead of 0x00000001"
  std::string text() const;
};

/// Memory before a launch, and what repeated launches change.
class LaunchComparison {
public:
  /// Copies take at most \p Limit bytes.
  LaunchComparison(const DeviceMemory &Memory, std::vector<MemoryRange> Ranges,
                   uint64_t Limit)
      : Memory(Memory), Ranges(std::move(Ranges)), Limit(Limit) {}

  /// Launches the tuned kernel with \p RunTuned, which waits for it and returns
  /// Same, or Refused if nothing was executed, or Faulted if it failed, or
  /// Different if the device failed with it, so that the application's own
  /// kernel cannot be tried. Then restores the memory, and launches the
  /// application's with \p RunOwn, which returns false if it failed. \p RunOwn
  /// is called twice if the results differ, because they may differ each time.
  /// \p D is set if the result is Different, unless the tuned kernel failed.
  /// Throws nothing.
  template <typename TunedFn, typename OwnFn>
  Verdict verify(TunedFn RunTuned, OwnFn RunOwn, Difference &D) {
    Verdict Problem = guarded([&] { return store(); });
    if (Problem != Verdict::Same)
      return Problem;
    Verdict End = RunTuned();
    if (End == Verdict::Refused)
      return End;
    Problem = guarded([&] { return keep(Tuned); });
    bool IsRestored = restore(Problem == Verdict::Same ? &Tuned : nullptr);
    if (!RunOwn())
      return End == Verdict::Different ? End : Verdict::OwnFailed;
    if (End != Verdict::Same)
      return Verdict::Different;
    if (!IsRestored)
      return Verdict::Unreadable;
    if (Problem == Verdict::Same)
      Problem = guarded([&] { return keep(Own); });
    if (Problem != Verdict::Same || !differs(Tuned, Own))
      return Problem;
    if (!restore(&Own))
      return Verdict::Unreadable;
    if (!RunOwn())
      return Verdict::OwnFailed;
    Verdict Result = Verdict::Varies;
    Problem = guarded([&] {
      if (!keep(Again))
        return false;
      if (explain(D))
        Result = Verdict::Different;
      return true;
    });
    return Problem == Verdict::Same ? Result : Problem;
  }

private:
  /// A page with other contents than before the launch.
  struct Page {
    size_t Range;
    uint64_t Offset;
    size_t Data; ///< Position in Bytes.
  };
  struct Changes {
    std::vector<Page> Pages; ///< By range and offset.
    std::vector<char> Bytes;
  };

  /// Calls \p Work, which returns false if memory cannot be accessed, and may
  /// throw.
  template <typename Fn> static Verdict guarded(Fn Work) {
    bool Ok = false;
    if (!attempt([&] { Ok = Work(); }))
      return Verdict::Memory;
    return Ok ? Verdict::Same : Verdict::Unreadable;
  }

  bool store();
  bool keep(Changes &C);
  /// Restores the pages of \p Changed, or all if it is null.
  bool restore(const Changes *Changed) const;
  void use(uint64_t Bytes);
  uint64_t pageSize(const Page &P) const;
  const char *contents(const Changes &C, const Page &P) const;
  template <typename Fn>
  void forEachDifference(const Changes &A, const Changes &B, Fn Visit) const;
  bool differs(const Changes &A, const Changes &B) const;
  bool explain(Difference &D) const;

  const DeviceMemory &Memory;
  std::vector<MemoryRange> Ranges;
  uint64_t Limit, Used = 0;
  std::vector<std::unique_ptr<char[]>> Before; ///< By range.
  std::unique_ptr<char[]> Chunk;
  Changes Tuned, Own, Again;
};

/// Lets one thread use the device alone: others wait before calls that change
/// its memory. Throws nothing.
class DeviceGate {
public:
  /// The stay of a thread inside \p Gate, which may be null.
  class Visit {
  public:
    explicit Visit(DeviceGate *Gate) : Gate(Gate) {
      if (Gate)
        Gate->enter();
    }
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;
    ~Visit() {
      if (Gate)
        Gate->leave();
    }

  private:
    DeviceGate *Gate;
  };
  /// Waits until no thread is inside. \returns false after 10 seconds.
  bool close();
  void open();

private:
  void enter();
  void leave();

  std::mutex Lock;
  std::condition_variable Changed;
  unsigned Inside = 0;
  bool IsClosed = false;
};

/// Decrements \p Count unless it is 0. \returns whether it did.
inline bool takeOne(std::atomic<uint64_t> &Count) {
  uint64_t Left = Count.load(std::memory_order_relaxed);
  while (Left)
    if (Count.compare_exchange_weak(Left, Left - 1))
      return true;
  return false;
}

/// Why a launch is verified.
enum class VerifyReason : uint8_t {
  None,  ///< It is not.
  First, ///< It is one of VerifyPolicy::First.
  Rate,  ///< VerifyPolicy::picks() chose it.
};

/// Which launches are verified, as the user set it.
struct VerifyPolicy {
  uint64_t First = 0; ///< Launches of each variant.
  double Rate = 0;    ///< Share of the later ones.
  uint64_t Limit = 0; ///< Bytes of copies; 0: half of the available memory.
  /// File that gets a line for each difference; may be empty.
  std::string Log;

  bool isOn() const { return First || Rate > 0; }
  /// Returns true for a share Rate of the calls.
  bool picks() const;
  uint64_t limit() const;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DEPLOY_VERIFICATION_H
