//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplicationCheck.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <set>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::object;

/// \returns whether \p Path is an ELF file with a payload section.
static bool hasPayloadSection(StringRef Path) {
  Expected<OwningBinary<ObjectFile>> File = ObjectFile::createObjectFile(Path);
  if (!File) {
    consumeError(File.takeError());
    return false;
  }
  for (const SectionRef &S : File->getBinary()->sections()) {
    Expected<StringRef> Name = S.getName();
    if (!Name)
      consumeError(Name.takeError());
    else if (*Name == MNEME_PAYLOAD_SECTION)
      return true;
  }
  return false;
}

/// \returns whether \p Path is an ELF file, possibly a damaged one.
static bool isELF(StringRef Path) {
  constexpr StringLiteral Magic = "\177ELF";
  auto Start = MemoryBuffer::getFileSlice(Path, Magic.size(), /*Offset=*/0);
  return Start && (*Start)->getBuffer() == Magic;
}

/// \returns whether \p Path runs with other privileges than ours. The loader
/// then ignores LD_PRELOAD.
static bool hasOtherRights(const std::string &Path) {
  struct stat S;
  if (::stat(Path.c_str(), &S) != 0)
    return false;
  if ((S.st_mode & S_ISUID) && S.st_uid != ::getuid())
    return true;
  // Without group execute permission, the set-group-ID bit means mandatory
  // locking.
  if ((S.st_mode & S_ISGID) && (S.st_mode & S_IXGRP) &&
      S.st_gid != ::getgid())
    return true;
  return ::getuid() != 0 &&
         ::getxattr(Path.c_str(), "security.capability", nullptr, 0) > 0;
}

/// Returns the loader's list of the libraries of \p Path, a dynamic executable.
/// Asks the loader itself, as ldd does, so that search paths need not be
/// imitated.
static std::string traceLibraries(const std::string &Path) {
  Expected<Pipe> Lines = Pipe::create();
  if (!Lines) {
    consumeError(Lines.takeError());
    return {};
  }
  ChildOptions O;
  O.Out = Lines->Write.get();
  O.Environment = {{"LD_TRACE_LOADED_OBJECTS", "1"}};
  Expected<Child> Loader = Child::spawn(Path, Path, O);
  if (!Loader) {
    consumeError(Loader.takeError());
    return {};
  }
  Lines->Write.reset();
  std::string Output = readToEnd(Lines->Read.get());
  Loader->wait();
  return Output;
}

/// \returns the libraries that the loader finds for \p Path and that have a
/// payload.
static std::vector<std::string>
findInstrumentedLibraries(const std::string &Path) {
  // "\tlibx.so => /path/libx.so (0x...)"
  std::string Output = traceLibraries(Path);
  std::vector<std::string> Libraries;
  for (StringRef Line : split(Output, '\n')) {
    StringRef Library = Line.split(" => ").second.rsplit(" (").first;
    if (!Library.empty() && hasPayloadSection(Library))
      Libraries.push_back(Library.str());
  }
  return Libraries;
}

bool mneme::needsCudaDriver(const std::string &Path) {
  if (Error E = checkExecutable(Path)) {
    consumeError(std::move(E));
    return false;
  }
  return StringRef(traceLibraries(Path)).contains("\tlibcuda.so.1 => ");
}

static Error refuseIfSlim(StringRef Path, ArrayRef<Payload> Payloads) {
  if (Payloads.empty() ||
      !all_of(Payloads, [](const Payload &P) { return P.IsSlim; }))
    return Error::success();
  return createStringError("'" + Path + "' " + SlimProblem);
}

Error mneme::refuseSlim(StringRef Path) {
  if (!hasPayloadSection(Path))
    return Error::success();
  Expected<std::vector<Payload>> Payloads = readPayloads(Path);
  if (Payloads)
    return refuseIfSlim(Path, *Payloads);
  consumeError(Payloads.takeError()); // the runtime reports it, if it is used
  return Error::success();
}

/// Adds the architectures and kernels of the payloads in \p Path.
static Error addPayloads(StringRef Path, ApplicationFacts &Facts) {
  Expected<std::vector<Payload>> Payloads = readPayloads(Path);
  if (!Payloads)
    return Payloads.takeError();
  if (Error E = refuseIfSlim(Path, *Payloads))
    return E;
  std::set<std::string> Archs(Facts.Archs.begin(), Facts.Archs.end());
  std::set<std::string> Kernels(Facts.Kernels.begin(), Facts.Kernels.end());
  for (const Payload &P : *Payloads) {
    Archs.insert(P.Arch);
    for (const PayloadKernel &K : P.Kernels)
      Kernels.insert(K.Name);
  }
  Facts.Archs.assign(Archs.begin(), Archs.end());
  Facts.Kernels.assign(Kernels.begin(), Kernels.end());
  return Error::success();
}

Expected<ApplicationFacts> mneme::checkApplication(const std::string &Path,
                                                   bool AnyExecutable) {
  ApplicationFacts Facts;
  Expected<int> FD = openToRead(Path);
  if (!FD)
    return FD.takeError();
  ::close(*FD);
  if (!sys::fs::can_execute(Path))
    return createFileError(Path,
                           std::make_error_code(std::errc::permission_denied));
  if (!isELF(Path))
    Facts.Warning =
        "'" + Path +
        "' is not an ELF file: cannot tell whether it starts instrumented code";
  if (!Facts.Warning.empty())
    return Facts;
  static constexpr StringLiteral OtherRights =
      "runs with the rights of another user or with capabilities: Mneme's "
      "runtime cannot be loaded into it";
  if (AnyExecutable) {
    if (hasOtherRights(Path))
      Facts.Warning = "'" + Path + "' " + OtherRights.str() +
                      ", and it runs without it";
    return Facts;
  }
  if (Error E = checkExecutable(Path))
    return std::move(E);
  if (hasOtherRights(Path))
    return createFileError(Path, createStringError(OtherRights));
  if (hasPayloadSection(Path)) {
    if (Error E = addPayloads(Path, Facts))
      return std::move(E);
    return Facts;
  }
  for (const std::string &Library : findInstrumentedLibraries(Path)) {
    Facts.Warning = "'" + Path +
                    "' holds no kernels itself, only libraries that it links "
                    "do";
    if (Error E = addPayloads(Library, Facts))
      return std::move(E);
  }
  if (!Facts.Warning.empty())
    return Facts;
  return createFileError(
      Path,
      createStringError("holds no recordable kernels: build it with "
                        "-fpass-plugin=MnemePass.so, or give --any-executable "
                        "if it starts or loads the instrumented code"));
}
