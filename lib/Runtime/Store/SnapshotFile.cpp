//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/SnapshotFile.h"
#include "FileSize.h"
#include "Shortage.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <unistd.h>

using namespace mneme;

static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
// Bytes of memory that are compressed before they are written.
static constexpr uint64_t BatchBytes = 64u << 20;
// Maximum number of pages in a run, whose count has 32 bits.
static constexpr uint32_t MaxRun = 1u << 31;

SnapshotFile::~SnapshotFile() {
  if (IsCreated)
    unlink(Path.c_str());
}

void SnapshotFile::fail(const char *What) {
  if (Error.empty())
    Error = describeFailure(What, Path.substr(0, Path.rfind('/')));
}

/// Calls \p Work unless an earlier step has failed.
template <typename Fn> void SnapshotFile::attempt(Fn Work) {
  if (Error.empty() && !mneme::attempt(Work))
    Error = outOfMemory();
}

void SnapshotFile::open(std::string ThePath, MnemeSnapshotHeader Header,
                        PageFile &ThePages) {
  Path = std::move(ThePath);
  Pages = &ThePages;
  memcpy(Header.Magic, MNEME_SNAPSHOT_MAGIC, sizeof(Header.Magic));
  Header.Major = MNEME_SNAPSHOT_MAJOR;
  Header.Minor = MNEME_SNAPSHOT_MINOR;
  Header.HeaderDigest =
      XXH3_64bits(&Header, offsetof(MnemeSnapshotHeader, HeaderDigest));
  attempt([&] {
    Bytes.assign(reinterpret_cast<const char *>(&Header), sizeof(Header));
  });
}

void SnapshotFile::record(uint32_t Type, const void *A, size_t SizeA,
                          const void *B, size_t SizeB, uint32_t Flags) {
  XXH3_state_t State;
  XXH3_64bits_reset(&State);
  XXH3_64bits_update(&State, A, SizeA);
  if (SizeB)
    XXH3_64bits_update(&State, B, SizeB);
  MnemeRecordHeader H = {Type, Flags, SizeA + SizeB,
                         XXH3_64bits_digest(&State)};
  attempt([&] {
    Bytes.append(reinterpret_cast<const char *>(&H), sizeof(H));
    Bytes.append(static_cast<const char *>(A), SizeA);
    if (SizeB)
      Bytes.append(static_cast<const char *>(B), SizeB);
    Bytes.append(-H.Size & 7, '\0');
    if (Type != MNEME_RECORD_END)
      ++End.NumRecords;
  });
}

