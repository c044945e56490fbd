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

/// Returns the user's LD_PRELOAD without the libraries of another launcher that
/// started this one. Two runtimes in one process would record each other.
static std::string getOtherPreloads(const LaunchOptions &Options) {
  SmallVector<StringRef, 4> Paths;
  const char *Preloaded = ::getenv("LD_PRELOAD");
  SplitString(Preloaded ? Preloaded : "", Paths, " :");
  const std::string *Own[] = {&Options.RuntimePath, &Options.CudaRuntimePath,
                              &Options.HipRuntimePath, &Options.DriverPath};
  std::string Others;
  for (StringRef Path : Paths)
    if (none_of(Own, [&](const std::string *Library) {
          return sys::path::filename(Path) == sys::path::filename(*Library);
        }))
      Others += (":" + Path).str();
  return Others;
}

Expected<Environment>
llvm::mneme::makeEnvironment(const LaunchOptions &Options,
                             ArrayRef<std::string> Libraries,
                             const PrivateFolder &Folder) {
  std::vector<std::string> Preloads = Libraries.vec();
  for (std::string &Library : Preloads) {
    // The loader splits LD_PRELOAD at spaces and colons.
    if (StringRef(Library).find_first_of(" :") == StringRef::npos)
      continue;
    std::string Link = Folder.pathOf(sys::path::filename(Library));
    if (std::error_code EC = sys::fs::create_link(Library, Link))
      return createFileError(Link, EC);
    Library = Link;
  }
  Environment Env = Options.Selection.environment();
  Env.insert(
      Env.end(),
      {{"LD_PRELOAD", join(Preloads, ":") + getOtherPreloads(Options)},
       {MNEME_ENV_SOCKET, Folder.pathOf("socket")},
       {MNEME_ENV_VA_SIZE, utostr(Options.VASize >> 30)},
       {MNEME_ENV_TIMEOUT, formatv("{0:f3}", Options.TimeoutSeconds).str()}});
  return Env;
}
