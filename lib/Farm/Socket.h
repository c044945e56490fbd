//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// TCP.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_SOCKET_H
#define LLVM_MNEME_LIB_FARM_SOCKET_H

#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
namespace mneme {

/// Listens at "ADDRESS:PORT" ("[::1]:0"), or at ":PORT" of the loopback device.
/// \returns a descriptor that does not block.
Expected<int> listenAt(StringRef Address);
/// Where that is: "127.0.0.1:40001".
std::string getLocalAddress(int FD);
/// The next who wants to connect, and where it is; -1: nobody.
int acceptConnection(int Listener, std::string &From);
/// Tries for so many seconds.
Expected<int> connectTo(StringRef Address, double Seconds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_SOCKET_H
