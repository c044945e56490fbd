//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Both sides show that they know the token, which is never sent: each answers
/// the other's random number with a keyed digest. What follows is neither
/// encrypted nor signed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_AUTHENTICATION_H
#define LLVM_MNEME_LIB_FARM_AUTHENTICATION_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
namespace mneme {

/// HMAC-SHA-256 (RFC 2104), in hexadecimal.
std::string computeHMAC(StringRef Key, StringRef Message);

/// 32 random bytes, in hexadecimal.
std::string makeNonce();

enum class FarmRole { Coordinator, Worker };
/// What a side that knows the token answers to these numbers.
std::string makeProof(StringRef Token, FarmRole Role, StringRef Challenge,
                      StringRef Nonce);
/// Takes the same time for every wrong one.
bool isSameProof(StringRef A, StringRef B);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_AUTHENTICATION_H
