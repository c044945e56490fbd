//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Payload.h"
#include "ElfSections.h"
#include "Extract.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Larger than any device module; a damaged size must not exhaust memory.
static constexpr uint64_t MaxBitcodeSize = uint64_t(1) << 30;

namespace {
/// Reads values from a payload's bytes, each with a bounds check.
class PayloadParser {
public:
  PayloadParser(StringRef Bytes, StringRef Where)
      : Bytes(Bytes), Where(Where) {}

  Expected<Payload> parse();

private:
  Error fail(const Twine &Message) const {
    return createStringError(inconvertibleErrorCode(),
                             "'" + Where + "': damaged payload: " + Message);
  }
  uint32_t read32(uint64_t Offset) const {
    return support::endian::read32le(Bytes.data() + Offset);
  }
  uint64_t read64(uint64_t Offset) const {
    return support::endian::read64le(Bytes.data() + Offset);
  }
  /// Returns true if \p Count structs of \p Size bytes at \p Offset are within
  /// the payload.
  bool contains(uint64_t Offset, uint64_t Count, uint64_t Size) const {
    return Offset <= Bytes.size() && Count <= (Bytes.size() - Offset) / Size;
  }
  Error readString(uint32_t Offset, const Twine &What, std::string &Out) const;
  Error readKernel(uint64_t Offset, PayloadKernel &Out);
  Error readBitcode(Payload &Out) const;

  StringRef Bytes;
  StringRef Where;
  /// Bytes of names and arguments so far. Without a limit, a small payload with
  /// overlapping tables could exhaust memory.
  uint64_t TableBytes = 0;
};
} // namespace

#define HEADER(FIELD) offsetof(MnemePayloadHeader, FIELD)

/// Returns the format's name if \p Bytes begin with that of another version;
/// empty otherwise.
static StringRef findOtherFormat(StringRef Bytes) {
  constexpr StringLiteral Magic = MNEME_PAYLOAD_MAGIC;
  StringRef Found = Bytes.take_front(Magic.size());
  return Found != Magic && Found.size() == Magic.size() &&
                 Found.starts_with(Magic.drop_back())
             ? Found
             : "";
}

Error PayloadParser::readString(uint32_t Offset, const Twine &What,
                                std::string &Out) const {
  size_t End = Offset < Bytes.size() ? Bytes.find('\0', Offset) : Bytes.npos;
  if (Offset < sizeof(MnemePayloadHeader) || End == Bytes.npos)
    return fail("the " + What + " lies outside of it");
  Out = Bytes.slice(Offset, End).str();
  return Error::success();
}

Error PayloadParser::readKernel(uint64_t Offset, PayloadKernel &Out) {
  if (Error E =
          readString(read32(Offset + offsetof(MnemePayloadKernel, NameOffset)),
                     "name of a kernel", Out.Name))
    return E;
  uint32_t NumArgs = read32(Offset + offsetof(MnemePayloadKernel, NumArgs));
  uint64_t At = read32(Offset + offsetof(MnemePayloadKernel, ArgsOffset));
  if (!contains(At, NumArgs, sizeof(MnemePayloadArg)))
    return fail("the arguments of '" + Out.Name + "' lie outside of it");
  uint32_t HashAt =
      read32(Offset + offsetof(MnemePayloadKernel, StaticHashOffset));
  Digest128 Hash;
  if (HashAt && !contains(HashAt, 1, Hash.size()))
    return fail("the static hash of '" + Out.Name + "' lies outside of it");
  if (HashAt) {
    llvm::copy(Bytes.substr(HashAt, Hash.size()), Hash.begin());
    Out.StaticHash = toHexString(Hash);
  }
  TableBytes += Out.Name.size() + NumArgs * sizeof(MnemePayloadArg);
  if (TableBytes > Bytes.size())
    return fail("the names and arguments of its kernels overlap");
  for (uint32_t I = 0; I != NumArgs; ++I, At += sizeof(MnemePayloadArg)) {
    KernelArg Arg;
    Arg.Size = read32(At + offsetof(MnemePayloadArg, Size));
    Arg.Offset = read32(At + offsetof(MnemePayloadArg, Offset));
    Arg.Kind = read32(At + offsetof(MnemePayloadArg, Kind));
    if (Arg.Kind > MNEME_ARG_AGGREGATE)
      return fail("argument " + Twine(I) + " of '" + Out.Name +
                  "' has the unknown kind " + Twine(Arg.Kind));
    Out.Args.push_back(std::move(Arg));
  }
  return Error::success();
}

