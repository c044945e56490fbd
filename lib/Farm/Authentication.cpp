//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Authentication.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SHA256.h"
#include <array>
#include <sys/random.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr size_t BlockBytes = 64;

std::string mneme::computeHMAC(StringRef Key, StringRef Message) {
  std::array<uint8_t, BlockBytes> Padded = {};
  std::array<uint8_t, 32> Digest;
  if (Key.size() > BlockBytes) {
    Digest = SHA256::hash(arrayRefFromStringRef(Key));
    std::copy(Digest.begin(), Digest.end(), Padded.begin());
  } else {
    std::copy(Key.begin(), Key.end(), Padded.begin());
  }
  auto Hash = [&](uint8_t Pad, ArrayRef<uint8_t> Data) {
    std::array<uint8_t, BlockBytes> Block;
    for (size_t I = 0; I != BlockBytes; ++I)
      Block[I] = Padded[I] ^ Pad;
    SHA256 H;
    H.update(Block);
    H.update(Data);
    return H.final();
  };
  Digest = Hash(0x36, arrayRefFromStringRef(Message));
  return toHex(Hash(0x5c, Digest), /*LowerCase=*/true);
}

std::string mneme::makeNonce() {
  std::array<uint8_t, 32> Bytes;
  ssize_t N = sys::RetryAfterSignal(-1, ::getrandom, Bytes.data(),
                                    Bytes.size(), 0u);
  if (N != static_cast<ssize_t>(Bytes.size()))
    report_fatal_error("the system has no random numbers");
  return toHex(Bytes, /*LowerCase=*/true);
}

std::string mneme::makeProof(StringRef Token, FarmRole Role,
                             StringRef Challenge, StringRef Nonce) {
  StringRef Who = Role == FarmRole::Worker ? "worker" : "coordinator";
  return computeHMAC(Token,
                     ("mneme:" + Who + ":" + Challenge + ":" + Nonce).str());
}

bool mneme::isSameProof(StringRef A, StringRef B) {
  if (A.size() != B.size())
    return false;
  unsigned char Difference = 0;
  for (size_t I = 0; I != A.size(); ++I)
    Difference |= static_cast<unsigned char>(A[I] ^ B[I]);
  return Difference == 0;
}
