//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Snapshot.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

// The structures are read with memcpy, so they must have no padding and this
// machine's byte order.
static_assert(sizeof(MnemeSnapshotHeader) == 64 &&
                  sizeof(MnemeRecordHeader) == 24 &&
                  sizeof(MnemeArgEntry) == 8 &&
                  sizeof(MnemeRegionRecord) == 32 &&
                  sizeof(MnemePageRun) == 24 && sizeof(MnemePageFileId) == 16 &&
                  sizeof(MnemeAnnotationRecord) == 40 &&
                  sizeof(MnemeEndRecord) == 16,
              "the snapshot format has no padding");
static_assert(sys::IsLittleEndianHost, "snapshots are little-endian");

static constexpr size_t Page = MNEME_SNAPSHOT_PAGE;
/// Maximum number of bytes of a SnapshotData.
static constexpr uint64_t MaxData = MNEME_FRAME_PAGES * Page;
/// 1 TiB, more than any device has. The limit matters because the parts of runs
/// take memory.
static constexpr uint64_t MaxPages = uint64_t(1) << 28;

template <typename... Ts> static Error failure(const char *Fmt, Ts &&...Vals) {
  return createStringError(formatv(Fmt, std::forward<Ts>(Vals)...).str());
}

/// Removes a T from the front of \p Bytes; returns false if too few bytes are
/// left.
template <typename T> static bool take(StringRef &Bytes, T &Out) {
  if (Bytes.size() < sizeof(T))
    return false;
  memcpy(&Out, Bytes.data(), sizeof(T));
  Bytes = Bytes.drop_front(sizeof(T));
  return true;
}

/// Returns true if [\p Address, +\p Size) is within [\p Base, +\p Length),
/// without overflow.
static bool contains(uint64_t Base, uint64_t Length, uint64_t Address,
                     uint64_t Size) {
  return Address >= Base && Size <= Length && Address - Base <= Length - Size;
}

static StringRef recordName(uint32_t Type) {
  switch (Type) {
  case MNEME_RECORD_ARGS:
    return "arguments";
  case MNEME_RECORD_REGION:
    return "region";
  case MNEME_RECORD_ANNOTATION:
    return "annotation";
  case MNEME_RECORD_PAGE_FILES:
    return "page files";
  case MNEME_RECORD_PAGES:
    return "pages";
  case MNEME_RECORD_END:
    return "end";
  }
  return "unknown";
}

static Error parseHeader(StringRef File, MnemeSnapshotHeader &Header) {
  StringRef Magic(MNEME_SNAPSHOT_MAGIC);
  if (File.empty())
    return failure("truncated: the file is empty");
  if (!File.starts_with(Magic.take_front(File.size())))
    return failure("not a snapshot: does not begin with '{0}'", Magic);
  StringRef Rest = File;
  if (!take(Rest, Header))
    return failure("truncated: {0} bytes, a header has {1}", File.size(),
                   sizeof(Header));
  if (Header.Major != MNEME_SNAPSHOT_MAJOR)
    return failure("format version {0}.{1}, this reader knows {2}.x",
                   Header.Major, Header.Minor, MNEME_SNAPSHOT_MAJOR);
  if (digest64(File.take_front(offsetof(MnemeSnapshotHeader, HeaderDigest))) !=
      Header.HeaderDigest)
    return failure("damaged: wrong digest of the header");
  if (Header.Kind != MNEME_SNAPSHOT_PROLOGUE &&
      Header.Kind != MNEME_SNAPSHOT_EPILOGUE)
    return failure("unknown kind {0} of snapshot", Header.Kind);
  if (Header.ArenaSize == 0 ||
      Header.ArenaBase + Header.ArenaSize < Header.ArenaBase)
    return failure("arena of {0:x} bytes at {1:x} is no address range",
                   Header.ArenaSize, Header.ArenaBase);
  return Error::success();
}