Error PayloadParser::readBitcode(Payload &Out) const {
  uint64_t Offset = read64(HEADER(BitcodeOffset));
  uint64_t Stored = read64(HEADER(StoredSize));
  uint64_t Size = read64(HEADER(BitcodeSize));
  if (!contains(Offset, Stored, 1))
    return fail("the bitcode lies outside of it");
  if (read32(HEADER(Flags)) & MNEME_PAYLOAD_SLIM) {
    Digest128 Hash;
    if (Stored || Size)
      return fail("it has bitcode although it is slim");
    llvm::copy(Bytes.substr(HEADER(Hash), Hash.size()), Hash.begin());
    Out.Hash = toHexString(Hash);
    return Error::success();
  }
  StringRef Data = Bytes.substr(Offset, Stored);
  if (!(read32(HEADER(Flags)) & MNEME_PAYLOAD_ZSTD)) {
    if (Size != Stored)
      return fail("the bitcode has " + Twine(Stored) + " bytes, not " +
                  Twine(Size));
    Out.Bitcode = Data.str();
  } else {
    if (!compression::zstd::isAvailable())
      return createStringError(inconvertibleErrorCode(),
                               "'" + Where +
                                   "': the payload is compressed and this LLVM "
                                   "was built without zstd");
    if (Size > MaxBitcodeSize)
      return fail("it claims " + Twine(Size) + " bytes of bitcode");
    SmallVector<uint8_t, 0> Plain;
    if (Error E = compression::zstd::decompress(arrayRefFromStringRef(Data),
                                                Plain, Size))
      return fail(toString(std::move(E)));
    if (Plain.size() != Size)
      return fail("the bitcode has " + Twine(Plain.size()) + " bytes, not " +
                  Twine(Size));
    Out.Bitcode = toStringRef(Plain).str();
  }
  Digest128 Hash = digest128(Out.Bitcode);
  if (Bytes.substr(HEADER(Hash), Hash.size()) !=
      StringRef(reinterpret_cast<const char *>(Hash.data()), Hash.size()))
    return fail("the digest of its bitcode does not match");
  Out.Hash = toHexString(Hash);
  return Error::success();
}

Expected<Payload> PayloadParser::parse() {
  constexpr uint32_t KnownFlags =
      MNEME_PAYLOAD_ZSTD | MNEME_PAYLOAD_RDC | MNEME_PAYLOAD_SLIM;
  if (!Bytes.starts_with(MNEME_PAYLOAD_MAGIC))
    return fail("it does not begin with '" MNEME_PAYLOAD_MAGIC "'");
  if (Bytes.size() < sizeof(MnemePayloadHeader))
    return fail("it ends within its header");
  uint32_t HeaderSize = read32(HEADER(HeaderSize));
  if (HeaderSize < sizeof(MnemePayloadHeader) || HeaderSize > Bytes.size())
    return fail("its header claims " + Twine(HeaderSize) + " bytes");
  if (read64(HEADER(TotalSize)) != Bytes.size())
    return fail("it claims " + Twine(read64(HEADER(TotalSize))) +
                " bytes and has " + Twine(Bytes.size()));
  uint32_t Flags = read32(HEADER(Flags));
  if (Flags & ~KnownFlags)
    return fail("it has unknown flags, 0x" + Twine::utohexstr(Flags));
  uint32_t OptLevel = read32(HEADER(OptLevel));
  if (OptLevel > 127 || !StringRef("0123sz").contains(char(OptLevel)))
    return fail("it has the unknown optimization level " + Twine(OptLevel));

  Payload Out;
  Out.OptLevel = OptLevel;
  Out.IsRDC = Flags & MNEME_PAYLOAD_RDC;
  Out.IsSlim = Flags & MNEME_PAYLOAD_SLIM;
  if (Error E = readString(read32(HEADER(TripleOffset)), "triple", Out.Triple))
    return std::move(E);
  if (Error E =
          readString(read32(HEADER(ArchOffset)), "architecture", Out.Arch))
    return std::move(E);
  if (Error E = readString(read32(HEADER(SourceOffset)), "source file's name",
                           Out.Source))
    return std::move(E);
  uint32_t NumKernels = read32(HEADER(NumKernels));
  uint64_t At = read32(HEADER(KernelsOffset));
  if (!contains(At, NumKernels, sizeof(MnemePayloadKernel)))
    return fail("its table of kernels lies outside of it");
  for (uint32_t I = 0; I != NumKernels; ++I, At += sizeof(MnemePayloadKernel)) {
    PayloadKernel Kernel;
    if (Error E = readKernel(At, Kernel))
      return std::move(E);
    Out.Kernels.push_back(std::move(Kernel));
  }
  if (Error E = readBitcode(Out))
    return std::move(E);
  return std::move(Out);
}

