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
#include "llvm/Support/Compression.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

// The structures are read with memcpy: no padding, and this machine's byte
// order.
static_assert(sizeof(MnemeSnapshotHeader) == 64 &&
                  sizeof(MnemeRecordHeader) == 24 &&
                  sizeof(MnemeArgEntry) == 8 &&
                  sizeof(MnemeRegionRecord) == 32 &&
                  sizeof(MnemeDataRecord) == 24 &&
                  sizeof(MnemeAnnotationRecord) == 40 &&
                  sizeof(MnemeEndRecord) == 16,
              "the snapshot format has no padding");
static_assert(sys::IsLittleEndianHost, "snapshots are little-endian");

template <typename... Ts> static Error failure(const char *Fmt, Ts &&...Vals) {
  return createStringError(formatv(Fmt, std::forward<Ts>(Vals)...).str());
}

/// Takes a T off the front of \p Bytes; false when that is too short.
template <typename T> static bool take(StringRef &Bytes, T &Out) {
  if (Bytes.size() < sizeof(T))
    return false;
  memcpy(&Out, Bytes.data(), sizeof(T));
  Bytes = Bytes.drop_front(sizeof(T));
  return true;
}

/// Whether [\p Address, +\p Size) lies in [\p Base, +\p Length), without
/// overflow.
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
  case MNEME_RECORD_DATA:
    return "data";
  case MNEME_RECORD_ANNOTATION:
    return "annotation";
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
  if (Record.Kind < MNEME_REGION_HEAP || Record.Kind > MNEME_REGION_PINNED)
    return failure("unknown kind {0} of region", Record.Kind);
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

static Error parseData(StringRef Payload, std::vector<SnapshotData> &Data) {
  MnemeDataRecord Record;
  if (!take(Payload, Record))
    return failure("too short");
  if (Record.RawSize == 0 || Record.RawSize > MNEME_DATA_CHUNK)
    return failure("covers {0} bytes, the limit is {1}", Record.RawSize,
                   MNEME_DATA_CHUNK);
  if (Record.Encoding != MNEME_ENCODING_RAW &&
      Record.Encoding != MNEME_ENCODING_ZSTD)
    return failure("unknown encoding {0}", Record.Encoding);
  if (Record.Encoding == MNEME_ENCODING_RAW && Payload.size() != Record.RawSize)
    return failure("stores {0} bytes of {1}", Payload.size(), Record.RawSize);
  Data.push_back({Record.Address, Record.RawSize, Record.Encoding, Payload});
  return Error::success();
}

static Error parseEnd(StringRef Payload, uint64_t NumRecords,
                      uint64_t RawBytes) {
  MnemeEndRecord End;
  if (!take(Payload, End) || !Payload.empty())
    return failure("not of {0} bytes", sizeof(End));
  if (End.NumRecords != NumRecords)
    return failure("counts {0} records where there are {1}", End.NumRecords,
                   NumRecords);
  if (End.RawBytes != RawBytes)
    return failure("counts {0} bytes where there are {1}", End.RawBytes,
                   RawBytes);
  return Error::success();
}

/// The region that holds [\p Address, +\p Size), or null. \p Regions are
/// sorted.
static const SnapshotRegion *findRegion(ArrayRef<SnapshotRegion> Regions,
                                        uint64_t Address, uint64_t Size) {
  const SnapshotRegion *It = llvm::upper_bound(
      Regions, Address,
      [](uint64_t A, const SnapshotRegion &R) { return A < R.Address; });
  if (It == Regions.begin())
    return nullptr;
  --It;
  return contains(It->Address, It->Size, Address, Size) ? It : nullptr;
}

