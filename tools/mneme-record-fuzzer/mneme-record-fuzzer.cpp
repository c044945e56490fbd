//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Feeds arbitrary bytes to the readers of snapshots, page files, kernel files,
/// payloads, exported recordings and an application's machine code. Repairs the
/// digests first, because most of the code is behind their checks.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/CompareCode.h"
#include "llvm/Mneme/Compile/Fatbin.h"
#include "llvm/Mneme/Compile/Resources.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Record/Manage.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Record/Snapshot.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

/// Larger regions would only take memory and time.
static constexpr uint64_t MaxRegion = 1 << 20;

static void repairSnapshot(std::string &Bytes) {
  MnemeSnapshotHeader Header;
  if (Bytes.size() < sizeof(Header))
    return;
  memcpy(&Header, Bytes.data(), sizeof(Header));
  Header.HeaderDigest = digest64(
      StringRef(Bytes).take_front(offsetof(MnemeSnapshotHeader, HeaderDigest)));
  memcpy(Bytes.data(), &Header, sizeof(Header));
  MnemeRecordHeader Record;
  for (uint64_t At = sizeof(Header); Bytes.size() - At >= sizeof(Record);) {
    memcpy(&Record, Bytes.data() + At, sizeof(Record));
    uint64_t Rest = Bytes.size() - At - sizeof(Record);
    uint64_t Padded = (Record.Size + 7) & ~uint64_t(7);
    if (Record.Size > Rest || Padded > Rest)
      return;
    Record.Digest =
        digest64(StringRef(Bytes).substr(At + sizeof(Record), Record.Size));
    memcpy(Bytes.data() + At, &Record, sizeof(Record));
    At += sizeof(Record) + Padded;
  }
}

/// An input with both kinds is a page file and a snapshot that refers to it as
/// its first page file, separated by "MNEMEALL".
static constexpr StringLiteral Separator = "MNEMEALL";

static void repairPageFile(std::string &Bytes) {
  MnemePageFileFooter Footer;
  if (Bytes.size() < sizeof(MnemePageFileHeader) + sizeof(Footer))
    return;
  size_t FooterAt = Bytes.size() - sizeof(Footer);
  memcpy(&Footer, Bytes.data() + FooterAt, sizeof(Footer));
  uint64_t Room = FooterAt - sizeof(MnemePageFileHeader);
  if (Footer.NumPages > Room / 16 || Footer.NumFrames > Room / 16)
    return;
  uint64_t Index =
      Footer.NumPages * 16 + Footer.NumFrames * sizeof(MnemePageFrame);
  if (Index > Room)
    return;
  Digest128 Id = digest128(
      StringRef(Bytes).substr(FooterAt - Index, Footer.NumPages * 16));
  memcpy(Footer.Id.Id, Id.data(), Id.size());
  memcpy(&Bytes[FooterAt], &Footer, sizeof(Footer));
  std::string Signed = Bytes.substr(0, sizeof(MnemePageFileHeader));
  Signed += StringRef(Bytes).slice(
      FooterAt - Index, FooterAt + offsetof(MnemePageFileFooter, IndexDigest));
  Footer.IndexDigest = digest64(Signed);
  memcpy(&Bytes[FooterAt], &Footer, sizeof(Footer));
}

/// Sets the first page file of a snapshot to \p Id.
static void nameFirstPageFile(std::string &Bytes, const Digest128 &Id) {
  MnemeRecordHeader Record;
  for (uint64_t At = sizeof(MnemeSnapshotHeader);
       Bytes.size() >= At && Bytes.size() - At >= sizeof(Record) + Id.size();) {
    memcpy(&Record, Bytes.data() + At, sizeof(Record));
    if (Record.Type == MNEME_RECORD_PAGE_FILES) {
      memcpy(&Bytes[At + sizeof(Record)], Id.data(), Id.size());
      return;
    }
    if (Record.Size > Bytes.size())
      return;
    At += sizeof(Record) + ((Record.Size + 7) & ~uint64_t(7));
  }
}

