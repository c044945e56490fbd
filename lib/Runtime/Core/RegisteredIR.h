//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The IR that the program registers for kernels of images that it loads
/// (mneme/record.h).
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_REGISTEREDIR_H
#define MNEME_LIB_RUNTIME_CORE_REGISTEREDIR_H

#include "ImageBytes.h"
#include "Message.h"
#include "Shortage.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mneme {

struct RegisteredIR {
  std::string IR, Options;
};

/// By the digest of the image. Thread-safe. Functions may throw. Returned IR
/// lives as long as the process.
class RegisteredIRs {
public:
  static RegisteredIRs &get();

  /// Binds IR to the kernel \p Symbol of an image; to all kernels that the IR
  /// defines if \p Symbol is empty. The first registration stays: a kernel that
  /// is loaded refers to it.
  void add(std::string Digest, const std::string &Symbol, RegisteredIR IR);

  /// Returns the IR for a kernel of an image, or null.
  const RegisteredIR *find(const std::string &Digest,
                           const std::string &Symbol);
  /// Returns all IR for kernels of an image.
  std::vector<const RegisteredIR *> findAll(const std::string &Digest);
  /// Returns true if IR is registered for kernels of this name, of any image.
  bool isRegistered(const std::string &Symbol);

private:
  std::mutex Lock;
  /// By digest and symbol.
  std::map<std::pair<std::string, std::string>, RegisteredIR> All;
};

/// Implements mneme_register_ir().
inline bool registerIR(const void *Image, size_t ImageSize, const char *Symbol,
                       const void *IR, size_t IRSize, const char *Options) {
  if (!Image || !ImageSize || !IR || !IRSize)
    return false;
  bool IsDone = attempt([&] {
    RegisteredIRs::get().add(
        digestOfLoadedImage(Image, ImageSize), Symbol ? Symbol : "",
        {std::string(static_cast<const char *>(IR), IRSize),
         Options ? Options : ""});
  });
  if (!IsDone)
    tell("mneme: warning: registered IR is lost: out of memory\n");
  return IsDone;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_REGISTEREDIR_H
