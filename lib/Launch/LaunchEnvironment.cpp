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
#include "llvm/Mneme/Support/FileUtils.h"
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
  Environment Env = Options.Selection.environment();
  std::vector<std::string> Preloads = Libraries.vec();
  if (Options.TakeProfile)
    Env.emplace_back(MNEME_ENV_PROFILE, "1");
  if (Preloads.front() == Options.ProfilerPath) {
    Env.emplace_back(CudaInjection, Preloads.front());
    Preloads.erase(Preloads.begin());
  }
  for (std::string &Library : Preloads) {
    // The loader splits LD_PRELOAD at spaces and colons.
    if (StringRef(Library).find_first_of(" :") == StringRef::npos)
      continue;
    std::string Link = Folder.pathOf(sys::path::filename(Library));
    if (std::error_code EC = sys::fs::create_link(Library, Link))
      return createFileError(Link, EC);
    Library = Link;
  }
  // Ranges of NVTX and of Kokkos Tools are regions, unless the user has another
  // tool for them. A profile has no regions.
  if (!Options.Selection.RegionRegex.empty() && !Options.TakeProfile) {
    for (auto [Variable, Regions] :
         {std::pair("NVTX_INJECTION64_PATH", "ranges of NVTX"),
          std::pair("KOKKOS_TOOLS_LIBS", "regions of Kokkos Tools")})
      if (const char *Other = ::getenv(Variable); !Other || !*Other)
        Env.emplace_back(Variable, Preloads.front());
      else
        Options.Warn(Twine(Variable) + " is set: " + Regions +
                     " are no regions");
  }
  std::string Shapes;
  if (!Options.Selection.Shapes.empty()) {
    Shapes = Folder.pathOf(ShapesFile);
    if (Error E = writeFileAtomically(Shapes, Options.Selection.Shapes))
      return std::move(E);
  }
  std::string Preload = join(Preloads, ":") + getOtherPreloads(Options);
  Env.insert(Env.end(), {{"LD_PRELOAD", StringRef(Preload).ltrim(':').str()},
                         {MNEME_ENV_SHAPES, Shapes},
                         {MNEME_ENV_SOCKET, Folder.pathOf("socket")},
                         {MNEME_ENV_VA_SIZE, utostr(Options.VASize >> 30)},
                         {MNEME_ENV_TIMEOUT,
                          formatv("{0:f3}", Options.TimeoutSeconds).str()}});
  return Env;
}
