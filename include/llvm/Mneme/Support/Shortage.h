//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Resource shortages of this process or machine: memory, file descriptors,
/// disk space, processes. They are independent of the compiled or executed
/// code.
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
  /// Includes a remedy: "...: Too many open files: raise the limit (ulimit
  /// -n)".
  void log(raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override { return EC; }

private:
  std::string Message;
  std::error_code EC;
};

/// Converts \p E to a ShortageError if it contains the error code of a
/// shortage; otherwise returns \p E.
Error recognizeShortage(Error E);

/// Creates the error for a memory shortage, for handlers of failed allocations.
Error makeOutOfMemoryError();

/// Returns the bytes that this process can still allocate, given its limits,
/// those of its control group and the available memory of the machine.
uint64_t getAvailableMemory();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_SHORTAGE_H