static Error parseArgs(StringRef Payload, std::vector<std::string> &Args) {
  MnemeArgsRecord Record;
  if (!take(Payload, Record) ||
      Record.Count > Payload.size() / sizeof(MnemeArgEntry))
    return failure("too short for its arguments");
  StringRef Bytes = Payload.drop_front(Record.Count * sizeof(MnemeArgEntry));
  uint64_t End = 0;
  for (uint32_t I = 0; I != Record.Count; ++I) {
    MnemeArgEntry Entry;
    take(Payload, Entry);
    if (Entry.Size > Bytes.size())
      return failure("too short for argument {0}", I);
    if (Entry.Offset < End)
      return failure("argument {0} overlaps the one before", I);
    End = uint64_t(Entry.Offset) + Entry.Size;
    Args.push_back(Bytes.take_front(Entry.Size).str());
    Bytes = Bytes.drop_front(Entry.Size);
  }
  if (!Bytes.empty())
    return failure("{0} bytes after the last argument", Bytes.size());
  return Error::success();
}

static Error parseRegion(StringRef Payload, const MnemeSnapshotHeader &Header,
                         std::vector<SnapshotRegion> &Regions) {
  MnemeRegionRecord Record;
  if (!take(Payload, Record))
    return failure("too short");
  if (Record.NameSize != Payload.size())
    return failure("name of {0} bytes in {1}", Record.NameSize, Payload.size());
  if (Record.Kind < MNEME_REGION_HEAP || Record.Kind > MNEME_REGION_DEVICE)
    return failure("unknown kind {0} of region", Record.Kind);
  if (Record.Kind == MNEME_REGION_TEXTURE &&
      Record.Size != sizeof(MnemeTexture))
    return failure("texture object of {0} bytes", Record.Size);
  bool IsGlobal = Record.Kind == MNEME_REGION_GLOBAL;
  if (IsGlobal == Payload.empty())
    return failure(IsGlobal ? "variable without a name" : "buffer with a name");
  SnapshotRegion Region = {Record.Address, Record.Size,   IsGlobal,
                           Record.Id,      Payload.str(), Record.Kind};
  if (Region.isOutsideArena()) {
    if (Record.Size == 0 || Record.Size > -Record.Address)
      return failure("{0:x} bytes at {1:x} are no address range", Record.Size,
                     Record.Address);
    if (Record.Address < Header.ArenaBase + Header.ArenaSize &&
        Header.ArenaBase < Record.Address + Record.Size)
      return failure("{0:x} bytes at {1:x} are in the arena", Record.Size,
                     Record.Address);
  } else if (Record.Size == 0 || !contains(Header.ArenaBase, Header.ArenaSize,
                                           Record.Address, Record.Size)) {
    return failure("{0:x} bytes at {1:x} are not in the arena", Record.Size,
                   Record.Address);
  }
  Regions.push_back(std::move(Region));
  return Error::success();
}

static Error parseAnnotation(StringRef Payload,
                             std::vector<SnapshotAnnotation> &Annotations) {
  MnemeAnnotationRecord Record;
  if (!take(Payload, Record))
    return failure("too short");
  if (Record.TagSize != Payload.size())
    return failure("tag of {0} bytes in {1}", Record.TagSize, Payload.size());
  if (Record.DType > MNEME_DTYPE_U64)
    return failure("unknown element type {0}", Record.DType);
  if (Record.Tolerance > MNEME_TOLERANCE_ULP)
    return failure("unknown kind {0} of tolerance", Record.Tolerance);
  if (Record.Norm > MNEME_NORM_LINF)
    return failure("unknown norm {0}", Record.Norm);
  if (!(Record.Value >= 0) || std::isinf(Record.Value))
    return failure("tolerance {0} is not a finite number from 0 up",
                   Record.Value);
  Annotations.push_back({Record.Address, Record.Size, Record.DType,
                         Record.Tolerance, Record.Norm, Record.Value,
                         Payload.str()});
  return Error::success();
}

/// Parses a payload that consists of one or more Ts.
template <typename T>
static Error parseList(StringRef Payload, std::vector<T> &Out) {
  if (!Out.empty())
    return failure("there is one already");
  if (Payload.empty() || Payload.size() % sizeof(T) != 0)
    return failure("{0} bytes are no multiple of {1}", Payload.size(),
                   sizeof(T));
  Out.resize(Payload.size() / sizeof(T));
  memcpy(Out.data(), Payload.data(), Payload.size());
  return Error::success();
}

static Error checkRuns(ArrayRef<MnemePageRun> Runs, uint64_t &NumPages) {
  for (const MnemePageRun &R : Runs) {
    NumPages += R.NumPages;
    if (R.NumPages == 0 || NumPages > MaxPages)
      return failure("run of {0} pages, the limit of all is {1}", R.NumPages,
                     MaxPages);
    if (R.Step > 1)
      return failure("unknown step {0}", R.Step);
  }
  return Error::success();
}

