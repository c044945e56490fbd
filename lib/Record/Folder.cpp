//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Record/PageStore.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral StagingPrefix = ".recording-";

Expected<LockedFile> mneme::lockFolder(StringRef Dir) {
  return LockedFile::wait(pathIn(Dir, ".lock"));
}

Expected<PrivateFolder> mneme::createStagingFolder(StringRef Below) {
  return PrivateFolder::create(Below, StagingPrefix);
}

bool mneme::isStagingFolderName(StringRef Name) {
  return PrivateFolder::isName(Name, StagingPrefix);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string mneme::snapshotName(bool Epilogue, StringRef StaticHash,
                                StringRef DynamicHash) {
  return (Twine("DeviceState.") + (Epilogue ? "epilogue." : "prologue.") +
          StaticHash + "." + DynamicHash + ".mneme")
      .str();
}

std::string mneme::moduleName(StringRef StaticHash) {
  return ("RecordedIR_" + StaticHash + ".bc").str();
}

StringRef mneme::getImageKind(bool IsPTX, StringRef Arch) {
  return IsPTX ? "PTX" : Arch.starts_with("gfx") ? "code object" : "cubin";
}

std::string mneme::imageName(StringRef StaticHash, bool IsPTX, StringRef Arch) {
  return ("RecordedImage_" + StaticHash +
          (IsPTX                     ? ".ptx"
           : Arch.starts_with("gfx") ? ".co"
                                     : ".cubin"))
      .str();
}

bool mneme::isArtifact(StringRef Name) {
  return (Name.starts_with("DeviceState.") && Name.ends_with(".mneme")) ||
         PageFile::idOf(Name) ||
         (Name.starts_with("RecordedIR_") && Name.ends_with(".bc")) ||
         (Name.starts_with(".") && Name.ends_with(".tmp") &&
          (Name.contains("RecordedIR_") || Name.contains(".json.") ||
           Name.starts_with(".Pages.")));
}

bool mneme::isRecordingFile(StringRef Name) {
  return isArtifact(Name) || (Name.size() == 37 && Name.ends_with(".json") &&
                              parseDigest128(Name.take_front(32)));
}

Error mneme::checkOutputFile(StringRef Option, StringRef Path) {
  if (!isRecordingFile(sys::path::filename(Path)))
    return Error::success();
  return createStringError(Option + "='" + Path +
                           "': files of recordings have such names; give "
                           "another one");
}