void SnapshotFile::region(const MnemeRegionRecord &R, const std::string &Name) {
  record(MNEME_RECORD_REGION, &R, sizeof(R), Name.data(), Name.size());
  attempt([&] { RegionStarts.insert(R.Address); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void SnapshotFile::data(const void *From, uint64_t Address, uint64_t Size) {
  attempt([&] { addData(static_cast<const char *>(From), Address, Size); });
}

void SnapshotFile::addData(const char *P, uint64_t Address, uint64_t Size) {
  RawBytes += Size;
  while (Size && Error.empty()) {
    uint64_t N = std::min(Size, BatchBytes - WaitingBytes);
    Waiting.push_back({P, N});
    WaitingAt.push_back(Address);
    WaitingBytes += (N + Page - 1) & -Page;
    P += N;
    Address += N;
    Size -= N;
    if (WaitingBytes >= BatchBytes)
      drain();
  }
}

/// Appends \p R, or merges it with the last run if it continues that run in the
/// same region.
void SnapshotFile::append(std::vector<Run> &Runs, const Run &R) const {
  if (!Runs.empty()) {
    Run &L = Runs.back();
    bool IsNext = L.Address + L.NumPages * Page == R.Address &&
                  L.File == R.File && L.NumPages <= MaxRun - R.NumPages &&
                  !RegionStarts.count(R.Address);
    // A run of a single page fits either step.
    for (uint32_t Step : {1u, 0u})
      if (IsNext && (L.NumPages == 1 || L.Step == Step) &&
          (R.NumPages == 1 || R.Step == Step) &&
          L.FirstPage + Step * uint64_t(L.NumPages) == R.FirstPage) {
        L.NumPages += R.NumPages;
        L.Step = Step;
        return;
      }
  }
  Runs.push_back(R);
}

void SnapshotFile::drain() {
  attempt([&] { addWaiting(); });
  Waiting.clear();
  WaitingAt.clear();
  WaitingBytes = 0;
}

void SnapshotFile::addWaiting() {
  size_t First = Digests.size();
  std::vector<PageRef> Refs;
  if (Error.empty() && !Waiting.empty()) {
    Pages->add(Waiting, Digests, Refs);
    Error = Pages->error();
  }
  const PageRef *Ref = Refs.data();
  for (size_t I = 0; I != Waiting.size() && Error.empty(); ++I) {
    Stretches.push_back({WaitingAt[I], Waiting[I].Size, First});
    for (uint64_t At = 0; At < Waiting[I].Size; At += Page, ++Ref, ++First)
      append(Runs, {WaitingAt[I] + At, 1, Ref->File, Ref->Page, 1});
  }
}

void SnapshotFile::close() {
  drain();
  auto ByAddress = [](const auto &A, const auto &B) {
    return A.Address < B.Address;
  };
  std::sort(Stretches.begin(), Stretches.end(), ByAddress);
  std::sort(Runs.begin(), Runs.end(), ByAddress);
}

bool SnapshotFile::differs(const char *Now, uint64_t Address, uint64_t Size) {
  auto Holds = [&](size_t I) {
    return I < Stretches.size() && Stretches[I].holds(Address);
  };
  if (!Holds(Last)) {
    size_t I = std::upper_bound(
                   Stretches.begin(), Stretches.end(), Address,
                   [](uint64_t A, const Stretch &S) { return A < S.Address; }) -
               Stretches.begin() - 1;
    if (!Holds(I))
      return !isZero(Now, Size);
    Last = I;
  }
  const Stretch &S = Stretches[Last];
  return !(Digests[S.First + (Address - S.Address) / Page] ==
           digestOfPage(Now, Size));
}

/// Returns the runs of this file, and the parts of \p Before's runs that they
/// do not cover.
std::vector<MnemePageRun>
SnapshotFile::merge(const SnapshotFile &Before) const {
  std::vector<Run> All;
  size_t Next = 0;
  for (const Run &R : Before.Runs) {
    uint64_t At = R.Address, End = R.Address + R.NumPages * Page;
    while (At != End) {
      while (Next != Runs.size() && Runs[Next].Address <= At)
        append(All, Runs[Next++]);
      uint64_t Covered =
          Next ? Runs[Next - 1].Address + Runs[Next - 1].NumPages * Page : 0;
      // If the end is not at a page boundary of this run, it is the padded last
      // page of another region.
      if (Covered > At && (Covered - At) % Page == 0) {
        At = std::min(Covered, End);
        continue;
      }
      uint64_t Stop =
          Next == Runs.size() ? End : std::min(End, Runs[Next].Address);
      uint32_t Skipped = (At - R.Address) / Page;
      uint32_t NumPages = (Stop - At + Page - 1) / Page;
      append(All,
             {At, NumPages, R.File, R.FirstPage + R.Step * Skipped, R.Step});
      At += NumPages * Page;
    }
  }
  All.insert(All.end(), Runs.begin() + Next, Runs.end());
  return All;
}

size_t SnapshotFile::numRunsCompleted(const SnapshotFile &Before) const {
  return merge(Before).size();
}

void SnapshotFile::complete(const SnapshotFile &Before) {
  attempt([&] { Runs = merge(Before); });
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

void SnapshotFile::writeRuns() {
  if (Runs.empty())
    return;
  std::map<uint32_t, uint32_t> Places;
  for (Run &R : Runs) {
    auto New = Places.insert({R.File, uint32_t(Ids.size())});
    if (New.second)
      Ids.push_back(R.File == OwnFile ? Pages->id()
                                      : Pages->known().idOf(R.File));
    R.File = New.first->second;
    End.NumPages += R.NumPages;
  }
  record(MNEME_RECORD_PAGE_FILES, Ids.data(), Ids.size() * sizeof(Ids[0]));
  record(MNEME_RECORD_PAGES, Runs.data(), Runs.size() * sizeof(Runs[0]));
}

void SnapshotFile::write() {
  attempt([&] { writeFile(); });
}

void SnapshotFile::writeFile() {
  if (Error.empty())
    Error = Pages->error();
  if (!Error.empty())
    return;
  writeRuns();
  MnemeEndRecord E = End;
  record(MNEME_RECORD_END, &E, sizeof(E));
  if (!Error.empty())
    return;
  int Fd = createNew(Path);
  if (Fd < 0)
    return fail("create");
  IsCreated = true;
  bool IsWritten = writeAll(Fd, Bytes.data(), Bytes.size());
  int Problem = errno;
  // Some file systems report a full disk only here.
  if (::close(Fd) && errno != EINTR && IsWritten) {
    IsWritten = false;
    Problem = errno;
  }
  errno = Problem;
  if (!IsWritten)
    fail("write");
}
