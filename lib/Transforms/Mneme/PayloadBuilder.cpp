//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PayloadBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

static_assert(sys::IsLittleEndianHost, "payloads are little-endian structs");

StringRef mneme::getTargetAttr(const Module &M, StringRef Name) {
  for (const Function &F : M)
    if (!F.isDeclaration() && F.hasFnAttribute(Name))
      return F.getFnAttribute(Name).getValueAsString();
  return "";
}

PayloadBuilder::PayloadBuilder(const Module &M, SmallVector<char, 0> Code,
                               char OptLevel)
    : Bitcode(std::move(Code)) {
  memcpy(Header.Magic, MNEME_PAYLOAD_MAGIC, sizeof(Header.Magic));
  Header.HeaderSize = sizeof(Header);
  Header.OptLevel = OptLevel;
  Header.BitcodeSize = Bitcode.size();
  Digest128 Hash = digest128(bitcode());
  memcpy(Header.Hash, Hash.data(), sizeof(Header.Hash));
  Header.TripleOffset = addString(getTriple(M).str());
  Header.ArchOffset = addString(getTargetAttr(M, "target-cpu"));
  Header.SourceOffset = addString(sys::path::filename(M.getSourceFileName()));
}

void PayloadBuilder::addKernel(StringRef Name, ArrayRef<KernelArg> KernelArgs,
                               std::optional<Digest128> StaticHash) {
  MnemePayloadKernel Kernel = {};
  Kernel.NameOffset = addString(Name);
  Kernel.ArgsOffset = Args.size();
  for (const KernelArg &A : KernelArgs)
    Args.push_back({A.Size, A.Offset, A.Kind, 0});
  Kernel.NumArgs = Args.size() - Kernel.ArgsOffset;
  if (StaticHash) {
    StaticHashes.push_back(*StaticHash);
    Kernel.StaticHashOffset = StaticHashes.size(); // Its number, from 1.
  }
  Kernels.push_back(Kernel);
  Header.NumKernels = Kernels.size();
}

std::string PayloadBuilder::build() {
  // So far, offsets are relative to the start of their own table.
  uint32_t KernelsAt = sizeof(MnemePayloadHeader);
  uint32_t HashesAt = KernelsAt + Kernels.size() * sizeof(MnemePayloadKernel);
  uint32_t ArgsAt = HashesAt + StaticHashes.size() * sizeof(Digest128);
  uint32_t StringsAt = ArgsAt + Args.size() * sizeof(MnemePayloadArg);
  Header.KernelsOffset = KernelsAt;
  Header.TripleOffset += StringsAt;
  Header.ArchOffset += StringsAt;
  Header.SourceOffset += StringsAt;
  for (MnemePayloadKernel &K : Kernels) {
    K.NameOffset += StringsAt;
    K.ArgsOffset = ArgsAt + K.ArgsOffset * sizeof(MnemePayloadArg);
    if (K.StaticHashOffset)
      K.StaticHashOffset =
          HashesAt + (K.StaticHashOffset - 1) * sizeof(Digest128);
  }

  ArrayRef<uint8_t> Stored =
      arrayRefFromStringRef(StringRef(Bitcode.data(), Bitcode.size()));
  SmallVector<uint8_t, 0> Compressed;
  if (compression::zstd::isAvailable()) {
    compression::zstd::compress(Stored, Compressed);
    Stored = Compressed;
    Header.Flags |= MNEME_PAYLOAD_ZSTD;
  }
  Header.BitcodeOffset = alignTo(StringsAt + Strings.size(), 8);
  Header.StoredSize = Stored.size();
  Header.TotalSize = alignTo(Header.BitcodeOffset + Header.StoredSize, 8);

  std::string Out;
  Out.reserve(Header.TotalSize);
  auto Append = [&Out](const void *Data, size_t Size) {
    Out.append(static_cast<const char *>(Data), Size);
  };
  Append(&Header, sizeof(Header));
  Append(Kernels.data(), Kernels.size() * sizeof(MnemePayloadKernel));
  Append(StaticHashes.data(), StaticHashes.size() * sizeof(Digest128));
  Append(Args.data(), Args.size() * sizeof(MnemePayloadArg));
  Append(Strings.data(), Strings.size());
  Out.resize(Header.BitcodeOffset);
  Append(Stored.data(), Stored.size());
  Out.resize(Header.TotalSize);
  return Out;
}
