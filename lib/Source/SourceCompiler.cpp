//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/SourceCompiler.h"
#include "llvm/Mneme/Process/Jail.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/KeyBuilder.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

Expected<SourceVersion> SourceVersion::read(StringRef Source,
                                            StringRef Folder) {
  SourceVersion V;
  V.Folder = Folder.str();
  if (Source.contains('\n')) {
    if (Folder.empty())
      return createStringError("the text of a source needs the source folder: "
                               "give --source-dir");
    V.Path = "source";
    V.Text = Source.str();
    return std::move(V);
  }
  V.Path = Source.str();
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Source);
  if (!File)
    return File.takeError();
  V.Text = (*File)->getBuffer().str();
  if (Folder.empty())
    if (Error E = findSourceFolder(Source).moveInto(V.Folder))
      return std::move(E);
  return std::move(V);
}

std::string SourceVersion::digest() const {
  KeyBuilder K;
  K.add(Text).add(static_cast<unsigned>(Edit)).add(Defines.size());
  for (const auto &[Name, Value] : Defines)
    K.add(Name).add(Value);
  return toHexString(digest128(K.take()));
}

Expected<SourceCompiler::Folder *> SourceCompiler::open(StringRef Path) {
  Folder &F = Folders[Path.str()];
  if (F.Clang)
    return &F;
  // The text may be another person's or a program's.
  if (Error E = testJail())
    return std::move(E);
  Expected<SourceUnit> Unit = SourceUnit::load(Path);
  if (!Unit)
    return Unit.takeError();
  F.Unit = std::make_shared<SourceUnit>(std::move(*Unit));
  std::string Tool = sys::fs::getMainExecutable(nullptr, nullptr);
  if (Error E = FrontEnd::create(F.Unit, sys::path::parent_path(Tool))
                    .moveInto(F.Clang))
    return std::move(E);
  return &F;
}

Error SourceCompiler::prepare(StringRef Path) {
  Expected<Folder *> F = open(Path);
  if (!F)
    return F.takeError();
  return (*F)->Clang->preparePrefix();
}

/// Makes a SourceError of a TextError, so that it is data, too.
static Error makeDiagnostic(const SourceVersion &V, Error E) {
  return handleErrors(std::move(E), [&](const TextError &T) -> Error {
    SourceDiagnostic D;
    D.Severity = "error";
    D.Message = T.Message;
    D.Where = {KernelSourceName.str(), T.Line, T.Column};
    return make_error<SourceError>(std::vector{std::move(D)}, V.Text);
  });
}

Expected<FrontEndResult> SourceCompiler::compile(const SourceVersion &V,
                                                 StringRef Kernel,
                                                 StringRef StaticHash) {
  Expected<Folder *> F = open(V.Folder);
  if (!F)
    return F.takeError();
  const SourceInfo &Info = (*F)->Unit->info();
  if (Info.Kernel != Kernel || Info.StaticHash != StaticHash)
    return createStringError(
        "'" + V.Folder + "' has the source of the kernel with static hash " +
        Info.StaticHash + ", the recording is of '" + Kernel + "' with " +
        StaticHash);
  std::string Key = V.Folder + '\n' + V.digest();
  if (Key == LastKey)
    return Last;
  if (++(*F)->Compilations == 2)
    if (Error E = (*F)->Clang->preparePrefix())
      return std::move(E);
  Expected<FrontEndResult> R = (*F)->Clang->compile(V.Text, V.Defines, V.Edit);
  if (!R)
    return makeDiagnostic(V, R.takeError());
  LastKey = std::move(Key);
  Last = *R;
  return R;
}
