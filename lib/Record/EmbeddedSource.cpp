//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/EmbeddedSource.h"
#include "ElfSections.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace llvm::mneme;

/// A damaged size must not exhaust memory.
static constexpr uint64_t MaxUnit = 256 << 20;

static Expected<EmbeddedSource> parseRecord(StringRef Bytes, uint64_t Stored,
                                            uint64_t Size) {
  SmallVector<uint8_t, 0> Plain;
  if (Error E = compression::zstd::decompress(
          arrayRefFromStringRef(Bytes.substr(SourceHeaderSize, Stored)), Plain,
          Size))
    return std::move(E);
  auto [Head, Text] = toStringRef(Plain).split('\n');
  Expected<json::Value> V = parseJSON(Head);
  if (!V)
    return V.takeError();
  EmbeddedSource Unit;
  json::Path::Root Root("unit");
  json::ObjectMapper O(*V, Root);
  if (!O || !O.map("input", Unit.Input) || !O.map("words", Unit.Words))
    return Root.getError();
  Unit.Rewritten = Text.str();
  return std::move(Unit);
}

Expected<std::vector<EmbeddedSource>>
mneme::readEmbeddedSources(StringRef Path) {
  std::vector<EmbeddedSource> Units;
  auto Read = [&](StringRef Contents, StringRef Where) -> Error {
    auto Refuse = [&] {
      return createStringError("'" + Where + "': damaged section '" +
                               SourceSection + "'");
    };
    while (!(Contents = Contents.ltrim('\0')).empty()) {
      if (!Contents.starts_with(SourceMagic) ||
          Contents.size() < SourceHeaderSize)
        return Refuse();
      const char *Sizes = Contents.data() + SourceMagic.size();
      uint64_t Total = support::endian::read64le(Sizes),
               Stored = support::endian::read64le(Sizes + 8),
               Plain = support::endian::read64le(Sizes + 16);
      if (Total > Contents.size() || Total < SourceHeaderSize ||
          Stored > Total - SourceHeaderSize || Plain > MaxUnit)
        return Refuse();
      Expected<EmbeddedSource> Unit =
          parseRecord(Contents.take_front(Total), Stored, Plain);
      if (!Unit)
        return joinErrors(Refuse(), Unit.takeError());
      Units.push_back(std::move(*Unit));
      Contents = Contents.drop_front(Total);
    }
    return Error::success();
  };
  if (Error E = forEachSection(Path, SourceSection, Read))
    return std::move(E);
  if (Units.empty())
    return createStringError("'" + Path +
                             "': holds no source; build it with MNEME_SOURCE=1 "
                             "in the environment");
  return std::move(Units);
}
