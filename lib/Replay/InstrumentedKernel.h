//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches code with a pass that notes what it does: which bytes it reads and
/// writes (Transforms/Trace.h), how much it computes (Transforms/Count.h).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_INSTRUMENTEDKERNEL_H
#define LLVM_MNEME_LIB_REPLAY_INSTRUMENTEDKERNEL_H

#include "llvm/ADT/BitVector.h"
#include "llvm/Mneme/Replay/Bound.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// Device memory outside of the recorded memory.
class ScratchMemory {
public:
  ScratchMemory(Device &D, uint64_t Size) : D(D), Size(Size) {}
  ScratchMemory(const ScratchMemory &) = delete;
  ~ScratchMemory();

  /// Allocates zeroed memory.
  Error allocate();
  uint64_t address() const { return Address; }
  uint64_t size() const { return Size; }

private:
  Device &D;
  uint64_t Size, Address = 0;
};

/// A kernel with an instrumentation pass behind its own pipeline. The
/// floating-point code is then that without the pass, and only the remaining
/// accesses and operations are noted.
class InstrumentedKernel {
public:
  /// Limit in seconds for an instrumented launch, which takes several to
  /// several dozen times as long as a plain one.
  static constexpr double LaunchSeconds = 2;

  InstrumentedKernel(const ReplayPlan &Plan, Device &D, Replayer &Memory,
                     function_ref<void()> Report)
      : Plan(Plan), D(D), Memory(Memory), Report(Report) {}

  /// Compiles the code of options \p O for the plan's launch.
  Error compile(ReplayOptions O, StringRef Pass);
  /// Restores the memory, calls \p Prepare, which may be null, and launches.
  Error launch(function_ref<Error()> Prepare = nullptr);
  /// Returns the time of the last launch.
  double nanoseconds() const { return Nanoseconds; }
  /// Samples launches of \p Nanoseconds (GPUDevice::sample()).
  Expected<LaunchOutcome> sample(double Nanoseconds, PCReading &Reading);
  /// Returns the code that runs.
  StringRef image() const { return {Image.data(), Image.size()}; }

private:
  const ReplayPlan &Plan;
  Device &D;
  Replayer &Memory;
  function_ref<void()> Report;
  double Nanoseconds = 0;
  std::unique_ptr<ReplayPlan> Instrumented;
  std::unique_ptr<DeviceKernel> Kernel;
  SmallVector<char, 0> Image;
};

/// The marks of all recorded bytes (Transforms/Trace.h).
class AccessMarks {
public:
  AccessMarks(const ReplayPlan &Plan, Device &D);

  Error allocate() { return Memory.allocate(); }
  /// Returns the pass that sets the marks.
  std::string pass() const;
  /// Ends the marking.
  Error turnOff();
  /// The marks of some bytes of a region from \p Begin on.
  using ReadFn =
      function_ref<void(size_t Region, uint64_t Begin, ArrayRef<char> Written,
                        ArrayRef<char> ReadFirst)>;
  /// Fails if the launch was not traced to its end. Calls \p Read, which may be
  /// null, for all bytes. \returns the bytes that the launch had to move.
  Expected<LaunchWork> read(ReadFn Read = nullptr);

private:
  const ReplayPlan &Plan;
  Device &D;
  ScratchMemory Memory;
};

/// Counts the work that the recorded code does in one launch.
Expected<WorkCounts> countRecordedWork(const ReplayPlan &Plan, Device &D,
                                       Replayer &Memory,
                                       function_ref<void()> Report);

/// A bit for each byte of each region.
using RegionBits = std::vector<BitVector>;

/// What the recorded code reads before it writes it, and what it writes.
struct RecordedAccesses {
  RegionBits Read, Written;
};

/// Traces a launch of the recorded code with \p Marks, which are turned off
/// afterwards. \p Kernel is then that code.
Expected<RecordedAccesses> traceRecorded(const ReplayPlan &Plan,
                                         AccessMarks &Marks,
                                         InstrumentedKernel &Kernel);

/// Determines the bytes that the code of a variant of \p Plan has to move, and
/// sets \p Read to those that it reads. The results are not compared.
Expected<LaunchWork> traceVariant(const ReplayPlan &Plan,
                                  const ReplayPlan &Variant, Device &D,
                                  Replayer &Memory, function_ref<void()> Report,
                                  RegionBits &Read);

/// Changes the elements that the recorded code reads and a variant, which reads
/// \p Read, does not. \returns true if the recorded code then fails or leaves
/// other results: the variant cannot know them.
/// \param Types  the element type of each region.
Expected<bool> dependsOnUnread(const ReplayPlan &Plan, const RegionBits &Read,
                               ArrayRef<uint32_t> Types,
                               const ComparePlan &Rules, Device &D,
                               Replayer &Memory, function_ref<void()> Report);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_INSTRUMENTEDKERNEL_H
