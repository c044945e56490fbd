//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Launch/Profile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Runtime/TimeBuckets.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <numeric>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void ProfiledLaunches::add(const ProfiledLaunches &Other) {
  for (auto [Bucket, N] : Other.Buckets)
    Buckets[Bucket] += N;
  Nanoseconds += Other.Nanoseconds;
  Registers = Other.Registers;
  StaticShared = Other.StaticShared;
  Local = Other.Local;
}

void ProfiledLaunches::summarize() {
  Launches = 0;
  for (auto [Bucket, N] : Buckets)
    Launches += N;
  uint64_t Before = 0;
  auto At = Buckets.begin();
  for (unsigned I = 0; I != std::size(Quantiles) && Launches; ++I) {
    // The first launch that as many are not slower than.
    uint64_t Rank = (Launches - 1) * I / (std::size(Quantiles) - 1);
    while (Before + At->second <= Rank)
      Before += At++->second;
    Quantiles[I] = ::mneme::middleOfTimeBucket(At->first);
  }
}

template <typename RangeT, typename Fn>
static uint64_t sum(const RangeT &Range, Fn Of) {
  return std::accumulate(
      Range.begin(), Range.end(), uint64_t(0),
      [&](uint64_t Sum, const auto &Element) { return Sum + Of(Element); });
}

uint64_t ProfiledKernel::launches() const {
  return sum(Shapes, [](const auto &S) { return S.second.Launches; });
}

uint64_t ProfiledKernel::nanoseconds() const {
  return sum(Shapes, [](const auto &S) { return S.second.Nanoseconds; });
}

uint64_t Profile::nanoseconds() const {
  return sum(Kernels, [](const auto &K) { return K.nanoseconds(); });
}

void Profile::add(const Profile &Other) {
  if (Arch.empty())
    Arch = Other.Arch;
  for (const ProfiledKernel &K : Other.Kernels) {
    auto Own = find_if(Kernels, [&](const ProfiledKernel &Known) {
      return Known.Symbol == K.Symbol;
    });
    if (Own == Kernels.end()) {
      Kernels.push_back(K);
      continue;
    }
    for (const auto &[Shape, New] : K.Shapes)
      Own->Shapes[Shape].add(New);
  }
  Copies += Other.Copies;
  CopyNanoseconds += Other.CopyNanoseconds;
  Lost += Other.Lost;
}

