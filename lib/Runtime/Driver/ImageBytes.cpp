//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImageBytes.h"
#include "Descriptor.h"
#include "Vendor.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mneme;

std::string mneme::digestOfImage(const void *Data, size_t Size) {
  XXH128_canonical_t Canonical;
  XXH128_canonicalFromHash(&Canonical, XXH3_128bits(Data, Size));
  return std::string(reinterpret_cast<const char *>(Canonical.digest),
                     sizeof(Canonical.digest));
}

/// What clang and nvcc pass to the runtime, and the runtime to the driver.
struct FatbinWrapper {
  uint32_t Magic, Version;
  const void *Data;
  const void *Reserved;
};
static constexpr uint32_t WrapperMagic = 0x466243b1;

/// Header of a fat binary.
struct FatbinHeader {
  uint32_t Magic;
  uint16_t Version, HeaderSize;
  uint64_t Size; ///< Without this header.
};
static constexpr uint32_t FatbinMagic = 0xba55ed50;
static constexpr char BundleMagic[] = "__CLANG_OFFLOAD_BUNDLE__";
static constexpr char CompressedMagic[] = "CCOB";
static constexpr char BitcodeMagic[] = "BC\xc0\xde";

const void *mneme::unwrapImage(const void *Image) {
  uint32_t Magic;
  memcpy(&Magic, Image, sizeof(Magic));
  if (Magic != WrapperMagic)
    return Image;
  FatbinWrapper W;
  memcpy(&W, Image, sizeof(W));
  return W.Data;
}

/// The size of an offload bundle, in which HIP finds the code object for its
/// device.
static size_t sizeOfBundle(const char *Bundle) {
  struct Entry {
    uint64_t Offset, Size, NameSize;
  };
  uint64_t Count, Size = 0;
  const char *At = Bundle + sizeof(BundleMagic) - 1;
  memcpy(&Count, At, sizeof(Count));
  At += sizeof(Count);
  for (uint64_t I = 0; I != Count; ++I) {
    Entry E;
    memcpy(&E, At, sizeof(E));
    At += sizeof(E) + E.NameSize;
    Size = std::max(Size, E.Offset + E.Size);
  }
  return Size;
}

/// A compressed bundle (--offload-compress). The first version of the format
/// does not have its size: then that of the header.
static size_t sizeOfCompressed(const char *Bundle) {
  struct {
    char Magic[4];
    uint16_t Version, Method;
  } H;
  memcpy(&H, Bundle, sizeof(H));
  if (H.Version == 1)
    return MNEME_BUNDLE_HEADER_SIZE;
  auto Read = [&](auto Size) {
    memcpy(&Size, Bundle + sizeof(H), sizeof(Size));
    return size_t(Size);
  };
  return H.Version == 2   ? Read(uint32_t())
         : H.Version == 3 ? Read(uint64_t())
                          : 0;
}

/// LLVM bitcode: blocks, each with its size in words. The last one has the
/// symbols' names.
static size_t sizeOfBitcode(const char *Bitcode) {
  constexpr size_t Word = 4;
  constexpr uint32_t EnterBlock = 1, NamesBlock = 23, MaxBlock = 26;
  for (size_t At = Word;;) {
    uint32_t Block[2]; // 2 bits of the kind, 8 of the number, padding; the size
    memcpy(Block, Bitcode + At, sizeof(Block));
    uint32_t Number = Block[0] >> 2 & 0xff;
    if ((Block[0] & 3) != EnterBlock || Number > MaxBlock)
      return 0;
    At += sizeof(Block) + Word * size_t(Block[1]);
    if (Number == NamesBlock)
      return At;
  }
}

size_t mneme::sizeOfImage(const void *Image) {
  auto *Bytes = static_cast<const char *>(Image);
  if (!strncmp(Bytes, BitcodeMagic, sizeof(BitcodeMagic) - 1))
    return sizeOfBitcode(Bytes);
  // Byte by byte: a text may be shorter than a header.
  if (Bytes[0] == ELFMAG0 && !strncmp(Bytes + 1, &ELFMAG[1], SELFMAG - 1)) {
    Elf64_Ehdr H;
    memcpy(&H, Image, sizeof(H));
    return std::max({H.e_shoff + uint64_t(H.e_shnum) * H.e_shentsize,
                     H.e_phoff + uint64_t(H.e_phnum) * H.e_phentsize,
                     uint64_t(sizeof(H))});
  }
  if (Bytes[0] == '\x50' && Bytes[1] == '\xed' && Bytes[2] == '\x55') {
    FatbinHeader H;
    memcpy(&H, Image, sizeof(H));
    return H.Magic == FatbinMagic ? H.HeaderSize + H.Size : 0;
  }
  if (ForHip && !strncmp(Bytes, CompressedMagic, sizeof(CompressedMagic) - 1))
    return sizeOfCompressed(Bytes);
  if (ForHip)
    return strncmp(Bytes, BundleMagic, sizeof(BundleMagic) - 1)
               ? 0
               : sizeOfBundle(Bytes);
  bool IsText = Bytes[0] == '/' || Bytes[0] == '.' ||
                (Bytes[0] > 0 && strchr(" \t\r\n", Bytes[0]));
  return IsText ? strlen(Bytes) : 0;
}

std::string mneme::digestOfLoadedImage(const void *Image, size_t Size) {
  const void *Data = unwrapImage(Image);
  if (size_t Own = sizeOfImage(Data); Own && Own <= Size)
    Size = Own;
  return digestOfImage(Data, Size);
}

static std::string readWholeFile(const char *Path) {
  std::string Bytes;
  OwnedDescriptor FD(open(Path, O_RDONLY | O_CLOEXEC));
  struct stat S;
  if (FD < 0 || fstat(FD, &S) || !S_ISREG(S.st_mode))
    return Bytes;
  Bytes.resize(S.st_size);
  size_t Done = 0;
  while (Done != Bytes.size()) {
    ssize_t N = pread(FD, &Bytes[Done], Bytes.size() - Done, Done);
    if (N <= 0)
      break;
    Done += N;
  }
  Bytes.resize(Done);
  return Bytes;
}

std::string mneme::readImageFile(const char *Path) {
  constexpr size_t MinSize = 64; // What sizeOfImage() reads.
  std::string Bytes = readWholeFile(Path);
  // sizeOfImage() relies on a terminator, and takes off what follows.
  Bytes.resize(Bytes.size() > MinSize
                   ? std::min(Bytes.size(), sizeOfImage(Bytes.data()))
                   : 0);
  return Bytes;
}
