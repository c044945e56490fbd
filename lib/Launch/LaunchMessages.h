//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The requests of Runtime/Wire.h, decoded and validated. A request is an error
/// if it differs from the form of its type in any byte, or if its values are
/// impossible. Server checks what depends on the launcher's state, such as
/// whether a kernel was loaded.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_LAUNCHMESSAGES_H
#define LLVM_MNEME_LIB_LAUNCH_LAUNCHMESSAGES_H

#include "RecordKeeper.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Compile/KernelImage.h"
#include "llvm/Mneme/Launch/Profile.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct HelloRequest {
  std::string Device; ///< "host", "cuda", "hip"
  std::string RankVariable;
  uint64_t CodeBase = 0, CodeSize = 0;
  StringMap<uint64_t> Symbols; ///< Addresses of mneme_host_symbols.
  static Expected<HelloRequest> decode(StringRef Body);
};

struct LoadModuleRequest {
  Digest128 Module;
  std::vector<std::string> Payloads;
  static Expected<LoadModuleRequest> decode(StringRef Body);
};

struct InitializeRequest {
  Digest128 Module;
  uint32_t Copy = 0;
  std::vector<std::string> Names; ///< In the order of the request.
  StringMap<uint64_t> Addresses;
  static Expected<InitializeRequest> decode(StringRef Body);
};

struct LoadKernelRequest {
  Digest128 Module, Unit;
  uint32_t Copy = 0;
  std::string Kernel;
  bool ForHost = false;
  static Expected<LoadKernelRequest> decode(StringRef Body);
};

struct LoadObjectRequest {
  Digest128 Module;
  uint32_t Copy = 0;
  std::string CPU, Entry, Object;
  static Expected<LoadObjectRequest> decode(StringRef Body);
};

struct LoadImageRequest {
  std::string Image, Kernel, Arch;
  bool HasLayout = false; ///< The driver has given Layout.
  std::vector<ImageParam> Layout;
  std::string IR, Options; ///< Registered; empty if not.
  static Expected<LoadImageRequest> decode(StringRef Body);
};

struct LoadLibraryRequest {
  Digest128 Module;
  LibraryImage Library;
  static Expected<LoadLibraryRequest> decode(StringRef Body);
};

struct RecordedRequest {
  RecordedLaunch Launch;
  std::string Prologue, Epilogue; ///< Names in the staging folder.
  bool IsTentative = false;
  static Expected<RecordedRequest> decode(StringRef Body);
};

struct WithdrawRequest {
  std::string StaticHash, DynamicHash;
  static Expected<WithdrawRequest> decode(StringRef Body);
};

/// Decodes the body of a summary. The caller sets IsRecorded of its kernels.
Expected<ProcessSummary> decodeSummary(StringRef Body);

/// Decodes the profile of a process.
Expected<Profile> decodeProfile(StringRef Body);

/// The error for any message that cannot be decoded.
Error malformed();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_LAUNCHMESSAGES_H
