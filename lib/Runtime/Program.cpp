//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Device.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace mneme;

Program &Program::get() {
  static Program &P = *new Program;
  return P;
}

//===----------------------------------------------------------------------===//
// Functions that we do not have
//===----------------------------------------------------------------------===//

static constexpr size_t MaxMissing = 512;

struct MissingFunction {
  std::string Name;
  bool Reported = false;
};

static std::vector<MissingFunction> &missingFunctions() {
  static auto &V = *new std::vector<MissingFunction>;
  return V;
}

static std::mutex &missingLock() {
  static auto &M = *new std::mutex;
  return M;
}

static int reportMissing(size_t I) {
  std::lock_guard<std::mutex> Guard(missingLock());
  MissingFunction &F = missingFunctions()[I];
  if (!std::exchange(F.Reported, true))
    fprintf(stderr, "mneme: error: %s is not available on the host device\n",
            F.Name.c_str());
  return Device::get().setError(cudaErrorNotSupported);
}

// One function per name that can be missing: the slot's caller passes arguments
// that say nothing about which function it wanted.
template <size_t I> static int missingThunk() { return reportMissing(I); }

template <size_t... I>
static constexpr std::array<int (*)(), sizeof...(I)>
makeThunks(std::index_sequence<I...>) {
  return {{missingThunk<I>...}};
}

static constexpr auto Thunks =
    makeThunks(std::make_index_sequence<MaxMissing>());

void *mneme::missingFunction(const char *Name) {
  std::lock_guard<std::mutex> Guard(missingLock());
  std::vector<MissingFunction> &All = missingFunctions();
  size_t I = 0;
  while (I != All.size() && All[I].Name != Name)
    ++I;
  if (I == MaxMissing)
    I = MaxMissing - 1;
  else if (I == All.size())
    All.push_back({Name});
  return reinterpret_cast<void *>(Thunks[I]);
}

//===----------------------------------------------------------------------===//
// Attaching
//===----------------------------------------------------------------------===//

static bool startsWith(const char *S, const char *Prefix) {
  return !strncmp(S, Prefix, strlen(Prefix));
}

static bool isRuntimeName(const char *Name) {
  while (*Name == '_')
    ++Name;
  return startsWith(Name, "cuda") || startsWith(Name, "hip");
}

void Program::patchHooks(MnemeHook *Begin, MnemeHook *End) {
  for (MnemeHook *H = Begin; H < End; ++H) {
    // Zeros pad sections that linkers put together.
    if (!H->Name)
      continue;
    void *Fn = lookupFunction(H->Name);
    if (!Fn && isRuntimeName(H->Name))
      Fn = missingFunction(H->Name);
    if (Fn && Fn != H->Fn)
      H->Fn = Fn;
  }
}

unsigned mneme::parseArchitecture(const char *Arch) {
  if (startsWith(Arch, "sm_"))
    return strtoul(Arch + 3, nullptr, 10);
  if (startsWith(Arch, "gfx"))
    return strtoul(Arch + 3, nullptr, 16);
  return 0;
}

static const char *archOf(const MnemePayloadHeader *P) {
  if (memcmp(P->Magic, MNEME_PAYLOAD_MAGIC, sizeof(P->Magic)) ||
      P->ArchOffset >= P->TotalSize)
    return nullptr;
  return reinterpret_cast<const char *>(P) + P->ArchOffset;
}

/// sm_90a runs what sm_90 runs and more, so a suffix breaks the tie.
static bool isNewer(const char *A, const char *B) {
  unsigned NA = parseArchitecture(A), NB = parseArchitecture(B);
  return NA != NB ? NA > NB : strcmp(A, B) > 0;
}

void Program::addIndex(const MnemeIndexEntry *Begin,
                       const MnemeIndexEntry *End) {
  uint64_t Digest = XXH3_64bits(Begin, (End - Begin) * sizeof(*Begin));
  uint64_t &Seen = SeenIndex[Begin];
  if (Seen == Digest)
    return;
  Seen = Digest;

  std::set<const void *> Added;
  for (const MnemeIndexEntry *E = Begin; E < End; ++E) {
    if (!E->HostPtr || !E->Payload || !E->Name)
      continue;
    const char *Arch = archOf(E->Payload);
    if (!Arch)
      continue;
    // The first word of this object on an address replaces what an earlier one
    // said: a library was loaded where one had been unloaded. (Or both define
    // one template, equally.)
    IndexEntry &Entry = Entries[E->HostPtr];
    bool First = Added.insert(E->HostPtr).second;
    if (!First && !isNewer(Arch, archOf(Entry.Payload)))
      continue;
    Entry = {E->Payload, E->Name, E->Size, E->Kind, E->Flags};
    ++Generation;
    AMD |= startsWith(Arch, "gfx");
    unsigned N = parseArchitecture(Arch);
    if (N > Newest)
      Newest = N;
  }
}

