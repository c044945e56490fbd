//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The server's side of the cache: facts and images, in memory and on disk.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_JIT_CODESTORE_H
#define LLVM_MNEME_LIB_JIT_CODESTORE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/JitCache.h"
#include "llvm/Support/Error.h"
#include <list>
#include <map>
#include <optional>
#include <string>

namespace llvm {
namespace mneme {
struct SourceTools;

class CodeStore {
public:
  struct Found {
    std::string Contents;
    ::mneme::JitOrigin Origin;
  };
  /// Looks for a key in memory, then in \p Folder if that is not empty. A file
  /// is as if missing unless \p IsValid returns true for its contents.
  std::optional<Found> find(const std::string &Folder, const std::string &Key,
                            ::mneme::JitFile Kind,
                            function_ref<bool(const std::string &)> IsValid);
  /// Keeps the contents in memory and writes them to \p Folder if that is not
  /// empty. Fails if they cannot be written. Removes the files that were not
  /// used for the longest time if all have more than \p Limit bytes.
  Error add(const std::string &Folder, uint64_t Limit, const std::string &Key,
            ::mneme::JitFile Kind, const std::string &Contents);
  /// Likewise, but only if \p Folder has a file with other contents.
  Error update(const std::string &Folder, uint64_t Limit,
               const std::string &Key, ::mneme::JitFile Kind,
               const std::string &Contents);
  /// Like add(), for what servers leave for the next ones.
  Error addNote(const std::string &Folder, const std::string &Key,
                const std::string &Contents);

private:
  struct Entry {
    std::string Name, Key, Contents;
  };
  Error write(const std::string &Folder, uint64_t Limit, const std::string &Key,
              ::mneme::JitFile Kind, const std::string &Contents,
              bool IsNote);
  void remember(const std::string &Key, ::mneme::JitFile Kind,
                const std::string &Contents);

  std::list<Entry> Entries; ///< The last one used first.
  std::map<std::string, std::list<Entry>::iterator> ByName;
  uint64_t Bytes = 0;
  /// Bytes written to a folder since its files, or (true) only its notes, were
  /// last counted.
  std::map<std::pair<std::string, bool>, uint64_t> Written;
};

/// Returns the identity of this program as a compiler for \p Target, with the
/// files that it depends on. \p Program is the path that clients start.
/// \param Tools  set if \p Target is that of sources.
/// \param Folder  where a server leaves it for the next one.
Expected<::mneme::JitToolchain>
findToolchain(const std::string &Program, const std::string &CudaPath,
              ::mneme::JitTarget Target, SourceTools &Tools,
              const std::string &Folder, CodeStore &Store);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_JIT_CODESTORE_H
