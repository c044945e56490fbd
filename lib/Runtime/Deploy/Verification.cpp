//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "llvm/Mneme/Runtime/Scramble.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

using namespace mneme;

static constexpr uint64_t PageSize = 4096, ChunkSize = 4 << 20;

const char *mneme::describeVerdict(Verdict V) {
  static const char *const Texts[] = {
#define VERDICT(Id, Text) Text,
#include "Verdicts.def"
  };
  return Texts[size_t(V)];
}

std::string Difference::text() const {
  char Text[128];
  snprintf(Text, sizeof(Text),
           ", offset %" PRIu64 " of %" PRIu64
           " bytes: 0x%0*x instead of 0x%0*x",
           Offset, Size, int(2 * NumBytes), Tuned, int(2 * NumBytes), Own);
  return Buffer + Text;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::vector<ArgumentWord> mneme::wordsOf(PackageRange<MnemePackageArg> Args,
                                         const void *const *Values) {
  std::vector<ArgumentWord> Words;
  for (size_t I = 0; Values && I != Args.size(); ++I)
    for (uint32_t At = 0; At + sizeof(uint64_t) <= Args[I].Size;
         At += sizeof(uint64_t)) {
      uint64_t Word;
      memcpy(&Word, static_cast<const char *>(Values[I]) + At, sizeof(Word));
      Words.push_back({I, Word});
    }
  return Words;
}

MemoryRange *mneme::findRange(std::vector<MemoryRange> &Ranges,
                              uint64_t Address) {
  for (MemoryRange &R : Ranges)
    if (Address - R.Address < R.Size)
      return &R;
  return nullptr;
}

void mneme::nameRanges(std::vector<MemoryRange> &Ranges,
                       const std::vector<ArgumentWord> &Words) {
  for (const ArgumentWord &W : Words)
    if (MemoryRange *R = findRange(Ranges, W.Value); R && R->Name.empty())
      R->Name = "argument " + std::to_string(W.Arg);
  for (MemoryRange &R : Ranges)
    if (R.Name.empty()) {
      char Text[48];
      snprintf(Text, sizeof(Text), "memory at %#" PRIx64, R.Address);
      R.Name = Text;
    }
}

/// Throws if the copies take more memory than they may.
void LaunchComparison::use(uint64_t Bytes) {
  if (Bytes > Limit - Used)
    throw std::bad_alloc();
  Used += Bytes;
}

/// Copies the memory before the launch. May throw.
bool LaunchComparison::store() {
  for (const MemoryRange &R : Ranges)
    use(R.Size);
  use(ChunkSize);
  Chunk.reset(new char[ChunkSize]);
  for (const MemoryRange &R : Ranges) {
    Before.emplace_back(new char[R.Size]);
    if (!Memory.read(Before.back().get(), R.Address, R.Size))
      return false;
  }
  return true;
}

/// Copies the pages that have changed. May throw.
bool LaunchComparison::keep(Changes &C) {
  for (size_t I = 0; I != Ranges.size(); ++I) {
    const MemoryRange &R = Ranges[I];
    for (uint64_t Begin = 0; Begin < R.Size; Begin += ChunkSize) {
      uint64_t Size = std::min(ChunkSize, R.Size - Begin);
      if (!Memory.read(Chunk.get(), R.Address + Begin, Size))
        return false;
      for (uint64_t At = 0; At < Size; At += PageSize) {
        uint64_t N = std::min(PageSize, Size - At);
        const char *Now = Chunk.get() + At;
        if (!memcmp(Now, Before[I].get() + Begin + At, N))
          continue;
        use(N);
        C.Pages.push_back({I, Begin + At, C.Bytes.size()});
        C.Bytes.insert(C.Bytes.end(), Now, Now + N);
      }
    }
  }
  return true;
}

bool LaunchComparison::restore(const Changes *Changed) const {
  bool Ok = true;
  auto Write = [&](size_t Range, uint64_t Offset, uint64_t Size) {
    Ok &= Memory.write(Ranges[Range].Address + Offset,
                       Before[Range].get() + Offset, Size);
  };
  if (!Changed) {
    for (size_t I = 0; I != Ranges.size(); ++I)
      Write(I, 0, Ranges[I].Size);
    return Ok;
  }
  const std::vector<Page> &Pages = Changed->Pages;
  for (size_t I = 0; I != Pages.size();) {
    // Neighbours in one call.
    const Page &First = Pages[I];
    uint64_t Size = 0;
    for (; I != Pages.size() && Pages[I].Range == First.Range &&
           Pages[I].Offset == First.Offset + Size;
         ++I)
      Size += pageSize(Pages[I]);
    Write(First.Range, First.Offset, Size);
  }
  return Ok;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

uint64_t LaunchComparison::pageSize(const Page &P) const {
  return std::min(PageSize, Ranges[P.Range].Size - P.Offset);
}

const char *LaunchComparison::contents(const Changes &C, const Page &P) const {
  auto IsBefore = [](const Page &A, const Page &B) {
    return A.Range != B.Range ? A.Range < B.Range : A.Offset < B.Offset;
  };
  auto I = std::lower_bound(C.Pages.begin(), C.Pages.end(), P, IsBefore);
  return I != C.Pages.end() && !IsBefore(P, *I)
             ? C.Bytes.data() + I->Data
             : Before[P.Range].get() + P.Offset;
}

/// Calls \p Visit(page, contents in A, contents in B).
template <typename Fn>
void LaunchComparison::forEachDifference(const Changes &A, const Changes &B,
                                         Fn Visit) const {
  for (const Changes *C : {&A, &B})
    for (const Page &P : C->Pages) {
      const char *InA = contents(A, P), *InB = contents(B, P);
      if (memcmp(InA, InB, pageSize(P)))
        Visit(P, InA, InB);
    }
}

bool LaunchComparison::differs(const Changes &A, const Changes &B) const {
  bool Any = false;
  forEachDifference(
      A, B, [&](const Page &, const char *, const char *) { Any = true; });
  return Any;
}

/// Finds the first difference in a range where the application's own kernel
/// gives the same each time. May throw.
bool LaunchComparison::explain(Difference &D) const {
  std::vector<bool> Varies(Ranges.size());
  forEachDifference(Own, Again, [&](const Page &P, const char *, const char *) {
    Varies[P.Range] = true;
  });
  const Page *First = nullptr;
  forEachDifference(
      Tuned, Own, [&](const Page &P, const char *InTuned, const char *InOwn) {
        if (Varies[P.Range] ||
            (First && (P.Range != First->Range ? P.Range > First->Range
                                               : P.Offset >= First->Offset)))
          return;
        First = &P;
        uint64_t Size = pageSize(P), At = 0;
        while (InTuned[At] == InOwn[At])
          ++At;
        At &= ~uint64_t(3);
        D.Buffer = Ranges[P.Range].Name;
        D.Size = Ranges[P.Range].Size;
        D.Offset = P.Offset + At;
        D.NumBytes = uint32_t(std::min<uint64_t>(4, Size - At));
        D.Own = D.Tuned = 0;
        memcpy(&D.Tuned, InTuned + At, D.NumBytes);
        memcpy(&D.Own, InOwn + At, D.NumBytes);
      });
  return First;
}

//===----------------------------------------------------------------------===//
// Other threads
//===----------------------------------------------------------------------===//

void DeviceGate::enter() {
  Uncancelled Here;
  std::unique_lock<std::mutex> Guard(Lock);
  Changed.wait(Guard, [&] { return !IsClosed; });
  ++Inside;
}

void DeviceGate::leave() {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!--Inside)
    Changed.notify_all();
}

bool DeviceGate::close() {
  auto Deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::unique_lock<std::mutex> Guard(Lock);
  // New calls wait, so that those inside become fewer.
  if (!Changed.wait_until(Guard, Deadline, [&] { return !IsClosed; }))
    return false;
  IsClosed = true;
  if (Changed.wait_until(Guard, Deadline, [&] { return !Inside; }))
    return true;
  IsClosed = false;
  Changed.notify_all();
  return false;
}

void DeviceGate::open() {
  std::lock_guard<std::mutex> Guard(Lock);
  IsClosed = false;
  Changed.notify_all();
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

bool VerifyPolicy::picks() const {
  if (!(Rate > 0))
    return false;
  static std::atomic<uint64_t> Count{0};
  uint64_t X = llvm::mneme::scramble(
      Count.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed));
  return double(X >> 11) * 0x1p-53 < Rate;
}

uint64_t VerifyPolicy::limit() const {
  if (Limit)
    return Limit;
  uint64_t KiB = 0;
  if (FILE *F = fopen("/proc/meminfo", "re")) {
    char Line[128];
    while (fgets(Line, sizeof(Line), F) &&
           sscanf(Line, "MemAvailable: %" SCNu64, &KiB) != 1)
      ;
    fclose(F);
  }
  return KiB << 9;
}
