//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds snapshot files in memory, valid ones and ones with a chosen defect.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_RECORD_SNAPSHOTBUILDER_H
#define LLVM_MNEME_UNITTESTS_RECORD_SNAPSHOTBUILDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Support/Digest.h"
#include <cstring>
#include <string>

namespace llvm {
namespace mneme {

class SnapshotBuilder {
public:
  /// Not MNEME_ARENA_BASE, where the allocator of AddressSanitizer may lie.
  static constexpr uint64_t Base = 0x200000000000;

  explicit SnapshotBuilder(uint32_t Kind) {
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
    return record(MNEME_RECORD_REGION, bytes(R) + Name.str());
  }

  /// Of any kind, without a name, at any address.
  SnapshotBuilder &regionAt(uint64_t Address, uint64_t Size, uint32_t Id,
                            uint32_t Kind) {
    MnemeRegionRecord R = {Address, Size, Kind, Id, 0, 0};
    return record(MNEME_RECORD_REGION, bytes(R));
  }

  SnapshotBuilder &data(uint64_t Offset, uint64_t RawSize, uint32_t Encoding,
                        StringRef Stored) {
    MnemeDataRecord R = {Base + Offset, RawSize, Encoding, 0};
    RawBytes += RawSize;
    return record(MNEME_RECORD_DATA, bytes(R) + Stored.str());
  }
  SnapshotBuilder &data(uint64_t Offset, StringRef Raw) {
    return data(Offset, Raw.size(), MNEME_ENCODING_RAW, Raw);
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
    record(MNEME_RECORD_END, bytes(MnemeEndRecord{NumRecords, RawBytes}));
    return open();
  }

  MnemeSnapshotHeader Header = {};

private:
  std::string Records;
  uint64_t NumRecords = 0, RawBytes = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_RECORD_SNAPSHOTBUILDER_H
