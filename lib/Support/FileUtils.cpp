//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

Error mneme::writeFileAtomically(StringRef Path,
                                 function_ref<Error(raw_ostream &)> Write,
                                 bool Sync) {
  SmallString<128> Model(sys::path::parent_path(Path));
  // A leading dot: an interrupted run's leftover is not taken for an artifact.
  sys::path::append(Model, "." + sys::path::filename(Path) + ".%%%%%%%%.tmp");
  Expected<sys::fs::TempFile> Temp = sys::fs::TempFile::create(Model);
  if (!Temp)
    return createFileError(Path, Temp.takeError());
  raw_fd_ostream OS(Temp->FD, /*shouldClose=*/false);
  Error E = Write(OS);
  OS.flush();
  if (!E && OS.has_error())
    E = errorCodeToError(OS.error());
  OS.clear_error();
  if (!E && Sync && ::fsync(Temp->FD) != 0)
    E = errorCodeToError(errnoAsErrorCode());
  if (!E)
    E = Temp->keep(Path);
  else
    E = joinErrors(std::move(E), Temp->discard());
  return E ? createFileError(Path, std::move(E)) : Error::success();
}

Error mneme::writeFileAtomically(StringRef Path, StringRef Contents) {
  return writeFileAtomically(Path, [&](raw_ostream &OS) {
    OS << Contents;
    return Error::success();
  });
}

Error llvm::mneme::syncFile(StringRef Path) {
  int FD = ::open(Path.str().c_str(), O_RDONLY | O_CLOEXEC);
  if (FD < 0)
    return createFileError(Path, errnoAsErrorCode());
  // EINVAL: not a file that can be synced.
  std::error_code EC;
  if (::fsync(FD) != 0 && errno != EINVAL)
    EC = errnoAsErrorCode();
  ::close(FD);
  return EC ? createFileError(Path, EC) : Error::success();
}

Expected<std::unique_ptr<MemoryBuffer>> mneme::readFile(StringRef Path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer =
      MemoryBuffer::getFile(Path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  if (!Buffer)
    return createFileError(Path, Buffer.getError());
  return std::move(*Buffer);
}
