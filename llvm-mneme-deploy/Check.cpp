//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Compile/Resources.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand
    mneme::CheckCommand("check",
                        "Read packages completely and report all problems");

static cl::list<std::string> Inputs(cl::Positional, cl::OneOrMore,
                                    cl::desc("<package>..."),
                                    cl::sub(CheckCommand),
                                    cl::cat(CommandCategory));

static cl::opt<std::string>
    App("app",
        cl::desc("Also check that the application has the kernels of the "
                 "packages"),
        cl::value_desc("file"), cl::sub(CheckCommand),
        cl::cat(CommandCategory));

/// Fails if the application cannot launch the kernel, or cannot recognize it.
static Error checkApplication(const TunedPackage &P, const PackagedKernel &K,
                              ArrayRef<ApplicationKernel> Kernels) {
  std::string Hash = toHexString(K.StaticHash);
  bool HasName = false, HasHash = false;
  for (const ApplicationKernel &A : Kernels) {
    HasName |= A.Name == K.Name;
    if (A.StaticHash != Hash)
      continue;
    HasHash = true;
    if (A.LinkHash.empty() || any_of(P.Links, [&](const LinkedKernel &L) {
          return toHexString(L.LinkHash) == A.LinkHash && L.Name == A.Name &&
                 L.StaticHash == K.StaticHash;
        }))
      return Error::success();
  }
  if (HasHash)
    return createStringError("'" + App +
                             "' is linked with -fgpu-rdc, which the package "
                             "does not know: pack with --app=" +
                             App);
  if (HasName)
    return createStringError("'" + App +
                             "' has it from other source, or compiled with "
                             "other options: tune it again");
  return createStringError("'" + App + "' has no such kernel");
}

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

/// Returns the devices that a variant serves.
static std::string describeDevices(const PackagedVariant &V) {
  if (V.Fields.ImageKind == MNEME_IMAGE_OBJECT)
    return "the host device (" + V.ArchName + ")";
  for (const PackagedGuard &G : V.Guards)
    if (G.Fields.What == MNEME_GUARD_DEVICE)
      return V.ArchName + " by the name '" + G.Name + "'";
  return "all GPUs that run " + V.ArchName;
}

Expected<int> mneme::runCheck(ToolArgs) {
  std::vector<ApplicationKernel> Application;
  if (!App.empty())
    if (Error E = readApplication(App).moveInto(Application))
      return std::move(E);
  unsigned Problems = 0, Kernels = 0, Variants = 0;
  std::set<std::string> Devices;
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
    for (const PackagedKernel &K : P->Kernels) {
      auto ReportKernel = [&](Error E) {
        Report(createStringError(formatv("'{0}': kernel '{1}': {2}", Path,
                                         K.Name, toString(std::move(E)))));
      };
      if (!App.empty())
        if (Error E = checkApplication(*P, K, Application))
          ReportKernel(std::move(E));
      Variants += K.Variants.size();
      for (const PackagedVariant &V : K.Variants) {
        Devices.insert(describeDevices(V));
        if (Error E = checkImage(V))
          ReportKernel(std::move(E));
      }
    }
  }
  for (const std::string &Device : Devices)
    textOuts() << "for " << printable(Device) << '\n';
  textOuts() << formatCount(Kernels, "kernel") << ", "
             << formatCount(Variants, "variant") << ", "
             << formatCount(Problems, "problem") << '\n';
  return Problems ? 1 : 0;
}