static Error parseEnd(StringRef Payload, uint64_t NumRecords,
                      uint64_t NumPages) {
  MnemeEndRecord End;
  if (!take(Payload, End) || !Payload.empty())
    return failure("not of {0} bytes", sizeof(End));
  if (End.NumRecords != NumRecords)
    return failure("counts {0} records where there are {1}", End.NumRecords,
                   NumRecords);
  if (End.NumPages != NumPages)
    return failure("counts {0} pages where there are {1}", End.NumPages,
                   NumPages);
  return Error::success();
}

/// Returns the last region that begins at or below \p Address, or null.
/// \p Regions must be sorted.
static const SnapshotRegion *findRegion(ArrayRef<SnapshotRegion> Regions,
                                        uint64_t Address) {
  const SnapshotRegion *It = llvm::upper_bound(
      Regions, Address,
      [](uint64_t A, const SnapshotRegion &R) { return A < R.Address; });
  return It == Regions.begin() ? nullptr : std::prev(It);
}

/// Returns true if the pages of \p Run are pages of \p R.
static bool holdsRun(const SnapshotRegion &R, const MnemePageRun &Run) {
  uint64_t Offset = Run.Address - R.Address;
  return Offset < R.Size && Offset % Page == 0 &&
         Run.NumPages <= divideCeil(R.Size - Offset, Page);
}

/// Sorts all lists by address and checks constraints between records.
static Error checkLayout(std::vector<SnapshotRegion> &Regions,
                         ArrayRef<SnapshotAnnotation> Annotations,
                         std::vector<MnemePageRun> &Runs, size_t NumFiles) {
  auto ByAddress = [](const auto &A, const auto &B) {
    return A.Address < B.Address;
  };
  llvm::sort(Regions, ByAddress);
  llvm::sort(Runs, ByAddress);

  std::vector<bool> Seen(Regions.size());
  for (const SnapshotRegion &R : Regions) {
    if (R.Id >= Regions.size() || Seen[R.Id])
      return failure("region number {0} is out of range or repeated", R.Id);
    Seen[R.Id] = true;
  }
  for (size_t I = 1; I < Regions.size(); ++I)
    if (Regions[I].Address - Regions[I - 1].Address < Regions[I - 1].Size)
      return failure("regions {0} and {1} overlap", Regions[I - 1].Id,
                     Regions[I].Id);
  for (const SnapshotAnnotation &A : Annotations) {
    const SnapshotRegion *R = findRegion(Regions, A.Address);
    if (A.Size == 0 || !R || !contains(R->Address, R->Size, A.Address, A.Size))
      return failure("annotation of {0:x} bytes at {1:x} is in no region",
                     A.Size, A.Address);
  }
  const SnapshotRegion *LastRegion = nullptr;
  uint64_t End = 0;
  for (const MnemePageRun &Run : Runs) {
    const SnapshotRegion *R = findRegion(Regions, Run.Address);
    if (!R || !holdsRun(*R, Run))
      return failure("{0} pages at {1:x} are not pages of one region",
                     Run.NumPages, Run.Address);
    // The last page of a region may extend into the next region's first page.
    if (R == LastRegion && Run.Address < End)
      return failure("pages overlap at {0:x}", Run.Address);
    LastRegion = R;
    End = Run.Address + Run.NumPages * Page;
    if (Run.File >= NumFiles)
      return failure("pages at {0:x} are in page file {1} of {2}", Run.Address,
                     Run.File, NumFiles);
  }
  return Error::success();
}

