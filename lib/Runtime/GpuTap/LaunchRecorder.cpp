//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchRecorder.h"
#include "EventTimer.h"
#include "Shortage.h"

#include <utility>

using namespace mneme;

namespace {
/// Opens the gate at the end of its lifetime.
class OpenLater {
public:
  explicit OpenLater(StreamGate &G) : G(G) {}
  OpenLater(const OpenLater &) = delete;
  OpenLater &operator=(const OpenLater &) = delete;
  ~OpenLater() { G.open(); }

private:
  StreamGate &G;
};
} // namespace

/// Ends a recording. \p Keep: as CopyBuffers::giveBack().
void LaunchRecorder::abandon(RecordingJob &J, std::string_view Reason,
                             bool Keep) {
  Buffers.giveBack(*J.On, J.Copies, Keep);
  Buffers.giveBack(*J.On, J.Gathered, Keep);
  Buffers.giveBack(*J.On, J.Textures, Keep);
  if (J.R)
    Records.abandon(std::move(J.R), Reason, J.Again);
}

bool LaunchRecorder::record(Gpu &G, Target &T, const Launch &L,
                            const LaunchId &Id, OriginalCall Original,
                            int &Result) {
  Uncancelled Here;
  RecordingTime Time(Records);
  Deadline Until = deadline();
  std::string Error;
  RecordingJob J;
  J.On = &G;
  J.Stream = L.Stream;
  auto Skip = [&] {
    Buffers.giveBack(G, J.Textures);
    Records.skip(T.K, Error);
    return false;
  };
  if (!State.Calls.close(*Driver, L.Stream, Until)) {
    Error = tooLong("a call of another thread");
    return Skip();
  }
  OpenLater Opener(State.Calls);
  std::vector<Recording::Region> Regions;
  if (!attempt([&] {
        Error = Waits.before(G, L.Stream, Until);
        if (!Error.empty())
          return;
        Memory.finishFrees(G, State.WaitsForAll ? Memory.numFrees() : 0);
        Error = Devs.prepare(G);
        if (Error.empty())
          Error = Located.locate(T, L, J, Regions);
      }))
    Error = outOfMemory();
  if (!Error.empty())
    return Skip();
  void **Args = J.Args.empty() ? L.Args : J.Args.data();
  J.R = Records.begin(T.K, L.Shape, Id, Args, std::move(Regions), G.begin(),
                      G.end() - G.begin(), Memory.notes());
  if (!J.R) {
    Buffers.giveBack(G, J.Textures);
    return false;
  }
  bool HasCopies = false;
  if (!attempt([&] {
        J.R->Device = G.Facts;
        if (Selection::get().reachableOnly())
          forEachPointer(T.K, Args,
                         [&](uint64_t V) { J.Pointers.push_back(V); });
        Error = copyMemory(J, HasCopies);
      }))
    Error = outOfMemory();
  if (!Error.empty()) {
    abandon(J, Error);
    return false;
  }
  return HasCopies ? recordOnDevice(J, Original, Result)
                   : recordThroughHost(J, Original, Result);
}

/// Copies the memory of a job on the device, if there is room. \returns an
/// empty string, or why the launch cannot be recorded. May throw.
std::string LaunchRecorder::copyMemory(RecordingJob &J, bool &HasCopies) {
  Gpu &G = *J.On;
  uint64_t Bytes = 0, NumFlags = 0;
  for (const RecordingJob::Part &P : J.Parts) {
    Bytes += alignCopy(P.Size);
    NumFlags += flagsOf(P.Size);
  }
  uint64_t Scratch = alignCopy(NumFlags) + tableSize(J.Parts.size());
  CopyBuffers::Room R = Buffers.acquire(G, Bytes + Scratch, J.Copies);
  HasCopies = R == CopyBuffers::Room::Found;
  if (R == CopyBuffers::Room::None)
    R = Buffers.acquire(G, Scratch, J.Copies, /*Scratch=*/true);
  if (R != CopyBuffers::Room::Found)
    return CopyBuffers::explain(R);
  J.Flags = J.Copies.Address + (HasCopies ? Bytes : 0);
  J.Table = J.Flags + alignCopy(NumFlags);
  if (!HasCopies)
    return "";
  std::vector<MnemeCopyPart> Copies;
  CUdeviceptr To = J.Copies.Address;
  for (RecordingJob::Part &P : J.Parts) {
    P.Copy = To;
    Copies.push_back({P.Copy, P.Live, P.Size});
    To += alignCopy(P.Size);
  }
  return G.Work->copy(Copies, J.Table);
}

