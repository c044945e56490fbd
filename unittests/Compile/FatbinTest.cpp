//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Fatbin.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

static std::string str(ArrayRef<char> Bytes) {
  return std::string(Bytes.begin(), Bytes.end());
}

template <typename T> static void append(std::string &Out, T Value) {
  char Bytes[sizeof(T)];
  support::endian::write<T>(Bytes, Value, endianness::little);
  Out.append(Bytes, sizeof(T));
}

/// An entry as CUDA's fatbinary writes it.
static std::string entry(uint16_t Kind, uint32_t Arch, uint64_t Flags,
                         StringRef Stored, uint64_t Size) {
  std::string Padded = Stored.str();
  Padded.resize((Padded.size() + 7) / 8 * 8);
  bool Compressed = Size != 0;
  std::string Out;
  append<uint16_t>(Out, Kind);
  append<uint16_t>(Out, 0x101);
  append<uint32_t>(Out, 64);
  append<uint64_t>(Out, Padded.size());
  append<uint32_t>(Out, Compressed ? Stored.size() : 0);
  append<uint32_t>(Out, 0);
  append<uint32_t>(Out, 0x10008);
  append<uint32_t>(Out, Arch);
  append<uint64_t>(Out, 0);
  append<uint64_t>(Out, Flags | 0x11);
  append<uint64_t>(Out, 0);
  append<uint64_t>(Out, Size);
  return Out + Padded;
}

static std::string container(const std::string &Entries) {
  std::string Out;
  append<uint32_t>(Out, 0xba55ed50);
  append<uint16_t>(Out, 1);
  append<uint16_t>(Out, 16);
  append<uint64_t>(Out, Entries.size());
  return Out + Entries;
}

// "abcabcabc" followed by five literals.
static const std::string LZ4Block("\x32"
                                  "abc\x03\x00\x50hello",
                                  12);

TEST(FatbinTest, Entries) {
  std::string Bytes =
      container(entry(2, 90, 0, "cubin 90", 0) +
                entry(1, 90, 0x2000, LZ4Block, 14)) +
      std::string(24, '\0') +
      container(entry(2, 90, 0x100000, "12345678", 0) +
                entry(2, 120, 0x200000, "87654321", 0) +
                entry(9, 75, 0x1000, "00000000", 77));
  auto Entries = parseFatbins(Bytes, "file");
  ASSERT_THAT_EXPECTED(Entries, Succeeded());
  ASSERT_EQ(Entries->size(), 5u);
  EXPECT_EQ((*Entries)[0].Kind, FatbinEntry::Cubin);
  EXPECT_EQ((*Entries)[0].Arch, "sm_90");
  EXPECT_EQ((*Entries)[1].Kind, FatbinEntry::PTX);
  EXPECT_EQ((*Entries)[1].Compression, FatbinEntry::LZ4);
  EXPECT_EQ((*Entries)[2].Arch, "sm_90a");
  EXPECT_EQ((*Entries)[3].Arch, "sm_120f");
  EXPECT_EQ((*Entries)[4].Kind, FatbinEntry::Other);
  auto Read = [&](size_t I) {
    auto Image = readFatbinEntry((*Entries)[I], "file");
    return Image ? str(*Image) : toString(Image.takeError());
  };
  EXPECT_EQ(Read(0), "cubin 90");
  EXPECT_EQ(Read(1), "abcabcabchello");
  EXPECT_THAT(Read(4), HasSubstr("compressed in an unknown way"));
}

TEST(FatbinTest, Zstd) {
  if (!compression::zstd::isAvailable())
    GTEST_SKIP() << "LLVM has no zstd";
  std::string Text(1000, 'x');
  SmallVector<uint8_t, 0> Compressed;
  compression::zstd::compress(arrayRefFromStringRef(Text), Compressed);
  for (uint64_t Size : {1000, 999, 1001}) {
    std::string Bytes = container(
        entry(2, 90, 0x8000, toStringRef(ArrayRef<uint8_t>(Compressed)), Size));
    auto Entries = parseFatbins(Bytes, "file");
    ASSERT_THAT_EXPECTED(Entries, Succeeded());
    auto Image = readFatbinEntry(Entries->front(), "file");
    if (Size == Text.size()) {
      ASSERT_THAT_EXPECTED(Image, Succeeded());
      EXPECT_EQ(str(*Image), Text);
    } else {
      EXPECT_THAT(toString(Image.takeError()),
                  HasSubstr("'file': damaged fat binary"));
    }
  }
}