void Profile::finish() {
  for (ProfiledKernel &K : Kernels)
    for (auto &[Shape, L] : K.Shapes)
      L.summarize();
  stable_sort(Kernels, [](const ProfiledKernel &A, const ProfiledKernel &B) {
    return A.nanoseconds() > B.nanoseconds();
  });
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

std::string Profile::cover(double Part, uint64_t MaxShapes,
                           function_ref<bool(StringRef Symbol)> Selects) const {
  std::vector<const ProfiledKernel *> Selected;
  for (const ProfiledKernel &K : Kernels)
    if (Selects(K.Symbol))
      Selected.push_back(&K);
  double Wanted =
      Part * sum(Selected, [](const auto *K) { return K->nanoseconds(); });
  std::string Text;
  raw_string_ostream OS(Text);
  uint64_t Covered = 0;
  for (const ProfiledKernel *K : Selected) {
    if (Covered >= Wanted)
      break;
    std::vector<std::pair<uint64_t, ProfiledShape>> Shapes;
    for (const auto &[Shape, L] : K->Shapes)
      if (!Shape.isRest())
        Shapes.emplace_back(L.Nanoseconds, Shape);
    stable_sort(Shapes,
                [](const auto &A, const auto &B) { return A.first > B.first; });
    if (MaxShapes && Shapes.size() > MaxShapes)
      Shapes.resize(MaxShapes);
    for (const auto &[Time, S] : Shapes)
      OS << formatv("{0} {1} {2} {3} {4} {5} {6} {7}\n", S.Grid.X, S.Grid.Y,
                    S.Grid.Z, S.Block.X, S.Block.Y, S.Block.Z, S.DynamicShared,
                    K->Symbol);
    Covered += K->nanoseconds();
  }
  return Text;
}

StringMap<double> Profile::timesOf(const RecordedKernel &K) const {
  StringMap<double> Times;
  auto P = find_if(Kernels, [&](const ProfiledKernel &P) {
    return P.Symbol == K.KernelName;
  });
  if (P == Kernels.end())
    return Times;
  auto GetShape = [](const RecordedInstance &I) {
    return ProfiledShape{I.Grid, I.Block, I.SharedMem};
  };
  std::map<ProfiledShape, double> Occurrences;
  for (const RecordedInstance &I : K.Instances)
    Occurrences[GetShape(I)] += I.Occurrences;
  double Sum = 0;
  for (const RecordedInstance &I : K.Instances) {
    auto L = P->Shapes.find(GetShape(I));
    double Time = L == P->Shapes.end() ? 0 : L->second.Nanoseconds;
    // A launch of a shape that the profile does not tell apart has some weight.
    Sum += Times[I.DynamicHash] =
        std::max(1.0, Time * I.Occurrences / Occurrences[GetShape(I)]);
  }
  for (auto &T : Times)
    T.second *= P->nanoseconds() / Sum;
  return Times;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static json::Value toArray(const Dim3 &D) { return json::Array{D.X, D.Y, D.Z}; }

json::Value llvm::mneme::toJSON(const Profile &P) {
  double Total = P.nanoseconds();
  auto Share = [&](uint64_t Nanoseconds) {
    return Total ? Nanoseconds / Total : 0;
  };
  json::Array Kernels;
  for (const ProfiledKernel &K : P.Kernels) {
    json::Array Shapes;
    for (const auto &[Shape, L] : K.Shapes)
      Shapes.push_back(json::Object{{"grid", toArray(Shape.Grid)},
                                    {"block", toArray(Shape.Block)},
                                    {"dynamic_shared", Shape.DynamicShared},
                                    {"launches", L.Launches},
                                    {"time_ns", L.Nanoseconds},
                                    {"share", Share(L.Nanoseconds)},
                                    {"quantiles_ns", json::Array(L.Quantiles)},
                                    {"registers", L.Registers},
                                    {"static_shared", L.StaticShared},
                                    {"local", L.Local}});
    Kernels.push_back(
        json::Object{{"kernel", json::fixUTF8(demangleSymbol(K.Symbol))},
                     {"symbol", json::fixUTF8(K.Symbol)},
                     {"launches", K.launches()},
                     {"time_ns", K.nanoseconds()},
                     {"share", Share(K.nanoseconds())},
                     {"shapes", std::move(Shapes)}});
  }
  return json::Object{
      {"format", "mneme-profile"}, {"version", 1},
      {"arch", orNull(P.Arch)},    {"time_ns", P.nanoseconds()},
      {"copies", P.Copies},        {"copies_ns", P.CopyNanoseconds},
      {"lost_launches", P.Lost},   {"kernels", std::move(Kernels)}};
}

// Found by argument-dependent lookup.
namespace llvm::mneme {
static bool fromJSON(const json::Value &V, Dim3 &D, json::Path P) {
  std::vector<uint32_t> Numbers;
  if (!json::fromJSON(V, Numbers, P))
    return false;
  if (Numbers.size() != 3) {
    P.report("expected three numbers");
    return false;
  }
  D = {Numbers[0], Numbers[1], Numbers[2]};
  return true;
}

using ProfiledRow = std::pair<ProfiledShape, ProfiledLaunches>;

static bool fromJSON(const json::Value &V, ProfiledRow &R, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("grid", R.first.Grid) && O.map("block", R.first.Block) &&
         O.map("dynamic_shared", R.first.DynamicShared) &&
         O.map("launches", R.second.Launches) &&
         O.map("time_ns", R.second.Nanoseconds);
}

static bool fromJSON(const json::Value &V, ProfiledKernel &K, json::Path P) {
  json::ObjectMapper O(V, P);
  std::vector<ProfiledRow> Shapes;
  if (!O || !O.map("symbol", K.Symbol) || !O.map("shapes", Shapes))
    return false;
  K.Shapes.insert(Shapes.begin(), Shapes.end());
  return true;
}
} // namespace llvm::mneme

Expected<Profile> llvm::mneme::readProfile(StringRef File, std::string *Text) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readTextFile(File);
  if (!Buffer)
    return Buffer.takeError();
  Expected<json::Value> V = parseJSON((*Buffer)->getBuffer());
  if (!V)
    return createFileError(File, V.takeError());
  json::Path::Root Root("profile");
  json::ObjectMapper O(*V, Root);
  std::string Format;
  int64_t Version = 0;
  Profile P;
  if (!O || !O.map("format", Format) || !O.map("version", Version) ||
      !O.map("kernels", P.Kernels))
    return createFileError(File, Root.getError());
  if (Format != "mneme-profile" || Version != 1)
    return createFileError(
        File, createStringError("is not a profile of this version: write it "
                                "with llvm-mneme-record --profile"));
  if (Text)
    *Text = (*Buffer)->getBuffer().str();
  return P;
}
