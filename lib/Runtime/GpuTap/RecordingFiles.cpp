//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingFiles.h"
#include "ForeignMemory.h"
#include "Reachability.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

using namespace mneme;

namespace {
/// Looks for values that may be pointers to some ranges of memory.
class PointerScan {
public:
  /// \p Ranges are sorted, and outlive this.
  template <typename RangeT>
  explicit PointerScan(const std::vector<RangeT> &Ranges) {
    for (const RangeT &R : Ranges)
      Starts.push_back({R.Begin, R.End});
    if (!Starts.empty()) {
      Begin = Starts.front().first;
      Span = Starts.back().second - Begin;
    }
  }

  /// \p Address: of the bytes, in the recording.
  void scan(const char *Bytes, uint64_t Address, uint64_t Size) {
    for (uint64_t At = -Address & 7; Span && At + 8 <= Size; At += 8) {
      uint64_t V;
      memcpy(&V, Bytes + At, 8);
      if (V - Begin < Span)
        look(V);
    }
  }

  /// The numbers of the ranges that a value points to.
  const std::set<size_t> &found() const { return Found; }

private:
  void look(uint64_t V) {
    auto I = std::upper_bound(Starts.begin(), Starts.end(),
                              std::make_pair(V, UINT64_MAX));
    if (I != Starts.begin() && V < std::prev(I)->second)
      Found.insert(std::prev(I) - Starts.begin());
  }

  std::vector<std::pair<uint64_t, uint64_t>> Starts;
  uint64_t Begin = 0, Span = 0;
  std::set<size_t> Found;
};
} // namespace

void RecordingFiles::addPointedTo(std::set<uint64_t> &Addresses) {
  std::lock_guard<std::mutex> Guard(Lock);
  Addresses.insert(PointedTo.begin(), PointedTo.end());
}

/// Removes the pieces in memory that is still tentative.
template <typename PieceT>
static void removeTentative(const RecordingJob &J,
                            std::vector<PieceT> &Pieces) {
  Pieces.erase(
      std::remove_if(Pieces.begin(), Pieces.end(),
                     [&](const PieceT &P) { return J.isTentative(P.Address); }),
      Pieces.end());
}

/// Removes memory from a job, and from \p Pages, which are sorted, that neither
/// arguments nor variables lead to. Afterwards, no part is tentative.
std::string RecordingFiles::leaveOutUnreached(
    RecordingJob &J, std::vector<DeviceWork::Piece> &Pages, DeviceWork &W) {
  size_t NumRegions = J.R->Regions.size();
  for (const RecordingJob::ForeignRange &R : J.Unrecorded)
    if (R.IsTentative)
      J.R->Regions.push_back({R.Begin, R.End - R.Begin, R.Kind, ""});
  Reachability Reached(J.R->Regions);
  for (uint64_t V : J.Pointers)
    Reached.addRoot(V);
  auto IsBefore = [](const DeviceWork::Piece &P, uint64_t Address) {
    return P.Address < Address;
  };
  while (const Recording::Region *Next = Reached.next()) {
    auto PagesFrom = [&](uint64_t Address) {
      return std::lower_bound(Pages.begin(), Pages.end(), Address, IsBefore);
    };
    std::string Error = W.bring(
        {PagesFrom(Next->Address), PagesFrom(Next->Address + Next->Size)},
        [&](const char *Bytes, uint64_t Address, uint64_t Size) {
          Reached.scan(Bytes, Address, Size);
        },
        [&] { Clock.noteOnHost(false); });
    if (!Error.empty())
      return Error;
  }
  J.R->Omitted = Reached.filter(J.R->Regions, NumRegions);
  std::map<uint64_t, uint64_t> Kept;
  for (const Recording::Region &R : J.R->Regions)
    Kept[R.Address] = R.Size;
  for (RecordingJob::ForeignRange &R : J.Unrecorded)
    if (R.IsTentative && Kept.count(R.Begin)) {
      R.IsTentative = false;
      R.IsRecorded = true;
    }
  // Others may change it at any time.
  removeTentative(J, J.Changed);
  auto Filter = [&](auto &Pieces) {
    Pieces.erase(std::remove_if(Pieces.begin(), Pieces.end(),
                                [&](const auto &P) {
                                  auto I = Kept.upper_bound(P.Address);
                                  return I == Kept.begin() ||
                                         P.Address - std::prev(I)->first >=
                                             std::prev(I)->second;
                                }),
                 Pieces.end());
  };
  Filter(Pages);
  size_t NumChanged = J.Changed.size();
  Filter(J.Changed);
  if (J.Changed.size() != NumChanged && State.WaitsForAll)
    return "it changes memory that --reachable leaves out";
  Filter(J.Parts);
  return "";
}