/// Records from the copies that copyMemory() has made.
bool LaunchRecorder::recordOnDevice(RecordingJob &J, OriginalCall Original,
                                    int &Result) {
  if (!run(J, Original, Result))
    return true;
  std::string Error;
  if (!attempt([&] {
        Error = Textures.copyElements(J, /*OnlyWritten=*/true);
        if (Error.empty())
          Error = J.findChanges(*J.On->Work);
        if (Error.empty())
          Error = gather(J);
      }))
    Error = outOfMemory();
  if (!Error.empty())
    abandon(J, Error);
  else if (J.Gathered.Size || J.Changed.empty())
    Writer.enqueue(J);
  else // The application is going to change live memory.
    Writer.write(J, *J.On->Work);
  return true;
}

/// Records where the device has no room for copies: all memory goes to the
/// host, twice.
bool LaunchRecorder::recordThroughHost(RecordingJob &J, OriginalCall Original,
                                       int &Result) {
  std::string Error;
  if (!attempt([&] { Error = Files.storeBefore(J); }))
    Error = outOfMemory();
  if (!Error.empty()) {
    abandon(J, Error);
    return false;
  }
  if (!run(J, Original, Result))
    return true;
  if (!attempt([&] {
        Error = Textures.copyElements(J, /*OnlyWritten=*/true);
        if (Error.empty())
          Error = Files.storeAfter(J);
      }))
    Error = outOfMemory();
  if (!Error.empty()) {
    abandon(J, Error);
    return true;
  }
  Buffers.giveBack(*J.On, J.Copies);
  Buffers.giveBack(*J.On, J.Textures);
  Records.finish(std::move(J.R));
  return true;
}

/// Makes the launch and waits for it. \returns false when the job ends here,
/// because the launch failed or others are kept instead; \p Result is the
/// launch's.
bool LaunchRecorder::run(RecordingJob &J, OriginalCall Original, int &Result) {
  EventTimer Timer;
  if (Recorder::timesLaunches() && Timer.create(*Driver))
    Timer.start(J.Stream);
  {
    // Calls that the original makes are part of the launch.
    StreamGate::Pass Inside(State.Calls, J.Stream, /*Closed=*/true);
    Result = Original();
  }
  Timer.stop(J.Stream);
  if (Result) {
    abandon(J, "the launch failed");
    return false;
  }
  CUresult E;
  if (!attempt([&] { E = Waits.after(*J.On, J.Stream, deadline()); })) {
    // The launch may still run.
    abandon(J, outOfMemory(), /*Keep=*/true);
    return false;
  }
  if (E) {
    // A launch that is not done may wait for the application's next call.
    bool IsLate = E == CUDA_ERROR_NOT_READY;
    std::string Why = IsLate ? tooLong("the launch") : outOfMemory();
    if (!IsLate) {
      attempt([&] { Why = "the launch failed: " + Driver->describe(E); });
      Devs.giveUp(*J.On);
    }
    abandon(J, Why, /*Keep=*/IsLate);
    return false;
  }
  if (Records.keeps(*J.R, Timer.nanoseconds().value_or(0)))
    return true;
  Buffers.giveBack(*J.On, J.Copies);
  Buffers.giveBack(*J.On, J.Textures);
  Records.discard(std::move(J.R));
  return false;
}

/// Copies the changed pages on the device, if there is room. \returns an empty
/// string, or what went wrong. May throw.
std::string LaunchRecorder::gather(RecordingJob &J) {
  uint64_t Bytes = 0;
  for (const DeviceWork::Piece &P : J.Changed)
    Bytes += alignCopy(P.Size);
  if (!Bytes)
    return "";
  CopyBuffers::Room R =
      Buffers.acquire(*J.On, Bytes + tableSize(J.Changed.size()), J.Gathered);
  if (R != CopyBuffers::Room::Found)
    return R == CopyBuffers::Room::None ? "" : CopyBuffers::explain(R);
  std::vector<MnemeCopyPart> Copies;
  CUdeviceptr To = J.Gathered.Address;
  for (DeviceWork::Piece &P : J.Changed) {
    Copies.push_back({To, P.From, P.Size});
    P.From = To;
    To += alignCopy(P.Size);
  }
  return J.On->Work->copy(Copies, To);
}
