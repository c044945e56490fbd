//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel or function that may be compiled while the program runs: its
/// variants, and which of them a launch or call gets. Launches that find their
/// variant take no lock.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_JITSITE_H
#define MNEME_LIB_RUNTIME_JIT_JITSITE_H

#include "llvm/Mneme/Runtime/JitExchange.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mneme {

/// Why a kernel or function ran as compiled.
enum class JitReason : uint8_t {
  None,
#define REASON(Id, Text) Id,
#include "Reasons.def"
};
constexpr size_t NumJitReasons = 0
#define REASON(Id, Text) +1
#include "Reasons.def"
    ;

/// Returns the reason's name in reports; empty for None.
const char *describeReason(JitReason R);

/// A launch or call.
struct JitLaunch {
  /// The address of each argument, by MnemeJitField::Place.
  const void *const *Places;
  uint32_t Grid[3] = {};
  uint32_t Block[3] = {};
  /// Nothing is launched: code is compiled for later.
  bool IsAhead = false;
};

/// What depends on the kind of code.
class JitLoader {
public:
  virtual ~JitLoader() = default;
  /// Makes code ready. \returns what a launch needs, which stays, or null with
  /// an error message. Called by one thread at a time for a site, possibly one
  /// of the JIT's. May throw.
  virtual void *load(JitImage &Image, std::string &Error) = 0;
  /// Copies memory that an argument points to, as the launch would see it.
  /// \returns false if that is not possible.
  virtual bool read(void *To, const void *From, uint64_t Size) = 0;
  /// Returns the payloads with the code.
  virtual std::vector<const MnemePayloadHeader *> payloads() = 0;
};

struct JitVariant {
  /// The values of the launch, as Gather has them; empty for the variant
  /// without constants.
  std::string Values;
  uint64_t Hash = 0;
  enum State : uint8_t { Pending, Ready, Failed };
  std::atomic<uint8_t> TheState{Pending};
  void *Code = nullptr; ///< Written before Ready.
  std::atomic<uint64_t> Served{0};
  std::atomic<uint64_t> Turn{0}; ///< Of launches that are timed.
  // For the report; with JitSite::Lock.
  JitReason Problem = JitReason::None;
  std::string Text;       ///< Of the failure.
  bool IsPartial = false; ///< Some contents could not be read.
  bool IsFromDisk = false;
  bool IsShared = false; ///< Another process had it compiled.
  uint64_t CompileNanoseconds = 0, WaitNanoseconds = 0;
  /// Nanoseconds of two launches, one after the other.
  struct TimePair {
    uint64_t Served, AsCompiled;
  };
  std::vector<TimePair> Times;
  uint64_t LastServed = 0; ///< Without its partner; 0: none.
  static constexpr size_t MaxTimes = 4096;
};

class Jit;

class JitSite {
public:
  /// \param Request  the first level is complete.
  JitSite(Jit &Owner, JitRequest Request, std::unique_ptr<JitLoader> Loader);

  /// Returns the variant for a launch if it is ready. Otherwise counts the
  /// launch and returns null. Throws nothing.
  JitVariant *find(const JitLaunch &L);
  /// The parts of launches that may become constants.
  const std::vector<MnemeJitField> &fields() const { return Request.Fields; }
  /// Counts a launch that find() returned \p V for and that it could not serve.
  /// Disables it if \p Text is not empty.
  void fail(JitVariant &V, JitReason Why, const char *Text);
  /// Whether a launch that find() returned \p V for runs as compiled, so that
  /// the times of both can be compared. Counts it then.
  bool isOwnTurn(JitVariant &V);
  void addTime(JitVariant &V, bool IsOwn, uint64_t Nanoseconds);
  /// Has a variant serve no further launches.
  void disable(JitVariant &V, JitReason Why, const char *Text);
  void count(JitReason Why) {
    FellBack[size_t(Why) - 1].fetch_add(1, std::memory_order_relaxed);
  }

private:
  friend class Jit;
  friend class JitReport;

  /// How the values of a launch are put together: those that matter.
  struct Gather {
    std::vector<uint32_t> Fields; ///< Indices.
    uint32_t Block = 7, Grid = 7;
    bool Threads = true;
  };
  class Values;

  /// The values of a launch in parts, while it is not known which matter.
  struct Parts {
    /// By field; null: the memory cannot be read.
    std::vector<std::unique_ptr<std::string>> Fields;
    uint32_t Block[3], Grid[3];
  };

  bool gather(const Gather &G, const JitLaunch &L, Values &Out) const;
  static void addShape(const Gather &G, const uint32_t (&Block)[3],
                       const uint32_t (&Grid)[3], Values &Out);
  bool gatherField(const MnemeJitField &F, const JitLaunch &L,
                   Values &Out) const;
  JitVariant *findKnown(const Values &V);
  JitVariant *create(const Gather &G, const JitLaunch &L, const Values &V);
  bool wantsVariant(const Values &Now);
  bool createFirst(const JitLaunch &L, JitVariant *&Result);
  JitVariant *serve(JitVariant &V, const JitLaunch &L);
  void obtain(JitVariant &V, JitRequest Q, const JitLaunch &L);
  JitVariant *wait(JitVariant &V, const JitLaunch &L);
  void miss(const JitLaunch &L, JitReason Why) {
    if (!L.IsAhead)
      count(Why);
  }
  void add(JitVariant &V);
  JitRequest makeRequest(const Gather &G, const JitLaunch &L) const;
  // For Jit: the results of its work.
  void setFacts(const JitFacts &F, JitVariant &V);
  void finish(JitVariant &V, JitReason Problem, const char *Text);

  Jit &Owner;
  JitRequest Request; ///< The first level.
  std::unique_ptr<JitLoader> Loader;
  /// Null until the facts are known.
  std::atomic<const Gather *> Plan{nullptr};
  std::atomic<JitVariant *> Last{nullptr};
  /// Without locks: the first Count are valid.
  std::unique_ptr<std::atomic<JitVariant *>[]> Variants;
  std::atomic<uint32_t> Count{0};
  uint32_t Capacity;
  std::array<std::atomic<uint64_t>, NumJitReasons> FellBack{};

  std::mutex Lock; ///< Protects the following data, and adding variants.
  std::condition_variable Changed;
  std::vector<std::unique_ptr<JitVariant>> Owned;
  JitVariant *Generic = nullptr; ///< Without constants.
  /// Hashes of the last values without a variant, of a kernel that is selected
  /// by its name.
  std::array<uint64_t, 64> Once = {};
  uint32_t NextOnce = 0;
  JitVariant *First = nullptr; ///< While the facts are unknown.
  Parts FirstParts;
  JitFacts Facts;
  Gather All, Needed;
  unsigned Failures = 0; ///< Of first compilations.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_JITSITE_H