/// Adds the tentative memory among the ranges \p Found to the recording.
/// \returns whether there is any. May throw.
bool RecordingFiles::addPointedTo(RecordingJob &J,
                                  const std::set<size_t> &Found) {
  bool Any = false;
  for (size_t I : Found) {
    RecordingJob::ForeignRange &R = J.Unrecorded[I];
    if (!R.IsTentative)
      continue;
    R.IsTentative = false;
    R.IsRecorded = Any = true;
    Recorder::addRegion(*J.R, {R.Begin, R.End - R.Begin, R.Kind, ""});
    std::lock_guard<std::mutex> Guard(Lock);
    PointedTo.insert(R.Begin);
  }
  return Any;
}

/// Stores the memory from before the launch, unless it points to memory that is
/// not recorded.
std::string RecordingFiles::storePrologue(RecordingJob &J,
                                          std::vector<DeviceWork::Piece> &Pages,
                                          DeviceWork &W) {
  if (Selection::get().reachableOnly()) {
    std::string Error = leaveOutUnreached(J, Pages, W);
    if (!Error.empty())
      return Error;
  }
  Recorder::describeMemory(*J.R);
  SnapshotFile &File = J.R->Prologue;
  PointerScan Scan(J.Unrecorded);
  std::string Error;
  // Each round adds the memory that the one before it has found.
  do {
    std::vector<DeviceWork::Piece> Now, Later;
    for (const DeviceWork::Piece &P : Pages)
      (J.isTentative(P.Address) ? Later : Now).push_back(P);
    Pages = std::move(Later);
    Error = W.bring(
        Now,
        [&](const char *Bytes, uint64_t Address, uint64_t Size) {
          Clock.noteOnHost(true);
          Scan.scan(Bytes, Address, Size);
          File.data(Bytes, Address, Size);
        },
        [&] {
          File.drain();
          Clock.noteOnHost(false);
        });
    if (!Error.empty())
      return Error;
  } while (addPointedTo(J, Scan.found()));
  removeTentative(J, J.Changed);
  removeTentative(J, J.Parts);
  std::lock_guard<std::mutex> Guard(Lock);
  for (size_t I : Scan.found()) {
    const RecordingJob::ForeignRange &Range = J.Unrecorded[I];
    if (Range.IsRecorded)
      continue;
    if (Range.Kind != MNEME_REGION_PINNED) {
      J.Again = false;
      switch (Range.Kind) {
      case RecordingJob::ForeignRange::OtherDevice:
        return "memory points to memory of another device";
      case ForeignMemory::OtherProcess:
        return "memory points to memory of another process";
      default:
        return "memory points to memory that cannot be recorded";
      }
    }
    // Known already if an earlier job has found it after this launch was
    // located.
    PointedTo.insert(Range.Begin);
    J.Again = true;
    Error = "memory points to pinned memory, which is recorded from now on";
  }
  return Error;
}

std::string RecordingFiles::store(RecordingJob &J, DeviceWork &W) {
  std::vector<DeviceWork::Piece> Pages;
  // The application's threads do not wait for the disk.
  if (WriterClock::isWriter())
    J.R->Pages.writeBack();
  std::string Error = J.findPages(Pages, W);
  if (Error.empty())
    Error = storePrologue(J, Pages, W);
  Clock.noteOnHost(true);
  J.R->Prologue.close();
  Clock.noteOnHost(false);
  Buffers.giveBack(*J.On, J.Copies);
  if (!Error.empty())
    return Error;
  Clock.noteOnHost(true);
  Recorder::openEpilogue(*J.R);
  Clock.noteOnHost(false);
  SnapshotFile &File = J.R->Epilogue;
  return W.bring(
      J.Changed,
      [&](const char *Bytes, uint64_t Address, uint64_t Size) {
        Clock.noteOnHost(true);
        File.data(Bytes, Address, Size);
      },
      [&] {
        File.drain();
        Clock.noteOnHost(false);
      });
}

std::string RecordingFiles::storeBefore(RecordingJob &J) {
  DeviceWork &Work = *J.On->Work;
  std::vector<DeviceWork::Piece> Pages;
  std::string Error = J.findPages(Pages, Work);
  if (Error.empty())
    Error = storePrologue(J, Pages, Work);
  J.R->Prologue.close();
  return Error.empty() ? J.R->Prologue.error() : Error;
}

std::string RecordingFiles::storeAfter(RecordingJob &J) {
  SnapshotFile &Before = J.R->Prologue, &After = J.R->Epilogue;
  Recorder::openEpilogue(*J.R);
  std::vector<DeviceWork::Piece> Pages;
  for (const RecordingJob::Part &P : J.Parts)
    Pages.push_back({P.Address, P.Live, P.Size});
  return J.On->Work->bring(
      Pages,
      [&](const char *Bytes, uint64_t Address, uint64_t Size) {
        forEachRun(
            Size,
            [&](uint64_t At, uint64_t N) {
              return Before.differs(Bytes + At, Address + At, N);
            },
            [&](uint64_t At, uint64_t N) {
              After.data(Bytes + At, Address + At, N);
            });
      },
      [&] { After.drain(); });
}
