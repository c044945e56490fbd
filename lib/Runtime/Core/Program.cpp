//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "LoadedSections.h"
#include "Message.h"
#include "Shortage.h"
#include "llvm/Mneme/Runtime/AMDProcessors.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <link.h>
#include <new>
#include <vector>

using namespace mneme;

Program &Program::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(Program) static char Storage[sizeof(Program)];
  static Program &P = *new (Storage) Program;
  return P;
}

//===----------------------------------------------------------------------===//
// Attaching
//===----------------------------------------------------------------------===//

static bool startsWith(const char *S, const char *Prefix) {
  return !strncmp(S, Prefix, strlen(Prefix));
}

/// Returns "gfx90a" for "gfx90a:xnack-".
static std::string_view processorOf(std::string_view Arch) {
  return takeFront(Arch, ':');
}

unsigned mneme::parseArchitecture(const char *Arch) {
  if (startsWith(Arch, "sm_"))
    return strtoul(Arch + 3, nullptr, 10);
  if (!startsWith(Arch, "gfx"))
    return 0;
  // The first member of a generic processor.
  const GenericProcessor *G = findGenericProcessor(processorOf(Arch));
  return strtoul((G ? G->Members.data() : Arch) + 3, nullptr, 16);
}

static const char *archOf(const MnemePayloadHeader *P) {
  return reinterpret_cast<const char *>(P) + P->ArchOffset;
}

namespace {
/// A part of a file that the loader has mapped.
struct Segment {
  uint64_t Begin = 0, End = 0;

  bool contains(uint64_t Address) const {
    return Address >= Begin && Address < End;
  }
};
} // namespace

/// Returns the segment that contains \p Address; empty if there is none.
static Segment findSegment(uint64_t Address);

namespace {
/// Checks the tables of an object, whose file may be damaged, before they are
/// used.
class TableCheck {
public:
  bool isIntact(const MnemeHook *Begin, const MnemeHook *End) {
    return Begin >= End || std::all_of(Begin, End, [this](const MnemeHook &H) {
             // Linkers pad merged sections with zeros.
             return !H.Name || (isText(H.Name) && isRuntimeFunction(H.Name));
           });
  }
  bool isIntact(const MnemeIndexEntry *Begin, const MnemeIndexEntry *End) {
    return Begin >= End ||
           std::all_of(Begin, End, [this](const MnemeIndexEntry &E) {
             return !E.Name || (isText(E.Name) && E.Kind <= MNEME_INDEX_UNIT &&
                                (*E.Name || E.Kind == MNEME_INDEX_UNIT));
           });
  }

private:
  Segment Last;

  bool isMapped(const void *At) {
    auto Address = reinterpret_cast<uint64_t>(At);
    if (!Last.contains(Address))
      Last = findSegment(Address);
    return Last.contains(Address);
  }
  bool isText(const char *Text) {
    return isMapped(Text) &&
           memchr(Text, 0, Last.End - reinterpret_cast<uint64_t>(Text));
  }
  /// As the pass selects them, or a function of the headers in include/mneme.
  static bool isRuntimeFunction(const char *Name) {
    for (const char *Prefix : {"cu", "hip", "__cuda", "__hip", "__mneme"})
      if (startsWith(Name, Prefix))
        return true;
    return false;
  }
};
} // namespace

static Segment findSegment(uint64_t Address) {
  struct {
    uint64_t Address;
    Segment Found;
  } Search = {Address, {}};
  dl_iterate_phdr(
      [](dl_phdr_info *Info, size_t, void *Data) {
        auto &S = *static_cast<decltype(Search) *>(Data);
        for (unsigned I = 0; I != Info->dlpi_phnum; ++I) {
          const auto &P = Info->dlpi_phdr[I];
          uint64_t Begin = Info->dlpi_addr + P.p_vaddr;
          Segment Here = {Begin, Begin + P.p_filesz};
          if (P.p_type == PT_LOAD && Here.contains(S.Address)) {
            S.Found = Here;
            return 1;
          }
        }
        return 0;
      },
      &Search);
  return Search.Found;
}

/// Returns true if \p P is an intact payload. Its sizes and offsets must not
/// exceed \p Size, the bytes from \p P to the end of its segment.
static bool isIntact(const MnemePayloadHeader *P, uint64_t Size) {
  if (Size < sizeof(*P) ||
      memcmp(P->Magic, MNEME_PAYLOAD_MAGIC, sizeof(P->Magic)) ||
      P->TotalSize < sizeof(*P) || P->TotalSize > Size)
    return false;
  for (uint64_t Offset : {P->TripleOffset, P->ArchOffset, P->SourceOffset})
    if (Offset >= P->TotalSize ||
        !memchr(reinterpret_cast<const char *>(P) + Offset, 0,
                P->TotalSize - Offset))
      return false;
  return true;
}

