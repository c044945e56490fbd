//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds snapshot and page files in memory, valid ones and ones with a chosen
/// defect.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_RECORD_SNAPSHOTBUILDER_H
#define LLVM_MNEME_UNITTESTS_RECORD_SNAPSHOTBUILDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Support/Digest.h"
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

class PageFileBuilder {
public:
  PageFileBuilder() {
    memcpy(Header.Magic, MNEME_PAGES_MAGIC, sizeof(Header.Magic));
    memcpy(Footer.Magic, MNEME_PAGES_MAGIC, sizeof(Footer.Magic));
    Header.Major = MNEME_PAGES_MAJOR;
    Header.Minor = MNEME_PAGES_MINOR;
    Header.PageSize = MNEME_SNAPSHOT_PAGE;
  }

  /// Adds a frame of the pages \p Raw, which the file has as \p Stored.
  /// \returns the first one's number.
  uint32_t frame(StringRef Raw, uint32_t Encoding, StringRef Stored) {
    uint32_t First = Footer.NumPages;
    uint32_t NumPages = Raw.size() / MNEME_SNAPSHOT_PAGE;
    for (uint32_t I = 0; I != NumPages; ++I)
      Digests += bytes(
          digest128(Raw.substr(I * MNEME_SNAPSHOT_PAGE, MNEME_SNAPSHOT_PAGE)));
    Table += bytes(MnemePageFrame{static_cast<uint32_t>(Stored.size()),
                                  static_cast<uint16_t>(NumPages),
                                  static_cast<uint16_t>(Encoding)});
    Frames += Stored;
    Footer.NumPages += NumPages;
    ++Footer.NumFrames;
    return First;
  }
  /// Adds \p Raw, filled up with zeros.
  uint32_t pages(StringRef Raw) {
    std::string Whole = Raw.str();
    Whole.append(-Raw.size() & (MNEME_SNAPSHOT_PAGE - 1), '\0');
    uint32_t First = Footer.NumPages;
    constexpr size_t Most = MNEME_FRAME_PAGES * MNEME_SNAPSHOT_PAGE;
    for (StringRef Rest = Whole; !Rest.empty(); Rest = Rest.substr(Most))
      frame(Rest.take_front(Most), MNEME_ENCODING_RAW, Rest.take_front(Most));
    return First;
  }

  Digest128 id() const { return digest128(Digests); }
  std::string name() const { return "Pages." + toHexString(id()) + ".mneme"; }
  std::string close() {
    llvm::copy(id(), Footer.Id.Id);
    std::string Index = bytes(Header) + Digests + Table + bytes(Footer);
    Index.resize(Index.size() - sizeof(Footer) +
                 offsetof(MnemePageFileFooter, IndexDigest));
    Footer.IndexDigest = digest64(Index);
    return bytes(Header) + Frames + Digests + Table + bytes(Footer);
  }

  template <typename T> static std::string bytes(const T &V) {
    return std::string(reinterpret_cast<const char *>(&V), sizeof(V));
  }

  MnemePageFileHeader Header = {};
  MnemePageFileFooter Footer = {};
  std::string Frames, Digests, Table;
};

class SnapshotBuilder {
public:
  /// Not MNEME_ARENA_BASE, where the allocator of AddressSanitizer may lie.
  static constexpr uint64_t Base = 0x200000000000;

  /// Page files, by name.
  using FileMap = std::map<std::string, std::string>;

  /// The page file goes to \p Files.
  explicit SnapshotBuilder(uint32_t Kind, FileMap *Files = nullptr)
      : Files(Files) {
    memcpy(Header.Magic, MNEME_SNAPSHOT_MAGIC, sizeof(Header.Magic));
    Header.Major = MNEME_SNAPSHOT_MAJOR;
    Header.Minor = MNEME_SNAPSHOT_MINOR;
    Header.Kind = Kind;
    memset(Header.StaticHash, 0x11, sizeof(Header.StaticHash));
    Header.DynamicHash = 0x22;
    Header.ArenaBase = Base;
    Header.ArenaSize = MNEME_ARENA_SIZE;
  }

  template <typename T> static std::string bytes(const T &V) {
    return std::string(reinterpret_cast<const char *>(&V), sizeof(V));
  }