static void repairPayload(std::string &Bytes) {
  MnemePayloadHeader Header;
  if (Bytes.size() < sizeof(Header))
    return;
  memcpy(&Header, Bytes.data(), sizeof(Header));
  if (Header.BitcodeOffset > Bytes.size() ||
      Header.StoredSize > Bytes.size() - Header.BitcodeOffset)
    return;
  StringRef Bitcode =
      StringRef(Bytes).substr(Header.BitcodeOffset, Header.StoredSize);
  SmallVector<uint8_t, 0> Plain;
  if ((Header.Flags & MNEME_PAYLOAD_ZSTD) && compression::zstd::isAvailable() &&
      Header.BitcodeSize <= MaxRegion) {
    if (Error E = compression::zstd::decompress(arrayRefFromStringRef(Bitcode),
                                                Plain, Header.BitcodeSize))
      return consumeError(std::move(E));
    Bitcode = toStringRef(Plain);
  }
  Digest128 Hash = digest128(Bitcode);
  memcpy(Header.Hash, Hash.data(), Hash.size());
  memcpy(Bytes.data(), &Header, sizeof(Header));
}

/// Repairs each payload in an object file.
static void repairPayloads(std::string &Bytes) {
  for (size_t At = Bytes.find(MNEME_PAYLOAD_MAGIC); At != std::string::npos;
       At = Bytes.find(MNEME_PAYLOAD_MAGIC, At + 1)) {
    std::string Rest = Bytes.substr(At);
    repairPayload(Rest);
    Bytes.replace(At, std::string::npos, Rest);
  }
}

static std::unique_ptr<PageFile> readPageFile(StringRef Bytes) {
  Expected<std::unique_ptr<PageFile>> F =
      PageFile::parse(MemoryBuffer::getMemBuffer(Bytes, "input", false));
  if (!F) {
    consumeError(F.takeError());
    return nullptr;
  }
  std::vector<char> Contents;
  for (size_t I = 0; I != (*F)->frames().size(); ++I) {
    Contents.resize((*F)->frames()[I].size());
    consumeError((*F)->readFrame(I, Contents));
  }
  return std::move(*F);
}

static void readSnapshot(StringRef Bytes,
                         std::unique_ptr<PageFile> Pages = nullptr) {
  auto Store = std::make_shared<PageStore>("/nowhere");
  if (Pages)
    Store->add(std::move(Pages));
  Expected<Snapshot> S =
      Snapshot::parse(MemoryBuffer::getMemBuffer(Bytes, "input", false), Store);
  if (!S)
    return consumeError(S.takeError());
  std::vector<char> Contents;
  for (size_t I = 0; I != S->regions().size(); ++I) {
    if (S->regions()[I].Size > MaxRegion)
      continue;
    Contents.assign(S->regions()[I].Size, 0);
    consumeError(S->overlay(I, Contents));
  }
  S->dropUnchanged(*S);
  if (!S->runs().empty())
    report_fatal_error("a snapshot differs from itself");
}

/// Reads a page file, optionally with a snapshot.
static void readPages(std::string Bytes) {
  auto [File, Rest] = StringRef(Bytes).split(Separator);
  std::string PageBytes = File.str(), SnapshotBytes = Rest.str();
  readPageFile(PageBytes);
  repairPageFile(PageBytes);
  std::unique_ptr<PageFile> Pages = readPageFile(PageBytes);
  if (!Pages)
    return;
  nameFirstPageFile(SnapshotBytes, Pages->id());
  repairSnapshot(SnapshotBytes);
  readSnapshot(SnapshotBytes, std::move(Pages));
}

static void readKernel(StringRef Bytes) {
  Expected<RecordedKernel> K = parseRecordedKernel(Bytes);
  if (!K)
    return consumeError(K.takeError());
  // What was read can be written and read again.
  std::string Text;
  raw_string_ostream(Text) << toJSON(*K);
  RecordedKernel Again = cantFail(parseRecordedKernel(Text));
  if (Again.isSealed() != K->isSealed())
    report_fatal_error("digests come or go");
}

