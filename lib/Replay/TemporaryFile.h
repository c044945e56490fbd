//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files without a name, for results that a forked process passes on.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_TEMPORARYFILE_H
#define LLVM_MNEME_LIB_REPLAY_TEMPORARYFILE_H

#include <cstdio>
#include <memory>

namespace llvm {
namespace mneme {

/// Closing a temporary file deletes it.
struct FileCloser {
  void operator()(FILE *F) const { std::fclose(F); }
};
using TemporaryFile = std::unique_ptr<FILE, FileCloser>;

/// Returns null, with errno set, if there can be no file.
inline TemporaryFile makeTemporaryFile() {
  return TemporaryFile(std::tmpfile());
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_TEMPORARYFILE_H