void Program::attach(MnemeHook *HooksBegin, MnemeHook *HooksEnd,
                     const MnemeIndexEntry *IndexBegin,
                     const MnemeIndexEntry *IndexEnd) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (HooksBegin < HooksEnd)
    patchHooks(HooksBegin, HooksEnd);
  if (IndexBegin < IndexEnd)
    addIndex(IndexBegin, IndexEnd);
}

/// Reads the section headers of one loaded object from its file.
static int attachObject(dl_phdr_info *Info, size_t, void *) {
  const char *Path =
      Info->dlpi_name && *Info->dlpi_name ? Info->dlpi_name : "/proc/self/exe";
  int Fd = open(Path, O_RDONLY | O_CLOEXEC);
  if (Fd < 0)
    return 0; // The vDSO, or a file deleted since.
  struct stat St;
  void *Map = MAP_FAILED;
  if (!fstat(Fd, &St) && St.st_size >= (off_t)sizeof(Elf64_Ehdr))
    Map = mmap(nullptr, St.st_size, PROT_READ, MAP_PRIVATE, Fd, 0);
  close(Fd);
  if (Map == MAP_FAILED)
    return 0;

  uint64_t FileSize = St.st_size;
  const char *File = static_cast<const char *>(Map);
  auto *Header = reinterpret_cast<const Elf64_Ehdr *>(File);
  auto InFile = [FileSize](uint64_t Offset, uint64_t Size) {
    return Offset <= FileSize && Size <= FileSize - Offset;
  };
  MnemeHook *HooksBegin = nullptr, *HooksEnd = nullptr;
  const MnemeIndexEntry *IndexBegin = nullptr, *IndexEnd = nullptr;
  if (!memcmp(Header->e_ident, ELFMAG, SELFMAG) && Header->e_shoff &&
      Header->e_shentsize == sizeof(Elf64_Shdr) &&
      InFile(Header->e_shoff, Header->e_shnum * sizeof(Elf64_Shdr)) &&
      Header->e_shstrndx < Header->e_shnum) {
    auto *Sections =
        reinterpret_cast<const Elf64_Shdr *>(File + Header->e_shoff);
    const Elf64_Shdr &Strings = Sections[Header->e_shstrndx];
    for (unsigned I = 0; I != Header->e_shnum; ++I) {
      const Elf64_Shdr &S = Sections[I];
      uint64_t NameAt = Strings.sh_offset + S.sh_name;
      if (!InFile(NameAt, sizeof(MNEME_INDEX_SECTION)))
        continue;
      const char *Name = File + NameAt;
      char *Begin = reinterpret_cast<char *>(Info->dlpi_addr + S.sh_addr);
      if (!strcmp(Name, MNEME_HOOKS_SECTION)) {
        HooksBegin = reinterpret_cast<MnemeHook *>(Begin);
        HooksEnd = reinterpret_cast<MnemeHook *>(Begin + S.sh_size);
      } else if (!strcmp(Name, MNEME_INDEX_SECTION)) {
        IndexBegin = reinterpret_cast<const MnemeIndexEntry *>(Begin);
        IndexEnd = reinterpret_cast<const MnemeIndexEntry *>(Begin + S.sh_size);
      }
    }
  }
  munmap(Map, FileSize);
  Program::get().attach(HooksBegin, HooksEnd, IndexBegin, IndexEnd);
  return 0;
}

void Program::attachLoadedObjects() { dl_iterate_phdr(attachObject, nullptr); }

bool Program::find(const void *HostPtr, uint32_t Kind, IndexEntry &Entry) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = Entries.find(HostPtr);
  if (I == Entries.end() || I->second.Kind != Kind)
    return false;
  Entry = I->second;
  return true;
}

void Program::registerName(const void *HostPtr, const char *Name) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (HostPtr && Name)
    Names[HostPtr] = Name;
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