/// Removes the digests from a kernel file, which would otherwise hide the rest
/// from its reader. Then adds arbitrary digests of files to seal the kernel.
static void readWithoutDigests(StringRef Bytes) {
  Expected<json::Value> V = parseJSON(Bytes);
  if (!V)
    return consumeError(V.takeError());
  json::Object *O = V->getAsObject();
  if (!O)
    return;
  (*O)["FormatVersion"] = 1;
  O->erase("Digest");
  O->erase("ModuleDigests");
  if (json::Object *Instances = O->getObject("instances"))
    for (auto &[Key, I] : *Instances)
      if (json::Object *Launch = I.getAsObject())
        for (StringRef Name : {"Digest", "PrologueDigest", "EpilogueDigest"})
          Launch->erase(Name);
  std::string Text;
  raw_string_ostream(Text) << *V;
  Expected<RecordedKernel> K = parseRecordedKernel(Text);
  if (!K)
    return consumeError(K.takeError());
  K->ModuleDigests.assign(K->Modules.size(), std::string(32, '0'));
  for (RecordedInstance &I : K->Instances)
    I.PrologueDigest = I.EpilogueDigest = std::string(32, '1');
  if (!K->isSealed())
    report_fatal_error("a kernel with all digests is not sealed");
  Text.clear();
  raw_string_ostream(Text) << toJSON(*K);
  readKernel(Text);
}

static void readFatbins(StringRef Bytes) {
  Expected<std::vector<FatbinEntry>> Entries = parseFatbins(Bytes, "input");
  if (!Entries)
    return consumeError(Entries.takeError());
  for (const FatbinEntry &E : *Entries) {
    if (E.Size > MaxRegion)
      continue;
    if (Expected<SmallVector<char, 0>> Image = readFatbinEntry(E, "input");
        !Image)
      consumeError(Image.takeError());
  }
}

static void readImage(StringRef Bytes) {
  constexpr StringLiteral Kernel = "_Z5saxpyfPKfPfi";
  if (Expected<KernelResources> R = readResources(Bytes, Kernel); !R)
    consumeError(R.takeError());
  if (Expected<CodeComparison> C = compareKernelCode(Bytes, Bytes, Kernel); !C)
    consumeError(C.takeError());
  readPtxasOptions(Bytes);
}

/// Reads files: the payload sections of objects and libraries, and exported
/// recordings.
static void readAsFile(StringRef Bytes) {
  SmallString<128> Folder;
  if (std::error_code EC =
          sys::fs::createUniqueDirectory("mneme-record-fuzzer", Folder))
    report_fatal_error(Twine("no temporary folder: ") + EC.message());
  SmallString<128> File(Folder), Target(Folder);
  sys::path::append(File, "input");
  sys::path::append(Target, "target");
  if (Error E = writeFileAtomically(File, Bytes, /*Sync=*/false))
    report_fatal_error(std::move(E));
  if (Expected<std::vector<Payload>> P = readPayloads(File); !P)
    consumeError(P.takeError());
  Expected<ManageStats> Stats = importRecordings(File, Target);
  if (!Stats) {
    consumeError(Stats.takeError());
    if (sys::fs::exists(Target))
      report_fatal_error("a refused import has left something");
  } else if (Expected<std::vector<RecordedKernel>> Kernels =
                 readDatabase(Target)) {
    for (const RecordedKernel &K : *Kernels)
      if (!checkKernel(Target, K).Problems.empty())
        report_fatal_error("what was imported has problems");
  } else {
    report_fatal_error("what was imported cannot be read");
  }
  sys::fs::remove_directories(Folder);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  std::string Bytes(reinterpret_cast<const char *>(Data), Size);
  readKernel(Bytes);
  readWithoutDigests(Bytes);
  readSnapshot(Bytes);
  readFatbins(Bytes);
  readImage(Bytes);
  if (Expected<Payload> P = parsePayload(Bytes, "input"); !P)
    consumeError(P.takeError());
  if (StringRef(Bytes).starts_with(MNEME_SNAPSHOT_MAGIC)) {
    repairSnapshot(Bytes);
    readSnapshot(Bytes);
  } else if (StringRef(Bytes).starts_with(MNEME_PAGES_MAGIC)) {
    readPages(Bytes);
  } else if (StringRef(Bytes).starts_with(MNEME_PAYLOAD_MAGIC)) {
    repairPayload(Bytes);
    if (Expected<Payload> P = parsePayload(Bytes, "input"); !P)
      consumeError(P.takeError());
  } else if (StringRef(Bytes).starts_with("!<arch>") ||
             StringRef(Bytes).starts_with("\177ELF")) {
    readAsFile(Bytes);
    std::string Repaired = Bytes;
    repairPayloads(Repaired);
    if (Repaired != Bytes)
      readAsFile(Repaired);
  }
  return 0;
}