Expected<Payload> mneme::parsePayload(StringRef Bytes, StringRef Where) {
  return PayloadParser(Bytes, Where).parse();
}

namespace {
/// Collects the payloads of a file without repetitions: archive members may
/// repeat payloads that a link would merge.
class PayloadCollector {
public:
  Error addSection(StringRef Contents, StringRef Where);

  std::vector<Payload> Payloads;

private:
  StringSet<> Seen;
};
} // namespace

Error PayloadCollector::addSection(StringRef Contents, StringRef Where) {
  while (!Contents.empty()) {
    // The linker pads between its inputs.
    if (Contents.front() == '\0') {
      Contents = Contents.ltrim('\0');
      continue;
    }
    if (StringRef Format = findOtherFormat(Contents); !Format.empty())
      return createStringError("'" + Where + "': its payload has the format " +
                               Format + ", this tool reads " +
                               MNEME_PAYLOAD_MAGIC +
                               ": pass and tool must be of one version");
    constexpr size_t SizeEnd = HEADER(TotalSize) + sizeof(uint64_t);
    if (!Contents.starts_with(MNEME_PAYLOAD_MAGIC) || Contents.size() < SizeEnd)
      return createStringError(inconvertibleErrorCode(),
                               "'" + Where + "': damaged section '" +
                                   MNEME_PAYLOAD_SECTION +
                                   "': no payload where one must begin");
    uint64_t Size =
        support::endian::read64le(Contents.data() + HEADER(TotalSize));
    if (Size < sizeof(MnemePayloadHeader) || Size % 8 || Size > Contents.size())
      return createStringError(inconvertibleErrorCode(),
                               "'" + Where + "': damaged payload: it claims " +
                                   Twine(Size) + " bytes, its section has " +
                                   Twine(Contents.size()) + " left");
    StringRef Bytes = Contents.take_front(Size);
    Contents = Contents.drop_front(Size);
    if (!Seen.insert(Bytes).second)
      continue;
    Expected<Payload> P = parsePayload(Bytes, Where);
    if (!P)
      return P.takeError();
    Payloads.push_back(std::move(*P));
  }
  return Error::success();
}

const PayloadKernel *Payload::findKernel(StringRef Name) const {
  auto K =
      find_if(Kernels, [&](const PayloadKernel &K) { return K.Name == Name; });
  return K == Kernels.end() ? nullptr : &*K;
}

Expected<std::vector<Payload>> mneme::readPayloads(StringRef Path) {
  PayloadCollector Collector;
  if (Error E = forEachSection(Path, MNEME_PAYLOAD_SECTION,
                               [&](StringRef Contents, StringRef Where) {
                                 return Collector.addSection(Contents, Where);
                               }))
    return std::move(E);
  if (Collector.Payloads.empty())
    return createStringError(inconvertibleErrorCode(),
                             "'" + Path +
                                 "': holds no device code; compile with "
                                 "-fpass-plugin=MnemePass.so");
  return std::move(Collector.Payloads);
}

Expected<std::unique_ptr<Module>>
mneme::parsePayloadModule(const Payload &P, LLVMContext &Context) {
  // LLVM's message names the version that wrote the bitcode and its own.
  Expected<std::unique_ptr<Module>> M =
      parseBitcodeFile(MemoryBufferRef(P.Bitcode, P.Source), Context);
  if (!M)
    return createFileError(P.Source, M.takeError());
  std::string Message;
  raw_string_ostream OS(Message);
  if (verifyModule(**M, &OS))
    return createStringError(inconvertibleErrorCode(),
                             "'" + P.Source + "': invalid device code: " +
                                 StringRef(Message).rtrim());
  nameGlobals(**M);
  return M;
}
