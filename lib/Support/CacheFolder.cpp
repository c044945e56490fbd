//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/CacheFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <optional>
#include <unistd.h>

using namespace llvm;

static std::string pathIn(StringRef Folder, StringRef Name) {
  SmallString<128> Path = Folder;
  sys::path::append(Path, Name);
  return Path.str().str();
}

std::string mneme::getDefaultCacheDir() {
  if (std::optional<std::string> Dir = sys::Process::GetEnv("XDG_CACHE_HOME"))
    if (sys::path::is_absolute(*Dir))
      return pathIn(*Dir, "mneme");
  SmallString<128> Temporary;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Temporary);
  return pathIn(Temporary, "mneme-" + std::to_string(::getuid()));
}