TEST(FatbinTest, LZ4) {
  auto Decompress = [](StringRef Block, uint64_t Size) {
    auto Out = decompressLZ4(Block, Size);
    return Out ? str(*Out) : toString(Out.takeError());
  };
  EXPECT_EQ(Decompress(LZ4Block, 14), "abcabcabchello");
  EXPECT_EQ(Decompress("", 0), "");
  // Lengths of 15 and more go on in bytes of their own.
  std::string Long = std::string("\xf0\x05", 2) + std::string(20, 'y');
  EXPECT_EQ(Decompress(Long, 20), std::string(20, 'y'));
  std::string Run("\x1fz\x01\x00\xff\x02\x00", 7);
  EXPECT_EQ(Decompress(Run, 277), std::string(277, 'z'));
  // No more and no less than it says, from nowhere but what was written.
  std::string Damaged = "damaged LZ4 block";
  EXPECT_EQ(Decompress(LZ4Block, 13), Damaged);
  EXPECT_EQ(Decompress(LZ4Block, 15), Damaged);
  EXPECT_EQ(Decompress(StringRef("\x10z\x00\x00\x00", 5), 10), Damaged);
  EXPECT_EQ(Decompress(StringRef("\x10z\x02\x00\x00", 5), 10), Damaged);
  EXPECT_EQ(Decompress(StringRef("\x10z\x01", 3), 10), Damaged);
  EXPECT_EQ(Decompress("\xff\xff", 1000), Damaged);
  EXPECT_EQ(Decompress("\x50yyy", 5), Damaged);
}

TEST(FatbinTest, Damage) {
  auto Message = [](StringRef Bytes) {
    auto Entries = parseFatbins(Bytes, "file");
    return Entries ? std::string() : toString(Entries.takeError());
  };
  std::string Good = container(entry(2, 90, 0, "cubin 90", 0));
  EXPECT_EQ(Message(Good), "");
  EXPECT_EQ(Message("something else that is long enough"),
            "'file': damaged fat binary: none begins where one must");
  EXPECT_EQ(Message(StringRef(Good).drop_back(8)),
            "'file': damaged fat binary: it claims 72 bytes");
  std::string Outside = Good;
  Outside[16 + 8] = 100;
  EXPECT_EQ(Message(Outside),
            "'file': damaged fat binary: an image lies outside of it");
  EXPECT_EQ(Message(container(entry(2, 90, 0x8000, "12345678",
                                    uint64_t(1) << 40))),
            "'file': damaged fat binary: an image claims 1099511627776 bytes");
  EXPECT_EQ(Message(container(std::string(20, 'x'))),
            "'file': damaged fat binary: it ends within the header of an "
            "image");
  // Cut off anywhere, any one bit flipped: an answer or an Error.
  std::string Mixed = container(entry(2, 90, 0, "cubin 90", 0) +
                                entry(2, 90, 0x2000, LZ4Block, 14));
  auto Read = [](StringRef Bytes) {
    auto Entries = parseFatbins(Bytes, "file");
    if (!Entries)
      return consumeError(Entries.takeError());
    for (const FatbinEntry &E : *Entries)
      if (auto Image = readFatbinEntry(E, "file"); !Image)
        consumeError(Image.takeError());
  };
  for (size_t Size = 0; Size != Mixed.size(); ++Size)
    Read(StringRef(Mixed).take_front(Size));
  for (size_t Bit = 0; Bit != Mixed.size() * 8; ++Bit) {
    std::string Damaged = Mixed;
    Damaged[Bit / 8] ^= 1 << (Bit % 8);
    // Sizes up to the limit are believed and cost memory; only small ones here.
    if (support::endian::read64le(Damaged.data() + 16 + 72 + 56) < (1 << 20))
      Read(Damaged);
  }
}
