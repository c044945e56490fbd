//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shortages of this process or its machine: memory, file descriptors, disk
/// space, processes. They say nothing about the code that is compiled or run.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_SHORTAGE_H
#define LLVM_MNEME_SUPPORT_SHORTAGE_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <system_error>

namespace llvm {
namespace mneme {

class ShortageError : public ErrorInfo<ShortageError> {
public:
  static char ID;
  ShortageError(std::string Message, std::error_code EC)
      : Message(std::move(Message)), EC(EC) {}
  /// With the mend: "...: Too many open files: raise the limit (ulimit -n)".
  void log(raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override { return EC; }

private:
  std::string Message;
  std::error_code EC;
};

/// \p E, or a ShortageError in its place if the error code of one is in it.
Error recognizeShortage(Error E);

/// The shortage of memory, for handlers of failed allocations.
Error makeOutOfMemoryError();

/// Bytes that this process can still allocate: by its limits, those of its
/// control group, and the memory of the machine that is available.
uint64_t getAvailableMemory();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_SHORTAGE_H