/// Returns the intact payloads that an index refers to.
static PayloadSet findPayloads(const MnemeIndexEntry *Begin,
                               const MnemeIndexEntry *End) {
  PayloadSet Seen, Intact;
  Segment Last;
  for (const MnemeIndexEntry *E = Begin; E < End; ++E) {
    if (!E->Payload || !Seen.insert(E->Payload).second)
      continue;
    auto Address = reinterpret_cast<uint64_t>(E->Payload);
    if (!Last.contains(Address))
      Last = findSegment(Address);
    if (Last.contains(Address) && isIntact(E->Payload, Last.End - Address))
      Intact.insert(E->Payload);
  }
  return Intact;
}

/// Orders the payloads of a kernel by their suitability for the device.
int64_t Program::rank(const MnemePayloadHeader *Payload, unsigned DeviceArch) {
  const char *Arch = archOf(Payload);
  int64_t N = parseArchitecture(Arch);
  // sm_90a runs all code for sm_90 and more, so the suffix breaks the tie.
  char Last = Arch[strlen(Arch) - 1];
  bool Suffix = Last < '0' || Last > '9';
  int64_t Order = 2 * N + Suffix;
  if (!DeviceArch)
    return Order;
  constexpr int64_t CompiledForIt = int64_t(1) << 32;
  if (startsWith(Arch, "gfx")) {
    char Device[16];
    snprintf(Device, sizeof(Device), "gfx%x", DeviceArch);
    const GenericProcessor *G = findGenericProcessor(processorOf(Arch));
    if (G)
      return hasWord(G->Members, ' ', Device) ? CompiledForIt : -Order;
    return N == DeviceArch ? CompiledForIt + Order : -Order;
  }
  // In ascending order: code that the device cannot run, code that it can run
  // through PTX, code that was compiled for it.
  if (N > DeviceArch || (Suffix && N != DeviceArch))
    return -Order;
  return N / 10 == DeviceArch / 10 ? CompiledForIt + Order : Order;
}

void Program::setDevice(unsigned Architecture) {
  std::lock_guard<std::mutex> Guard(Lock);
  DeviceArch = Architecture;
  ++Generation;
}

unsigned Program::deviceArchitecture() {
  std::lock_guard<std::mutex> Guard(Lock);
  return DeviceArch;
}

static uint64_t digestOf(const MnemeIndexEntry *Begin,
                         const MnemeIndexEntry *End) {
  return XXH3_64bits(Begin, (End - Begin) * sizeof(*Begin));
}

bool Program::isKnown(const MnemeIndexEntry *Begin, const MnemeIndexEntry *End,
                      uint64_t Unloads) const {
  auto I = Objects.find(Begin);
  // A library that was unloaded may have been loaded again at the same address.
  return I != Objects.end() && I->second.Digest == digestOf(Begin, End) &&
         I->second.Unloads == Unloads;
}

void Program::addIndex(const MnemeIndexEntry *Begin, const MnemeIndexEntry *End,
                       const MnemeHook *Object, uint64_t Unloads,
                       const PayloadSet &Payloads) {
  LoadedObject &Loaded = Objects[Begin];
  Units.erase(Loaded.Number);
  Loaded = {digestOf(Begin, End), Unloads, ++NumObjects};

  std::set<const void *> Added;
  for (const MnemeIndexEntry *E = Begin; E < End; ++E) {
    if (!E->HostPtr || !E->Name || !Payloads.count(E->Payload))
      continue;
    const char *Arch = archOf(E->Payload);
    if (!*Arch)
      continue;
    if (E->Kind == MNEME_INDEX_UNIT) {
      Units[Loaded.Number].push_back(E->Payload);
      continue;
    }
    // The first entry that this object has for an address replaces those of
    // earlier objects: a library was loaded at the address of an unloaded one.
    // (Or both define the same template identically.)
    std::vector<IndexEntry> &All = Entries[E->HostPtr];
    if (Added.insert(E->HostPtr).second)
      All.clear();
    All.push_back({E->Payload, E->Name, E->Size, E->Kind, E->Flags, Object,
                   Loaded.Number});
    ++Generation;
    AMD |= startsWith(Arch, "gfx");
    unsigned N = parseArchitecture(Arch);
    if (N > Newest)
      Newest = N;
  }
}

/// Returns the number of objects that have been unloaded so far.
uint64_t mneme::countUnloads() {
  uint64_t Unloads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *Info, size_t, void *Count) {
        *static_cast<uint64_t *>(Count) = Info->dlpi_subs;
        return 1;
      },
      &Unloads);
  return Unloads;
}

