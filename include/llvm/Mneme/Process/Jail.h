//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Confines a process that works on untrusted input: no network, no access to
/// other processes and, where the kernel has Landlock, no files but the named
/// ones. Needs no privileges.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_JAIL_H
#define LLVM_MNEME_PROCESS_JAIL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Files and folders that a confined process may use; a folder stands for all
/// files below it. Paths that do not exist are ignored.
struct JailPaths {
  std::vector<std::string> Readable; ///< Also executable.
  std::vector<std::string> Writable; ///< Also readable.
};

/// Prepared restrictions. Children that enter it, and their children, can never
/// leave it.
class Jail {
public:
  /// Fails if this system cannot filter system calls. The folders of the
  /// system's programs and libraries are always readable.
  static Expected<Jail> create(const JailPaths &Paths);

  /// Returns true if the kernel restricts the files of the process.
  bool confinesFiles() const { return bool(Rules); }

  /// Returns the descriptor that enter() needs; -1 if none.
  int fd() const { return Rules.get(); }

  /// Confines this process. Makes only system calls. \returns 0 or an errno.
  int enter() const;

private:
  Descriptor Rules; ///< Landlock's; none if the kernel lacks it.
};

/// Starts a child that tries to leave a jail. Fails if it succeeds.
Error testJail();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_JAIL_H
