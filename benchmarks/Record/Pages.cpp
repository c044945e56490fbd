//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the rates of hashing, finding, compressing and writing pages,
// compared with zstd alone on the same data with the same level and threads,
// and with writing alone.
//
// The cases take turns and repeat; the fastest run of each counts. Processor
// time is that of all threads and independent of other load on the machine.
// Prints one JSON object.
//
//===----------------------------------------------------------------------===//

#include "Threads.h"
#include "llvm/Mneme/Runtime/PageFile.h"
#include "llvm/Mneme/Runtime/SnapshotFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <random>
#include <unistd.h>
#include <vector>
#include <zstd.h>

using namespace llvm;

static cl::opt<unsigned> MiB("mib", cl::desc("Memory of each kind of data"),
                             cl::init(512));
static cl::opt<unsigned> Rounds("rounds", cl::desc("Runs of each case"),
                                cl::init(5));
static cl::opt<std::string>
    Folder("folder", cl::desc("Where files are written"), cl::init("."));

static volatile uint64_t Sum;   // Prevents dead-code elimination.
static constexpr int Level = 1; // As in PageFile.cpp.
static constexpr size_t FrameBytes = MNEME_FRAME_PAGES * MNEME_SNAPSHOT_PAGE;

namespace {
/// The times of the fastest run.
struct Time {
  double Wall = HUGE_VAL, Processor = HUGE_VAL; ///< Seconds.

  void run(function_ref<void()> Work) {
    double Wall0 = now(CLOCK_MONOTONIC);
    double Processor0 = now(CLOCK_PROCESS_CPUTIME_ID);
    Work();
    Wall = std::min(Wall, now(CLOCK_MONOTONIC) - Wall0);
    Processor = std::min(Processor, now(CLOCK_PROCESS_CPUTIME_ID) - Processor0);
  }

private:
  static double now(clockid_t Clock) {
    timespec T;
    clock_gettime(Clock, &T);
    return T.tv_sec + T.tv_nsec * 1e-9;
  }
};
} // namespace

[[noreturn]] static void fail(const Twine &Why) {
  errs() << "error: " << Why << '\n';
  exit(1);
}

namespace {
/// Compresses a buffer's frames on all cores, and discards the result.
class ZstdAlone {
public:
  explicit ZstdAlone(ArrayRef<char> Bytes) : Bytes(Bytes) {
    mneme::Crew Helpers(SIZE_MAX, work, this);
    work(this);
  }
  size_t packed() const { return Packed; }

private:
  static void *work(void *Self) {
    auto *This = static_cast<ZstdAlone *>(Self);
    ZSTD_CCtx *Context = ZSTD_createCCtx();
    std::vector<char> Out(ZSTD_compressBound(FrameBytes));
    size_t At;
    while ((At = This->Next.fetch_add(FrameBytes)) < This->Bytes.size()) {
      ArrayRef<char> Frame =
          This->Bytes.slice(At, std::min(FrameBytes, This->Bytes.size() - At));
      This->Packed += ZSTD_compressCCtx(Context, Out.data(), Out.size(),
                                        Frame.data(), Frame.size(), Level);
    }
    ZSTD_freeCCtx(Context);
    return nullptr;
  }

  ArrayRef<char> Bytes;
  std::atomic<size_t> Next{0}, Packed{0};
};

/// Stores memory as the recording of one launch does.
class Storing {
public:
  Storing(ArrayRef<char> Bytes, mneme::PageIndex &Known) {
    Pages.open(Folder, Known);
    mneme::SnapshotFile Prologue;
    Prologue.open(Folder + "/prologue", {}, Pages);
    Prologue.data(Bytes.data(), MNEME_ARENA_BASE, Bytes.size());
    Prologue.close();
    Pages.close();
    Prologue.write();
    for (const std::string &Problem : {Pages.error(), Prologue.error()})
      if (!Problem.empty())
        fail(Problem);
    Stored = Pages.storedBytes() + Prologue.storedBytes();
  }

