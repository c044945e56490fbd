//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/FindCuda.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

std::string mneme::findCudaOfPip() {
  const std::string Tool = sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(findCudaOfPip));
  SmallString<128> Libraries(
      sys::path::parent_path(sys::path::parent_path(Tool)));
  sys::path::append(Libraries, "lib");
  std::string Newest;
  unsigned NewestVersion = 0;
  const sys::fs::directory_iterator End;
  std::error_code Error;
  for (sys::fs::directory_iterator Python(Libraries, Error);
       !Error && Python != End; Python.increment(Error)) {
    if (!sys::path::filename(Python->path()).starts_with("python3"))
      continue;
    SmallString<128> Packages(Python->path());
    sys::path::append(Packages, "site-packages", "nvidia");
    std::error_code NoPackages;
    for (sys::fs::directory_iterator Package(Packages, NoPackages);
         !NoPackages && Package != End; Package.increment(NoPackages)) {
      // cu13: headers, programs and libraries of CUDA 13, of which frameworks
      // install only some. Before, each package had a folder of its own.
      StringRef Name = sys::path::filename(Package->path());
      unsigned Version;
      if (Name.consume_front("cu") && !Name.getAsInteger(10, Version) &&
          Version > NewestVersion &&
          sys::fs::exists(Package->path() + "/bin/ptxas") &&
          sys::fs::exists(Package->path() + "/include/cuda_runtime.h")) {
        Newest = Package->path();
        NewestVersion = Version;
      }
    }
  }
  return Newest;
}
