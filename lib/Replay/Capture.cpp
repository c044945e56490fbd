//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The replay runs in a separate process, which writes to a temporary file: for
// each range its address, size and bytes, then a size of zero, then the
// addresses of the accessed pages.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Capture.h"
#include "TemporaryFile.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Support/MathExtras.h"
#include <atomic>
#include <cstdio>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Granularity of tracing, equal to the host's page size.
static constexpr uint64_t TracePage = 4096;

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

namespace {
/// The host device, with its memory protected while a kernel runs, so that the
/// first access to each page is noted.
class TracingDevice final : public Device {
public:
  TracingDevice() : Host(createHostDevice()) {}

  std::string getName() const override { return Host->getName(); }
  std::string getArch() const override { return Host->getArch(); }
  Error reserveArena(uint64_t Base, uint64_t Size) override {
    return Host->reserveArena(Base, Size);
  }
  Error mapMemory(uint64_t Address, uint64_t Size) override {
    addRange(Address, Size);
    return Host->mapMemory(Address, Size);
  }
  Error mapOutside(uint64_t Address, uint64_t Size) override {
    addRange(Address, Size);
    return Host->mapOutside(Address, Size);
  }
  Error write(uint64_t Address, ArrayRef<char> Data) override {
    return Host->write(Address, Data);
  }
  Error read(uint64_t Address, MutableArrayRef<char> Data) override {
    return Host->read(Address, Data);
  }
  Expected<std::unique_ptr<DeviceKernel>>
  load(const DeviceImage &Image, ArrayRef<KernelGlobal> Globals) override {
    return Host->load(Image, Globals);
  }
  Expected<LaunchOutcome> launch(DeviceKernel &Kernel,
                                 const LaunchConfig &Config,
                                 ArrayRef<void *> Args) override;

  std::vector<uint64_t> touched() const;

private:
  /// A range of whole pages.
  struct Range {
    uint64_t Begin, End;
    std::unique_ptr<std::atomic<bool>[]> Seen; ///< One per page.
  };
  std::unique_ptr<Device> Host;
  std::vector<Range> Ranges;
  static TracingDevice *Active;

  void addRange(uint64_t Address, uint64_t Size);
  Error protect(int Protection) const;
  static int note(uint64_t Address);
};
} // namespace

TracingDevice *TracingDevice::Active = nullptr;

void TracingDevice::addRange(uint64_t Address, uint64_t Size) {
  if (Size == 0)
    return;
  uint64_t Begin = alignDown(Address, TracePage);
  uint64_t End = alignTo(Address + Size, TracePage);
  uint64_t NumPages = (End - Begin) / TracePage;
  Ranges.push_back(
      {Begin, End, std::make_unique<std::atomic<bool>[]>(NumPages)});
}

Error TracingDevice::protect(int Protection) const {
  for (const Range &R : Ranges)
    if (::mprotect(reinterpret_cast<void *>(R.Begin), R.End - R.Begin,
                   Protection) != 0)
      return createStringError(errnoAsErrorCode(),
                               "cannot protect the kernel's memory");
  return Error::success();
}

/// Called by a signal handler on any thread. Ranges may share a page.
int TracingDevice::note(uint64_t Address) {
  bool Found = false;
  for (const Range &R : Active->Ranges)
    if (Address >= R.Begin && Address < R.End) {
      R.Seen[(Address - R.Begin) / TracePage] = true;
      Found = true;
    }
  if (!Found)
    return 0;
  return ::mprotect(reinterpret_cast<void *>(alignDown(Address, TracePage)),
                    TracePage, PROT_READ | PROT_WRITE) == 0;
}

Expected<LaunchOutcome> TracingDevice::launch(DeviceKernel &Kernel,
                                              const LaunchConfig &Config,
                                              ArrayRef<void *> Args) {
  if (Error E = protect(PROT_NONE))
    return std::move(E);
  Active = this;
  mneme_host_set_fault_filter(note);
  Expected<LaunchOutcome> Outcome = Host->launch(Kernel, Config, Args);
  mneme_host_set_fault_filter(nullptr);
  if (Error E = protect(PROT_READ | PROT_WRITE)) {
    consumeError(Outcome.takeError());
    return std::move(E);
  }
  return Outcome;
}

std::vector<uint64_t> TracingDevice::touched() const {
  std::vector<uint64_t> Pages;
  for (const Range &R : Ranges)
    for (uint64_t At = R.Begin; At != R.End; At += TracePage)
      if (R.Seen[(At - R.Begin) / TracePage])
        Pages.push_back(At);
  llvm::sort(Pages);
  Pages.erase(llvm::unique(Pages), Pages.end());
  return Pages;
}

//===----------------------------------------------------------------------===//
// The child's side
//===----------------------------------------------------------------------===//

static Error put(FILE *F, const void *Bytes, size_t Size) {
  if (std::fwrite(Bytes, 1, Size, F) == Size)
    return Error::success();
  return createStringError(errnoAsErrorCode(),
                           "cannot write the memory after the launch");
}

static Error putNumber(FILE *F, uint64_t N) { return put(F, &N, sizeof(N)); }

static Error putRange(FILE *F, uint64_t Address, ArrayRef<char> Bytes) {
  if (Error E = putNumber(F, Address))
    return E;
  if (Error E = putNumber(F, Bytes.size()))
    return E;
  return put(F, Bytes.data(), Bytes.size());
}

