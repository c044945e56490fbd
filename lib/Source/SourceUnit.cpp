//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/SourceUnit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Source/CompileCommand.h"
#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr int64_t FormatVersion = 1;

/// Units have megabytes; the size in a damaged file must not exhaust memory.
static constexpr size_t MaxUnit = 256 << 20;

//===----------------------------------------------------------------------===//
// source.json
//===----------------------------------------------------------------------===//

// Found by argument-dependent lookup.
namespace llvm {
namespace mneme {
static json::Value toJSON(const LinkedBitcode &B) {
  return json::Object{{"path", B.Path}, {"digest", B.Digest}};
}

static bool fromJSON(const json::Value &V, LinkedBitcode &B, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("path", B.Path) && O.map("digest", B.Digest);
}

static json::Value toJSON(const SourceBlock &B) {
  return json::Object{{"name", B.Name}, {"first", B.First}, {"last", B.Last}};
}

static bool fromJSON(const json::Value &V, SourceBlock &B, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("name", B.Name) && O.map("first", B.First) &&
         O.map("last", B.Last);
}
} // namespace mneme
} // namespace llvm

template <typename T> static json::Array makeArray(const std::vector<T> &List) {
  json::Array A;
  for (const T &V : List)
    A.push_back(toJSON(V));
  return A;
}

static json::Object makeJSON(const SourceInfo &I) {
  return json::Object{{"version", FormatVersion},
                      {"kernel", I.Kernel},
                      {"static_hash", I.StaticHash},
                      {"arch", I.Arch},
                      {"opt_level", I.OptLevel},
                      {"compiler", I.Compiler},
                      {"file", json::fixUTF8(I.File)},
                      {"options", json::Array(I.Options)},
                      {"bitcode", makeArray(I.Bitcode)},
                      {"blocks", makeArray(I.Blocks)},
                      {"needs_tail", I.NeedsTail},
                      {"has_prefix", I.HasPrefix},
                      {"rdc", I.IsRDC}};
}

/// Also rejects options that selectOptions() would not select: the file may
/// come from another user.
static Error checkInfo(const SourceInfo &I, StringRef Text) {
  if (selectOptions(I.Options) != I.Options)
    return createStringError("'options' holds an option that does not affect "
                             "the code");
  unsigned Line = 0;
  LineTable Lines(Text);
  for (const SourceBlock &B : I.Blocks) {
    if (B.First <= Line || B.Last < B.First || B.Last > Lines.count())
      return createStringError(
          formatv("invalid lines of block '{0}'", B.Name).str());
    Line = B.Last;
  }
  if (I.Blocks.empty())
    return createStringError("no blocks");
  return Error::success();
}

static Expected<SourceInfo> parseInfo(StringRef Text) {
  Expected<json::Value> V = parseJSON(Text);
  if (!V)
    return V.takeError();
  SourceInfo I;
  json::Path::Root Root("source");
  json::ObjectMapper O(*V, Root);
  int64_t Version = 0;
  if (!O || !O.map("version", Version))
    return Root.getError();
  if (Version != FormatVersion)
    return createStringError(
        formatv("format version {0}, expected {1}", Version, FormatVersion)
            .str());
  if (!O.map("kernel", I.Kernel) || !O.map("static_hash", I.StaticHash) ||
      !O.map("arch", I.Arch) || !O.map("opt_level", I.OptLevel) ||
      !O.map("compiler", I.Compiler) || !O.map("file", I.File) ||
      !O.map("options", I.Options) || !O.map("bitcode", I.Bitcode) ||
      !O.map("blocks", I.Blocks) || !O.map("needs_tail", I.NeedsTail) ||
      !O.map("has_prefix", I.HasPrefix) || !O.map("rdc", I.IsRDC))
    return Root.getError();
  return std::move(I);
}

//===----------------------------------------------------------------------===//
// SourceUnit
//===----------------------------------------------------------------------===//

SourceUnit::SourceUnit(SourceInfo I, UnitText T)
    : Info(std::move(I)), Text(std::move(T)) {
  Marked = addMarkers(Text.original(), Info.Blocks);
}

Expected<SourceUnit> SourceUnit::create(SourceInfo Info,
                                        std::string Rewritten) {
  Expected<UnitText> Text = UnitText::parse(std::move(Rewritten), Info.File);
  if (!Text)
    return Text.takeError();
  if (Error E = checkInfo(Info, Text->original()))
    return std::move(E);
  return SourceUnit(std::move(Info), std::move(*Text));
}