  SnapshotBuilder &record(uint32_t Type, StringRef Payload,
                          uint32_t Flags = 0) {
    MnemeRecordHeader R = {Type, Flags, Payload.size(), digest64(Payload)};
    Records += bytes(R) + Payload.str();
    Records.append(-Payload.size() & 7, '\0');
    NumRecords += Type != MNEME_RECORD_END;
    return *this;
  }

  SnapshotBuilder &args(ArrayRef<std::string> Args) {
    MnemeArgsRecord R = {static_cast<uint32_t>(Args.size()), 0};
    std::string Payload = bytes(R), Values;
    uint32_t Offset = 0;
    for (const std::string &A : Args) {
      Offset = (Offset + 7) & ~7u;
      Payload += bytes(MnemeArgEntry{static_cast<uint32_t>(A.size()), Offset});
      Offset += A.size();
      Values += A;
    }
    return record(MNEME_RECORD_ARGS, Payload + Values);
  }

  /// \p Offset counts from the arena's base. A name makes it a variable.
  SnapshotBuilder &region(uint64_t Offset, uint64_t Size, uint32_t Id,
                          StringRef Name = "") {
    MnemeRegionRecord R = {Base + Offset,
                           Size,
                           static_cast<uint32_t>(Name.empty()
                                                     ? MNEME_REGION_HEAP
                                                     : MNEME_REGION_GLOBAL),
                           Id,
                           static_cast<uint32_t>(Name.size()),
                           0};
    RegionStarts.insert(R.Address);
    return record(MNEME_RECORD_REGION, bytes(R) + Name.str());
  }

  /// Of any kind, without a name, at any address.
  SnapshotBuilder &regionAt(uint64_t Address, uint64_t Size, uint32_t Id,
                            uint32_t Kind) {
    MnemeRegionRecord R = {Address, Size, Kind, Id, 0, 0};
    RegionStarts.insert(R.Address);
    return record(MNEME_RECORD_REGION, bytes(R));
  }

  /// Whole pages of the region that is there already; zeros are around \p Raw.
  SnapshotBuilder &data(uint64_t Offset, StringRef Raw) {
    auto Region = RegionStarts.upper_bound(Base + Offset);
    uint64_t Skip = 0;
    if (Region != RegionStarts.begin())
      Skip = (Base + Offset - *std::prev(Region)) % MNEME_SNAPSHOT_PAGE;
    std::string Filled(Skip, '\0');
    Filled += Raw;
    uint32_t First = Pages.pages(Filled);
    uint32_t NumPages = static_cast<uint32_t>(Pages.Footer.NumPages) - First;
    return run(Offset - Skip, NumPages, First);
  }
  /// \p NumPages pages of the page file.
  SnapshotBuilder &run(uint64_t Offset, uint32_t NumPages, uint32_t First,
                       uint32_t Step = 1, uint32_t File = 0) {
    Runs.push_back({Base + Offset, NumPages, File, First, Step});
    return *this;
  }

  SnapshotBuilder &annotation(uint64_t Offset, uint64_t Size, uint32_t DType,
                              uint32_t Tolerance, uint32_t Norm, double Value,
                              StringRef Tag) {
    MnemeAnnotationRecord R = {Base + Offset, Size,
                               DType,         Tolerance,
                               Norm,          static_cast<uint32_t>(Tag.size()),
                               Value};
    return record(MNEME_RECORD_ANNOTATION, bytes(R) + Tag.str());
  }

  /// Everything so far, without an end record.
  std::string open() {
    Header.HeaderDigest = digest64(
        StringRef(bytes(Header)).take_front(sizeof(Header) - sizeof(uint64_t)));
    return bytes(Header) + Records;
  }

  std::string close() {
    uint64_t NumPages = 0;
    if (!Runs.empty()) {
      record(MNEME_RECORD_PAGE_FILES, bytes(Pages.id()));
      std::string Payload;
      for (const MnemePageRun &R : Runs) {
        Payload += bytes(R);
        NumPages += R.NumPages;
      }
      record(MNEME_RECORD_PAGES, Payload);
      if (Files)
        (*Files)[Pages.name()] = Pages.close();
    }
    record(MNEME_RECORD_END, bytes(MnemeEndRecord{NumRecords, NumPages}));
    return open();
  }

  MnemeSnapshotHeader Header = {};
  PageFileBuilder Pages;

private:
  FileMap *Files;
  std::string Records;
  std::set<uint64_t> RegionStarts;
  std::vector<MnemePageRun> Runs;
  uint64_t NumRecords = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_RECORD_SNAPSHOTBUILDER_H