/// Sorts everything by address and checks what no record can know alone.
static Error checkLayout(std::vector<SnapshotRegion> &Regions,
                         ArrayRef<SnapshotAnnotation> Annotations,
                         std::vector<SnapshotData> &Data) {
  auto ByAddress = [](const auto &A, const auto &B) {
    return A.Address < B.Address;
  };
  llvm::sort(Regions, ByAddress);
  llvm::sort(Data, ByAddress);

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
  for (const SnapshotAnnotation &A : Annotations)
    if (A.Size == 0 || !findRegion(Regions, A.Address, A.Size))
      return failure("annotation of {0:x} bytes at {1:x} is in no region",
                     A.Size, A.Address);
  for (const SnapshotData &D : Data)
    if (!findRegion(Regions, D.Address, D.RawSize))
      return failure("data of {0:x} bytes at {1:x} is in no region", D.RawSize,
                     D.Address);
  for (size_t I = 1; I < Data.size(); ++I)
    if (Data[I].Address - Data[I - 1].Address < Data[I - 1].RawSize)
      return failure("data overlaps at {0:x}", Data[I].Address);
  return Error::success();
}

Expected<Snapshot> Snapshot::parse(std::unique_ptr<MemoryBuffer> Buffer) {
  Snapshot S;
  S.Buffer = std::move(Buffer);
  std::string Name = S.Buffer->getBufferIdentifier().str();
  StringRef File = S.Buffer->getBuffer();
  if (Error E = parseHeader(File, S.Header))
    return createFileError(Name, std::move(E));

  uint64_t NumRecords = 0, RawBytes = 0;
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
        return failure("only a prologue has one, and one only");
      HasArgs = true;
      return parseArgs(Payload, S.Args);
    case MNEME_RECORD_REGION:
      return parseRegion(Payload, S.Header, S.Regions);
    case MNEME_RECORD_ANNOTATION:
      return parseAnnotation(Payload, S.Annotations);
    case MNEME_RECORD_DATA:
      if (Error E = parseData(Payload, S.Data))
        return E;
      RawBytes += S.Data.back().RawSize;
      return Error::success();
    case MNEME_RECORD_END:
      HasEnd = true;
      return parseEnd(Payload, NumRecords, RawBytes);
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
  if (Error E = checkLayout(S.Regions, S.Annotations, S.Data))
    return createFileError(Name, std::move(E));
  return std::move(S);
}

Expected<Snapshot> Snapshot::open(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  return parse(std::move(*Buffer));
}

Error Snapshot::decode(const SnapshotData &D, MutableArrayRef<char> Out) const {
  assert(Out.size() == D.RawSize && "output of another size");
  if (D.Encoding == MNEME_ENCODING_RAW) {
    llvm::copy(D.Stored, Out.begin());
    return Error::success();
  }
  auto Fail = [&](Error E) {
    return createFileError(
        Buffer->getBufferIdentifier(),
        failure("data at {0:x}: {1}", D.Address, toString(std::move(E))));
  };
  if (!compression::zstd::isAvailable())
    return Fail(failure("zstd is not in this build of LLVM"));
  size_t Size = Out.size();
  if (Error E = compression::zstd::decompress(
          arrayRefFromStringRef(D.Stored),
          reinterpret_cast<uint8_t *>(Out.data()), Size))
    return Fail(std::move(E));
  if (Size != Out.size())
    return Fail(failure("{0} bytes instead of {1}", Size, Out.size()));
  return Error::success();
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
// Whether it is the right one
//===----------------------------------------------------------------------===//

SnapshotFit mneme::findSnapshotFit(const Snapshot &S, bool Epilogue,
                                   const RecordedKernel &K,
                                   const RecordedInstance &I) {
  const MnemeSnapshotHeader &H = S.header();
  return {S.isEpilogue() == Epilogue,
          toHexString(S.staticHash()) == K.StaticHash,
          toHexString(H.DynamicHash) == I.DynamicHash,
          H.ArenaBase == K.VAddr && H.ArenaSize <= K.VASize};
}

Expected<Snapshot> mneme::openSnapshot(StringRef Dir, bool Epilogue,
                                       const RecordedKernel &K,
                                       const RecordedInstance &I) {
  SmallString<128> Path(Dir);
  sys::path::append(Path, Epilogue ? I.Epilogue : I.Prologue);
  Expected<Snapshot> S = Snapshot::open(Path);
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
  return S;
}