  mneme::PageFile Pages;
  uint64_t Stored = 0;
};
} // namespace

static void writeAlone(ArrayRef<char> Bytes, size_t Size) {
  SmallString<128> Path(Folder);
  sys::path::append(Path, "plain");
  int FD = open(Path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (size_t At = 0; At < Size; At += FrameBytes)
    if (write(FD, Bytes.data() + At, std::min(FrameBytes, Size - At)) < 0)
      fail("cannot write '" + Path + "'");
  close(FD);
  sys::fs::remove(Path);
}

static std::vector<char> makeData(StringRef Kind) {
  std::vector<char> Bytes(size_t(MiB) << 20);
  std::mt19937_64 Random(1);
  if (Kind == "noise") {
    for (size_t I = 0; I != Bytes.size(); I += 8) {
      uint64_t V = Random();
      memcpy(&Bytes[I], &V, 8);
    }
  } else if (Kind == "doubles") {
    // A smooth field with a few significant digits.
    for (size_t I = 0; I != Bytes.size(); I += 8) {
      double V = std::round(1e4 * std::sin(I * 1e-6)) * 1e-4;
      memcpy(&Bytes[I], &V, 8);
    }
  } else {
    // Indices with small steps, like those of a sparse matrix.
    uint32_t V = 0;
    for (size_t I = 0; I != Bytes.size(); I += 4) {
      V += Random() % 16;
      memcpy(&Bytes[I], &V, 4);
    }
  }
  return Bytes;
}

int main(int argc, char **argv) {
  InitLLVM X(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "rates of storing pages\n");
  json::Array Cases;
  for (StringRef Kind : {"noise", "doubles", "indices"}) {
    std::vector<char> Bytes = makeData(Kind);
    Time Hash, Zstd, Store, Again, Write;
    size_t Packed = 0;
    uint64_t Stored = 0, StoredAgain = 0;
    for (unsigned I = 0; I != Rounds; ++I) {
      Zstd.run([&] { Packed = ZstdAlone(Bytes).packed(); });
      mneme::PageIndex Known;
      std::unique_ptr<Storing> First;
      Store.run([&] { First = std::make_unique<Storing>(Bytes, Known); });
      Stored = First->Stored;
      Known.add(First->Pages.id(), First->Pages.digests());
      Again.run([&] { StoredAgain = Storing(Bytes, Known).Stored; });
      Write.run([&] { writeAlone(Bytes, Stored); });
      Hash.run([&] {
        for (size_t At = 0; At != Bytes.size(); At += MNEME_SNAPSHOT_PAGE)
          Sum = Sum + mneme::digestOfPage(&Bytes[At], MNEME_SNAPSHOT_PAGE).A;
      });
      sys::fs::remove(Folder + "/" + mneme::pageFileName(First->Pages.id()));
    }
    double GB = Bytes.size() * 1e-9;
    Cases.push_back(json::Object{
        {"data", Kind},
        {"raw_bytes", Bytes.size()},
        {"zstd_bytes", Packed},
        {"stored_bytes", Stored},
        {"stored_bytes_known", StoredAgain},
        {"hash_gb_per_s_one_core", GB / Hash.Wall},
        {"zstd_gb_per_s", GB / Zstd.Wall},
        {"store_gb_per_s", GB / Store.Wall},
        {"store_pages_per_s",
         Bytes.size() / double(MNEME_SNAPSHOT_PAGE) / Store.Wall},
        {"store_known_gb_per_s", GB / Again.Wall},
        {"store_of_zstd", Zstd.Wall / Store.Wall},
        {"store_of_zstd_processor", Zstd.Processor / Store.Processor},
        {"store_of_zstd_and_write_processor",
         (Zstd.Processor + Write.Processor) / Store.Processor}});
  }
  outs() << formatv("{0:2}\n",
                    json::Value(json::Object{{"mib", unsigned(MiB)},
                                             {"cases", std::move(Cases)}}));
}