Expected<Snapshot> Snapshot::parse(std::unique_ptr<MemoryBuffer> Buffer,
                                   std::shared_ptr<PageStore> Pages) {
  Snapshot S;
  S.Pages = std::move(Pages);
  std::string Name = Buffer->getBufferIdentifier().str();
  StringRef File = Buffer->getBuffer();
  if (Error E = parseHeader(File, S.Header))
    return createFileError(Name, std::move(E));

  uint64_t NumRecords = 0, NumPages = 0;
  std::vector<MnemePageFileId> Ids;
  bool HasArgs = false, HasEnd = false;
  auto ParseRecord = [&](const MnemeRecordHeader &Record,
                         StringRef Payload) -> Error {
    if (digest64(Payload) != Record.Digest)
      return failure("damaged: wrong digest");
    if (Record.Flags & ~uint32_t(MNEME_RECORD_OPTIONAL))
      return failure("unknown flags {0:x}", Record.Flags);
    switch (Record.Type) {
    case MNEME_RECORD_ARGS:
      if (HasArgs || S.isEpilogue())
        return failure("expected only once, in a prologue");
      HasArgs = true;
      return parseArgs(Payload, S.Args);
    case MNEME_RECORD_REGION:
      return parseRegion(Payload, S.Header, S.Regions);
    case MNEME_RECORD_ANNOTATION:
      return parseAnnotation(Payload, S.Annotations);
    case MNEME_RECORD_PAGE_FILES:
      return parseList(Payload, Ids);
    case MNEME_RECORD_PAGES:
      if (Error E = parseList(Payload, S.Runs))
        return E;
      return checkRuns(S.Runs, NumPages);
    case MNEME_RECORD_END:
      HasEnd = true;
      return parseEnd(Payload, NumRecords, NumPages);
    }
    if (Record.Flags & MNEME_RECORD_OPTIONAL)
      return Error::success();
    return failure("type {0} is required and not known to this reader",
                   Record.Type);
  };

  StringRef Rest = File.drop_front(sizeof(S.Header));
  for (; !HasEnd; ++NumRecords) {
    uint64_t Offset = File.size() - Rest.size();
    if (Rest.empty())
      return createFileError(Name, failure("truncated: no end record"));
    MnemeRecordHeader Record;
    if (!take(Rest, Record) || Record.Size > Rest.size() ||
        alignTo(Record.Size, 8) > Rest.size())
      return createFileError(
          Name,
          failure("truncated: the record at offset {0} is cut off", Offset));
    StringRef Payload = Rest.take_front(Record.Size);
    StringRef Padding = Rest.slice(Record.Size, alignTo(Record.Size, 8));
    Rest = Rest.drop_front(Payload.size() + Padding.size());
    Error E = ParseRecord(Record, Payload);
    if (!E && Padding.find_first_not_of('\0') != StringRef::npos)
      E = failure("damaged: padding is not zero");
    if (E)
      return createFileError(Name, failure("{0} record at offset {1}: {2}",
                                           recordName(Record.Type), Offset,
                                           toString(std::move(E))));
  }
  if (!Rest.empty())
    return createFileError(
        Name, failure("{0} bytes after the end record", Rest.size()));
  if (!HasArgs && !S.isEpilogue())
    return createFileError(Name, failure("prologue without arguments record"));
  if (Error E = checkLayout(S.Regions, S.Annotations, S.Runs, Ids.size()))
    return createFileError(Name, std::move(E));
  if (Error E = S.openPageFiles(Ids))
    return std::move(E);
  for (const MnemePageRun &R : S.Runs)
    if (!contains(0, S.Files[R.File]->numPages(), R.FirstPage,
                  R.Step ? R.NumPages : 1))
      return createFileError(
          Name, failure("{0} pages from {1} on are not in '{2}', which has {3}",
                        R.NumPages, R.FirstPage, S.Files[R.File]->path(),
                        S.Files[R.File]->numPages()));
  S.layOutData();
  // Only computed for a well-formed file: a damaged one may claim any size.
  S.FileDigest = digest128(File);
  return std::move(S);
}

Expected<Snapshot> Snapshot::open(StringRef Path) {
  StringRef Folder = sys::path::parent_path(Path);
  return open(Path, std::make_shared<PageStore>(Folder));
}

Expected<Snapshot> Snapshot::open(StringRef Path,
                                  std::shared_ptr<PageStore> Pages) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  return parse(std::move(*Buffer), std::move(Pages));
}

Error Snapshot::openPageFiles(ArrayRef<MnemePageFileId> Ids) {
  for (const MnemePageFileId &Id : Ids) {
    Digest128 Digest;
    llvm::copy(Id.Id, Digest.begin());
    Expected<const PageFile *> File = Pages->get(Digest);
    if (!File)
      return File.takeError();
    Files.push_back(*File);
  }
  return Error::success();
}