/// Reports damaged tables once.
bool Program::areIntact(const MnemeHook *HooksBegin, const MnemeHook *HooksEnd,
                        const MnemeIndexEntry *IndexBegin,
                        const MnemeIndexEntry *IndexEnd, uint64_t Unloads) {
  auto Tables = std::make_tuple(HooksBegin, HooksEnd, IndexBegin, IndexEnd);
  {
    std::lock_guard<std::mutex> Guard(Lock);
    auto Known = Checked.find(Tables);
    if (Known != Checked.end() && Known->second.Unloads == Unloads)
      return Known->second.AreIntact;
  }
  // Takes the loader's lock, so a thread must not do it while it holds ours.
  TableCheck Check;
  bool AreIntact = Check.isIntact(HooksBegin, HooksEnd) &&
                   Check.isIntact(IndexBegin, IndexEnd);
  std::lock_guard<std::mutex> Guard(Lock);
  bool IsNew = true;
  attempt([&] {
    auto [Known, Inserted] = Checked.try_emplace(Tables);
    IsNew = Inserted || Known->second.Unloads != Unloads;
    Known->second = {Unloads, AreIntact};
  });
  Dl_info Object;
  const void *At = HooksBegin ? static_cast<const void *>(HooksBegin)
                              : static_cast<const void *>(IndexBegin);
  if (!AreIntact && IsNew)
    tell("mneme: error: '%s' is damaged: its table of kernels or of runtime "
         "functions is invalid, so none of its launches are seen: build it "
         "again\n",
         dladdr(At, &Object) && Object.dli_fname ? Object.dli_fname
                                                 : "an executable");
  return AreIntact;
}

void Program::attach(MnemeHook *HooksBegin, MnemeHook *HooksEnd,
                     const MnemeIndexEntry *IndexBegin,
                     const MnemeIndexEntry *IndexEnd) {
  uint64_t Unloads = countUnloads();
  if (!areIntact(HooksBegin, HooksEnd, IndexBegin, IndexEnd, Unloads))
    return;
  {
    std::lock_guard<std::mutex> Guard(Lock);
    if (HooksBegin < HooksEnd)
      patchSlots(HooksBegin, HooksEnd);
    if (IndexBegin >= IndexEnd || isKnown(IndexBegin, IndexEnd, Unloads))
      return;
  }
  bool Added = attempt([&] {
    // Takes the loader's lock, so a thread must not do it while it holds ours.
    PayloadSet Payloads = findPayloads(IndexBegin, IndexEnd);
    std::lock_guard<std::mutex> Guard(Lock);
    if (!isKnown(IndexBegin, IndexEnd, Unloads) && !attempt([&] {
          addIndex(IndexBegin, IndexEnd, HooksBegin, Unloads, Payloads);
        })) {
      // Leave the object unattached.
      Objects.erase(IndexBegin);
      IsIncomplete = true;
    }
  });
  if (!Added)
    IsIncomplete = true;
}

static bool isLoaded(const dl_phdr_info &Info, const LoadedSection &S) {
  auto Begin = reinterpret_cast<uint64_t>(S.Begin),
       End = reinterpret_cast<uint64_t>(S.End);
  return Begin < End && std::any_of(
                            Info.dlpi_phdr, Info.dlpi_phdr + Info.dlpi_phnum,
                            [&](const ElfW(Phdr) & P) {
                              uint64_t At = Info.dlpi_addr + P.p_vaddr;
                              return P.p_type == PT_LOAD && Begin >= At &&
                                     End <= At + P.p_memsz;
                            });
}

/// Attaches a loaded object by the section headers of its file.
static int attachObject(dl_phdr_info *Info, size_t, void *) {
  LoadedSection Found[] = {{MNEME_HOOKS_SECTION}, {MNEME_INDEX_SECTION}};
  if (!findSections(*Info, Found, std::size(Found))) {
    Program::get().setIncomplete();
    return 0;
  }
  for (const LoadedSection &S : Found)
    if (S.Begin != S.End && !isLoaded(*Info, S)) {
      tell("mneme: error: '%s' is damaged: its section '%s' is not in memory, "
           "so none of its launches are seen: build it again\n",
           *Info->dlpi_name ? Info->dlpi_name : "the executable", S.Name);
      return 0;
    }
  Program::get().attach(
      reinterpret_cast<MnemeHook *>(Found[0].Begin),
      reinterpret_cast<MnemeHook *>(Found[0].End),
      reinterpret_cast<const MnemeIndexEntry *>(Found[1].Begin),
      reinterpret_cast<const MnemeIndexEntry *>(Found[1].End));
  return 0;
}