static Expected<std::string> readUnit(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path, MaxUnit);
  if (!File)
    return File.takeError();
  // The format is "SIZE\n" and a zstd frame.
  StringRef Bytes = (*File)->getBuffer();
  size_t Size;
  if (Bytes.consumeInteger(10, Size) || !Bytes.consume_front("\n") ||
      Size > MaxUnit)
    return createFileError(Path, createStringError("damaged file"));
  SmallVector<uint8_t, 0> Plain;
  if (Error E = compression::zstd::decompress(arrayRefFromStringRef(Bytes),
                                              Plain, Size))
    return createFileError(Path, std::move(E));
  return toStringRef(Plain).str();
}

Expected<SourceUnit> SourceUnit::load(StringRef Folder) {
  if (!compression::zstd::isAvailable())
    return createStringError("this LLVM has no zstd, which '" + UnitSourceName +
                             "' needs");
  std::string Path = pathIn(Folder, SourceInfoName);
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Path);
  if (!File)
    return File.takeError();
  Expected<SourceInfo> Info = parseInfo((*File)->getBuffer());
  if (!Info)
    return createFileError(Path, Info.takeError());
  Expected<std::string> Unit = readUnit(pathIn(Folder, UnitSourceName));
  if (!Unit)
    return Unit.takeError();
  Expected<SourceUnit> Loaded = create(std::move(*Info), std::move(*Unit));
  if (!Loaded)
    return createFileError(Path, Loaded.takeError());
  return std::move(*Loaded);
}

Error SourceUnit::save(StringRef Folder) const {
  if (!compression::zstd::isAvailable())
    return createStringError("this LLVM has no zstd, which '" + UnitSourceName +
                             "' needs");
  if (std::error_code EC = sys::fs::create_directories(Folder))
    return createFileError(Folder, EC);
  std::string Path = pathIn(Folder, KernelSourceName);
  if (sys::fs::exists(Path)) {
    Expected<std::unique_ptr<MemoryBuffer>> Old = readTextFile(Path);
    if (!Old)
      return Old.takeError();
    if ((*Old)->getBuffer() != Marked)
      return createFileError(
          Path, createStringError("file exists and differs; move it away or "
                                  "choose another folder with -o"));
  }
  SmallVector<uint8_t, 0> Bytes;
  compression::zstd::compress(arrayRefFromStringRef(Text.rewritten()), Bytes);
  std::string Unit = formatv("{0}\n", Text.rewritten().size()).str();
  Unit += toStringRef(Bytes);
  if (Error E = writeFileAtomically(pathIn(Folder, UnitSourceName), Unit))
    return E;
  if (Error E = writeFileAtomically(
          pathIn(Folder, SourceInfoName),
          formatv("{0:2}\n", json::Value(makeJSON(Info))).str()))
    return E;
  return writeFileAtomically(Path, Marked);
}

Error SourceUnit::checkVersion(StringRef Version) const {
  Expected<MarkedText> New = cutAtMarkers(Version);
  if (!New)
    return New.takeError();
  MarkedText Own = cantFail(cutAtMarkers(Marked));
  // Outside of the blocks are the parts with even indices.
  size_t Parts = std::min(Own.Parts.size(), New->Parts.size());
  for (size_t I = 0; I < Parts; I += 2) {
    StringRef Wanted = Own.Parts[I], Found = New->Parts[I];
    if (Wanted == Found)
      continue;
    size_t Same =
        std::mismatch(Wanted.begin(),
                      Wanted.begin() + std::min(Wanted.size(), Found.size()),
                      Found.begin())
            .first -
        Wanted.begin();
    return makeTextError(Version, Found.data() - Version.data() + Same,
                         "the text outside of the blocks differs from the "
                         "recorded one; allow it with --edit=anywhere");
  }
  if (New->Parts.size() != Own.Parts.size())
    return makeTextError(Version, Version.size(),
                         formatv("{0} blocks, expected {1}",
                                 New->Parts.size() / 2, Own.Parts.size() / 2)
                             .str());
  return Error::success();
}

Expected<std::string> mneme::findSourceFolder(StringRef VersionPath) {
  SmallString<128> Path(VersionPath);
  sys::fs::make_absolute(Path);
  StringRef Folder = sys::path::parent_path(Path);
  for (StringRef F : {Folder, sys::path::parent_path(Folder)})
    if (sys::fs::exists(pathIn(F, SourceInfoName)))
      return F.str();
  return createStringError(
      "'" + VersionPath + "': no '" + SourceInfoName +
      "' in its folder or the one above; 'llvm-mneme-record source' writes it");
}