/// Splits runs into parts, each within a frame, and merges adjacent parts into
/// data ranges. Parts are not split further, so a range usually equals a frame.
void Snapshot::layOutData() {
  Data.clear();
  Parts.clear();
  for (const MnemePageRun &R : Runs) {
    const SnapshotRegion &Region = *findRegion(Regions, R.Address);
    for (uint32_t At = 0; At != R.NumPages;) {
      Part P = {Files[R.File], 0, R.FirstPage + R.Step * At, 0, R.Step};
      P.Frame = P.File->findFrame(P.FirstPage);
      const PageFile::Frame &F = P.File->frames()[P.Frame];
      uint32_t InFrame = F.FirstPage + F.NumPages - P.FirstPage;
      P.NumPages =
          std::min(R.Step ? InFrame : MNEME_FRAME_PAGES, R.NumPages - At);
      uint64_t Address = R.Address + At * Page;
      uint64_t Size = std::min<uint64_t>(
          P.NumPages * Page, Region.Address + Region.Size - Address);
      SnapshotData *Last = Data.empty() ? nullptr : &Data.back();
      // Only the last page of a region can be partial.
      if (Last && Last->Address + Last->RawSize == Address &&
          Address != Region.Address && Last->RawSize + Size <= MaxData) {
        Last->RawSize += Size;
        ++Last->NumParts;
      } else {
        Data.push_back({Address, Size, Parts.size(), 1});
      }
      Parts.push_back(P);
      At += P.NumPages;
    }
  }
}

Error Snapshot::decode(const Part &P, MutableArrayRef<char> Out) const {
  const PageFile::Frame &F = P.File->frames()[P.Frame];
  // Decompress directly into the destination.
  if (P.Step && P.NumPages == F.NumPages && Out.size() == F.size())
    return P.File->readFrame(P.Frame, Out);
  Expected<PageStore::Contents> Bytes = Pages->readFrame(*P.File, P.Frame);
  if (!Bytes)
    return Bytes.takeError();
  const char *First = (*Bytes)->data() + (P.FirstPage - F.FirstPage) * Page;
  if (P.Step) {
    std::memcpy(Out.data(), First, Out.size());
    return Error::success();
  }
  for (; !Out.empty(); Out = Out.drop_front(std::min(Page, Out.size())))
    std::memcpy(Out.data(), First, std::min(Page, Out.size()));
  return Error::success();
}

Error Snapshot::decode(const SnapshotData &D, MutableArrayRef<char> Out) const {
  assert(Out.size() == D.RawSize && "output of another size");
  for (const Part &P : ArrayRef(Parts).slice(D.FirstPart, D.NumParts)) {
    size_t Size = std::min<size_t>(Out.size(), P.NumPages * Page);
    if (Error E = decode(P, Out.take_front(Size)))
      return E;
    Out = Out.drop_front(Size);
  }
  return Error::success();
}

void Snapshot::dropUnchanged(const Snapshot &Prologue) {
  std::vector<MnemePageRun> Changed;
  // Keeps the pages [\p From, \p To) of a run.
  auto Keep = [&](MnemePageRun R, uint32_t From, uint32_t To) {
    if (From == To)
      return;
    R.Address += From * Page;
    R.NumPages = To - From;
    R.FirstPage += R.Step * From;
    Changed.push_back(R);
  };
  auto Old = Prologue.Runs.begin(), OldEnd = Prologue.Runs.end();
  for (const MnemePageRun &R : Runs) {
    uint64_t End = R.Address + R.NumPages * Page;
    uint32_t Kept = 0; // Pages of R that have been handled.
    while (Old != OldEnd && Old->Address + Old->NumPages * Page <= R.Address)
      ++Old;
    for (auto O = Old; O != OldEnd && O->Address < End; ++O) {
      uint64_t From = std::max(R.Address, O->Address);
      uint64_t To = std::min(End, O->Address + O->NumPages * Page);
      uint32_t AtR = (From - R.Address) / Page,
               AtO = (From - O->Address) / Page;
      bool Same = (R.Address - O->Address) % Page == 0 &&
                  Files[R.File] == Prologue.Files[O->File] &&
                  R.Step == O->Step &&
                  R.FirstPage + R.Step * AtR == O->FirstPage + O->Step * AtO;
      if (!Same)
        continue;
      Keep(R, Kept, AtR);
      Kept = (To - R.Address) / Page;
    }
    Keep(R, Kept, R.NumPages);
  }
  Runs = std::move(Changed);
  layOutData();
}