/// Returns the contents of each region before the launch.
static Expected<std::vector<std::vector<char>>>
readBefore(const RecordedState &State) {
  std::vector<std::vector<char>> Before;
  for (const RecordedRegion &R : State.regions())
    Before.emplace_back(R.Info.Size);
  Error E = State.readStored(
      [&](const SnapshotData &Data, ArrayRef<char> Bytes) -> Error {
        size_t Region = State.findRegion(Data.Address);
        uint64_t Begin = State.regions()[Region].Info.Address;
        llvm::copy(Bytes, Before[Region].begin() + (Data.Address - Begin));
        return Error::success();
      });
  if (E)
    return std::move(E);
  return std::move(Before);
}

/// Writes the pages that differ, consecutive pages as one range.
static Error putChanges(FILE *F, Device &D, const RecordedState &State) {
  Expected<std::vector<std::vector<char>>> Before = readBefore(State);
  if (!Before)
    return Before.takeError();
  std::vector<char> Now;
  for (size_t I = 0; I != Before->size(); ++I) {
    const std::vector<char> &Old = (*Before)[I];
    uint64_t Base = State.regions()[I].Info.Address;
    Now.resize(Old.size());
    if (Error E = D.read(Base, Now))
      return E;
    constexpr size_t Page = MNEME_SNAPSHOT_PAGE;
    // Limit ranges to the size that readers of snapshots get at once.
    constexpr size_t Most = MNEME_FRAME_PAGES * Page;
    size_t Begin = 0, End = 0; // Range of pages that differ.
    auto Flush = [&] {
      return Begin == End ? Error::success()
                          : putRange(F, Base + Begin,
                                     ArrayRef(Now).slice(Begin, End - Begin));
    };
    for (size_t At = 0; At < Now.size(); At += Page) {
      size_t Size = std::min(Page, Now.size() - At);
      if (std::memcmp(&Now[At], &Old[At], Size) == 0)
        continue;
      if (At != End || End - Begin == Most) {
        if (Error E = Flush())
          return E;
        Begin = At;
      }
      End = At + Size;
    }
    if (Error E = Flush())
      return E;
  }
  return Error::success();
}

static Expected<ReplayResult> runCapture(const ReplayPlan &Plan, bool Trace,
                                         FILE *F,
                                         function_ref<void(ReplayStage)> Rep) {
  TracingDevice *Tracer = nullptr;
  Expected<std::unique_ptr<ReplaySession>> Session =
      [&]() -> Expected<std::unique_ptr<ReplaySession>> {
    if (!Trace)
      return ReplaySession::create(Plan, Rep);
    auto D = std::make_unique<TracingDevice>();
    Tracer = D.get();
    return ReplaySession::create(Plan, std::unique_ptr<Device>(std::move(D)));
  }();
  if (!Session)
    return Session.takeError();
  Expected<ReplayResult> R = (*Session)->evaluate(Plan, Rep);
  if (!R || R->failed())
    return R;
  Rep(ReplayStage::Compare);
  if (Error E = putChanges(F, *(*Session)->device(), Plan.state()))
    return std::move(E);
  if (Error E = putRange(F, 0, {}))
    return std::move(E);
  if (Tracer)
    for (uint64_t Page : Tracer->touched())
      if (Error E = putNumber(F, Page))
        return std::move(E);
  if (std::fflush(F) != 0)
    return createStringError(errnoAsErrorCode(),
                             "cannot write the memory after the launch");
  return R;
}

//===----------------------------------------------------------------------===//
// The parent's side
//===----------------------------------------------------------------------===//

static bool getNumber(FILE *F, uint64_t &N) {
  return std::fread(&N, 1, sizeof(N), F) == sizeof(N);
}

static bool getAll(FILE *F, CapturedReplay &R) {
  while (true) {
    MemoryRange Range;
    uint64_t Size;
    if (!getNumber(F, Range.Address) || !getNumber(F, Size))
      return false;
    if (Size == 0)
      break;
    Range.Bytes.resize(Size);
    if (std::fread(Range.Bytes.data(), 1, Size, F) != Size)
      return false;
    R.Changed.push_back(std::move(Range));
  }
  for (uint64_t Page; getNumber(F, Page);)
    R.Touched.push_back(Page);
  return true;
}

Expected<CapturedReplay> mneme::captureReplay(const ReplayPlan &Plan,
                                              bool Trace) {
  if (Trace && Plan.options().Device != "host")
    return createStringError("accesses can be traced on the host device only, "
                             "not on '" +
                             Plan.options().Device + "'");
  TemporaryFile File = makeTemporaryFile();
  if (!File)
    return createStringError(errnoAsErrorCode(),
                             "cannot create a temporary file");
  CapturedReplay R;
  auto Body = [&](function_ref<void(ReplayStage)> Report) {
    return runCapture(Plan, Trace, File.get(), Report);
  };
  Error E = runIsolated(Plan, Body, ::fileno(File.get())).moveInto(R.Result);
  if (E)
    return std::move(E);
  if (R.Result.failed())
    return std::move(R);
  // The child has moved the file position, which both processes share.
  std::rewind(File.get());
  if (!getAll(File.get(), R))
    return createStringError("cannot read the memory after the launch");
  return std::move(R);
}
