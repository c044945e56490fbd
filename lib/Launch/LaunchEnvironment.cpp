//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchEnvironment.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns what is preloaded already, except the runtimes of a launcher that
/// started this one: two of them in one process would record each other.
static std::string getOtherPreloads(const LaunchOptions &Options) {
  SmallVector<StringRef, 4> Paths;
  const char *Preloaded = ::getenv("LD_PRELOAD");
  SplitString(Preloaded ? Preloaded : "", Paths, " :");
  std::string Others;
  for (StringRef Path : Paths) {
    StringRef Name = sys::path::filename(Path);
    if (Name != sys::path::filename(Options.RuntimePath) &&
        Name != sys::path::filename(Options.CudaRuntimePath))
      Others += (":" + Path).str();
  }
  return Others;
}

Expected<Environment>
llvm::mneme::makeEnvironment(const LaunchOptions &Options,
                             const std::string &Path,
                             const PrivateFolder &Folder) {
  std::string Runtime = Path;
  // The loader would take the path for several.
  if (StringRef(Runtime).find_first_of(" :") != StringRef::npos) {
    Runtime = Folder.pathOf("libmneme_rt.so");
    if (std::error_code EC = sys::fs::create_link(Path, Runtime))
      return createFileError(Runtime, EC);
  }
  Runtime += getOtherPreloads(Options);
  Environment Env = Options.Selection.environment();
  Env.insert(Env.end(), {{"LD_PRELOAD", Runtime},
                         {MNEME_ENV_SOCKET, Folder.pathOf("socket")},
                         {MNEME_ENV_VA_SIZE, utostr(Options.VASize >> 30)},
                         {MNEME_ENV_TIMEOUT,
                          formatv("{0:f3}", Options.TimeoutSeconds).str()}});
  return Env;
}