Digest128 Snapshot::staticHash() const {
  Digest128 Hash;
  llvm::copy(Header.StaticHash, Hash.begin());
  return Hash;
}

Error Snapshot::overlay(size_t Index, MutableArrayRef<char> Contents) const {
  const SnapshotRegion &R = Regions[Index];
  assert(Contents.size() == R.Size && "contents of another size");
  auto D =
      llvm::lower_bound(Data, R.Address, [](const SnapshotData &D, uint64_t A) {
        return D.Address < A;
      });
  for (; D != Data.end() && D->Address - R.Address < R.Size; ++D)
    if (Error E =
            decode(*D, Contents.slice(D->Address - R.Address, D->RawSize)))
      return E;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Whether a snapshot belongs to a recording
//===----------------------------------------------------------------------===//

/// Returns true if the configuration of \p I matches its dynamic hash. Returns
/// true also if that cannot be checked: the launch's number is not known, nor
/// are scalars if \p S is an epilogue.
static bool fitsDynamicHash(const Snapshot &S, const RecordedKernel &K,
                            const RecordedInstance &I) {
  ArrayRef<std::string> Inputs = K.DynamicHashInputs;
  constexpr size_t NumKnown = std::size(LaunchInputs);
  if (!llvm::equal(Inputs.take_front(NumKnown), LaunchInputs))
    return true;
  std::string Scalars;
  if (Inputs.size() != NumKnown) {
    if (S.isEpilogue() || Inputs.back() != ScalarsInput ||
        S.args().size() != K.Args.size())
      return true;
    Scalars = collectScalars(K.Args, S.args());
  }
  return computeDynamicHash(S.staticHash(), I, Scalars) ==
         S.header().DynamicHash;
}

SnapshotFit mneme::findSnapshotFit(const Snapshot &S, bool Epilogue,
                                   const RecordedKernel &K,
                                   const RecordedInstance &I) {
  const MnemeSnapshotHeader &H = S.header();
  StringRef Digest = Epilogue ? I.EpilogueDigest : I.PrologueDigest;
  return {S.isEpilogue() == Epilogue,
          toHexString(S.staticHash()) == K.StaticHash,
          toHexString(H.DynamicHash) == I.DynamicHash,
          contains(K.VAddr, K.VASize, H.ArenaBase, H.ArenaSize),
          fitsDynamicHash(S, K, I),
          Digest.empty() || Digest == toHexString(S.fileDigest())};
}

Expected<Snapshot> mneme::openSnapshot(StringRef Dir, bool Epilogue,
                                       const RecordedKernel &K,
                                       const RecordedInstance &I,
                                       std::shared_ptr<PageStore> Pages) {
  SmallString<128> Path(Dir);
  sys::path::append(Path, Epilogue ? I.Epilogue : I.Prologue);
  if (!Pages)
    Pages = std::make_shared<PageStore>(Dir);
  Expected<Snapshot> S = Snapshot::open(Path, std::move(Pages));
  if (!S)
    return S.takeError();
  auto Refuse = [&](const Twine &Why) {
    return createFileError(Path, createStringError(Why));
  };
  SnapshotFit Fit = findSnapshotFit(*S, Epilogue, K, I);
  if (!Fit.Kind)
    return Refuse(Epilogue ? "is a prologue, not an epilogue"
                           : "is an epilogue, not a prologue");
  if (!Fit.Kernel)
    return Refuse("belongs to kernel " + toHexString(S->staticHash()) +
                  ", not to " + K.StaticHash);
  if (!Fit.Instance)
    return Refuse("belongs to record " + toHexString(S->header().DynamicHash) +
                  ", not to " + I.DynamicHash);
  if (!Fit.Arena)
    return Refuse("its arena is not the kernel's");
  if (!Fit.Launch)
    return Refuse("has another launch configuration than '" + K.StaticHash +
                  ".json' has for " + I.DynamicHash);
  if (!Fit.Digest)
    return Refuse("has changed since it was recorded: digest " +
                  toHexString(S->fileDigest()) + ", not " +
                  (Epilogue ? I.EpilogueDigest : I.PrologueDigest));
  return S;
}
