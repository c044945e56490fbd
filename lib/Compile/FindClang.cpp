//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/FindClang.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/VersionTuple.h"

using namespace llvm;
using namespace llvm::mneme;

std::string mneme::askClangVersion(StringRef Program) {
  constexpr double Seconds = 30;
  std::string Text;
  Expected<std::optional<int>> Code =
      askProgram({Program, "--version"}, Text, Seconds);
  if (!Code) {
    consumeError(Code.takeError());
    return "";
  }
  if (*Code != 0)
    return "";
  return StringRef(Text)
      .split("clang version ")
      .second.take_while([](char C) { return isDigit(C) || C == '.'; })
      .str();
}

/// Releases of the same minor LLVM version can load each other's plugins.
static bool fits(StringRef Found, StringRef Wanted) {
  if (!Wanted.empty())
    return Found == Wanted;
  VersionTuple Version;
  return !Version.tryParse(Found) && Version.getMajor() == LLVM_VERSION_MAJOR &&
         Version.getMinor() == LLVM_VERSION_MINOR;
}

Expected<std::string> mneme::findClang(StringRef Beside, StringRef Version) {
  const std::string OfLLVM = MNEME_LLVM_TOOLS_DIR;
  std::vector<std::string> Places = {OfLLVM};
  if (!Beside.empty())
    Places.insert(Places.begin(), Beside.str());
  if (std::optional<std::string> Path = sys::Process::GetEnv("PATH"))
    for (StringRef Folder : split(*Path, sys::EnvPathSeparator))
      Places.push_back(Folder.str());
  const std::string Names[] = {"clang++-" + utostr(LLVM_VERSION_MAJOR),
                               "clang++"};
  for (const std::string &Folder : Places)
    for (const std::string &Name : Names) {
      ErrorOr<std::string> Clang =
          sys::findProgramByName(Name, StringRef(Folder));
      if (Clang && fits(askClangVersion(*Clang), Version))
        return *Clang;
    }
  std::string Wanted = Version.str();
  if (Wanted.empty())
    Wanted = formatv("{0}.{1}, which loads the pass", LLVM_VERSION_MAJOR,
                     LLVM_VERSION_MINOR)
                 .str();
  return createStringError("no clang++ " + Wanted +
                           ": neither beside this tool nor in '" + OfLLVM +
                           "' nor in PATH");
}
