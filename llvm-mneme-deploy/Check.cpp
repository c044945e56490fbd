//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/Mneme/Compile/Resources.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand
    mneme::CheckCommand("check",
                        "Read packages completely and report all problems");

static cl::list<std::string> Inputs(cl::Positional, cl::OneOrMore,
                                    cl::desc("<package>..."),
                                    cl::sub(CheckCommand),
                                    cl::cat(CommandCategory));

static Error checkObject(const PackagedVariant &V) {
  Expected<std::unique_ptr<object::ObjectFile>> Object =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(V.Image, ""));
  if (!Object)
    return Object.takeError();
  for (const object::SymbolRef &S : (*Object)->symbols()) {
    Expected<StringRef> Name = S.getName();
    if (!Name)
      return Name.takeError();
    Expected<uint32_t> Flags = S.getFlags();
    if (!Flags)
      return Flags.takeError();
    if (*Name == V.Entry && !(*Flags & object::SymbolRef::SF_Undefined))
      return Error::success();
  }
  return createStringError("the object does not define '" + V.Entry + "'");
}

/// Fails if the image has no such kernel. Its digest is already checked.
static Error checkImage(const PackagedVariant &V) {
  if (V.Fields.ImageKind == MNEME_IMAGE_OBJECT)
    return checkObject(V);
  return readResources(V.Image, V.Entry).takeError();
}

Expected<int> mneme::runCheck() {
  unsigned Problems = 0, Kernels = 0, Variants = 0;
  auto Report = [&](Error E) {
    printError(std::move(E));
    ++Problems;
  };
  for (const std::string &Path : Inputs) {
    Expected<TunedPackage> P = readPackage(Path);
    if (!P) {
      Report(P.takeError());
      continue;
    }
    Kernels += P->Kernels.size();
    for (const PackagedKernel &K : P->Kernels)
      for (const PackagedVariant &V : K.Variants) {
        ++Variants;
        if (Error E = checkImage(V))
          Report(createStringError(formatv("'{0}': kernel '{1}': {2}", Path,
                                           K.Name, toString(std::move(E)))));
      }
  }
  textOuts() << formatCount(Kernels, "kernel") << ", "
             << formatCount(Variants, "variant") << ", "
             << formatCount(Problems, "problem") << '\n';
  return Problems ? 1 : 0;
}