void Program::attachLoadedObjects() {
  Uncancelled Here;
  dl_iterate_phdr(attachObject, nullptr);
}

bool Program::find(const void *HostPtr, uint32_t Kind, IndexEntry &Entry,
                   unsigned Arch) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Arch)
    Arch = DeviceArch;
  auto I = Entries.find(HostPtr);
  if (I == Entries.end())
    return false;
  auto Best =
      std::max_element(I->second.begin(), I->second.end(),
                       [&](const IndexEntry &A, const IndexEntry &B) {
                         return rank(A.Payload, Arch) < rank(B.Payload, Arch);
                       });
  if (Best->Kind != Kind)
    return false;
  Entry = *Best;
  return true;
}

std::vector<const void *> Program::stubs() {
  std::lock_guard<std::mutex> Guard(Lock);
  std::vector<const void *> Found;
  for (const auto &[HostPtr, All] : Entries)
    if (!All.empty() && All.front().Kind == MNEME_INDEX_KERNEL)
      Found.push_back(HostPtr);
  return Found;
}

std::string mneme::hashOf(const MnemePayloadHeader &Payload) {
  return std::string(reinterpret_cast<const char *>(Payload.Hash),
                     sizeof(Payload.Hash));
}

static const char *tripleOf(const MnemePayloadHeader *P) {
  return reinterpret_cast<const char *>(P) + P->TripleOffset;
}

DeviceModule Program::moduleOf(const IndexEntry &Entry) {
  DeviceModule Module;
  Module.Copy = Entry.Number;
  if (Entry.Payload->Flags & MNEME_PAYLOAD_RDC) {
    std::lock_guard<std::mutex> Guard(Lock);
    auto I = Units.find(Entry.Number);
    if (I != Units.end())
      for (const MnemePayloadHeader *P : I->second)
        if (!strcmp(archOf(P), archOf(Entry.Payload)) &&
            !strcmp(tripleOf(P), tripleOf(Entry.Payload)))
          Module.Payloads.push_back(P);
  }
  if (Module.Payloads.size() < 2) {
    Module.Payloads = {Entry.Payload};
    Module.Hash = hashOf(*Entry.Payload);
    return Module;
  }
  std::string Hashes;
  for (const MnemePayloadHeader *P : Module.Payloads)
    Hashes += hashOf(*P);
  XXH128_canonical_t Digest;
  XXH128_canonicalFromHash(&Digest, XXH3_128bits(Hashes.data(), Hashes.size()));
  Module.Hash.assign(reinterpret_cast<const char *>(Digest.digest),
                     sizeof(Digest.digest));
  return Module;
}

static bool isVariableOf(const IndexEntry &E, const DeviceModule &Module) {
  return E.Number == Module.Copy && E.Kind == MNEME_INDEX_VARIABLE &&
         std::count(Module.Payloads.begin(), Module.Payloads.end(), E.Payload);
}

std::vector<std::pair<const void *, IndexEntry>>
Program::variables(const DeviceModule &Module) {
  std::lock_guard<std::mutex> Guard(Lock);
  std::vector<std::pair<const void *, IndexEntry>> Found;
  for (const auto &[HostPtr, All] : Entries)
    for (const IndexEntry &E : All)
      if (isVariableOf(E, Module))
        Found.push_back({HostPtr, E});
  return Found;
}

const void *Program::findShadow(const DeviceModule &Module,
                                const std::string &Name, IndexEntry &Entry) {
  std::lock_guard<std::mutex> Guard(Lock);
  for (const auto &[HostPtr, All] : Entries)
    for (const IndexEntry &E : All)
      if (E.Name == Name && isVariableOf(E, Module)) {
        Entry = E;
        return HostPtr;
      }
  return nullptr;
}

void Program::registerName(const void *HostPtr, const char *Name) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (HostPtr && Name)
    attempt([&] { Names[HostPtr] = Name; });
}

std::string Program::registeredName(const void *HostPtr) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = Names.find(HostPtr);
  return I == Names.end() ? "" : I->second;
}

unsigned Program::architecture() {
  std::lock_guard<std::mutex> Guard(Lock);
  return Newest;
}

bool Program::isAMD() {
  std::lock_guard<std::mutex> Guard(Lock);
  return AMD;
}

// The C interface of PayloadFormat.h.
extern "C" __attribute__((visibility("default"))) void
__mneme_attach(MnemeHook *HooksBegin, MnemeHook *HooksEnd,
               const MnemeIndexEntry *IndexBegin,
               const MnemeIndexEntry *IndexEnd) {
  Program::get().attach(HooksBegin, HooksEnd, IndexBegin, IndexEnd);
}

__attribute__((constructor)) static void attachAtStart() {
  Program::get().attachLoadedObjects();
}
