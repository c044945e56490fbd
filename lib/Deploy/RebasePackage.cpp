//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackGuards.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// The files of the rebuilt application.
class Rebase {
public:
  Rebase(const AheadOptions &O, function_ref<void(const Twine &)> Note)
      : O(O), Note(Note) {}

  Error read(ArrayRef<std::string> Files);
  RebaseCounts run(TunedPackage &P) const;

private:
  bool hasKernel(const Digest128 &StaticHash) const {
    return any_of(Kernels, [&](const ApplicationKernel &K) {
      return parseDigest128(K.StaticHash) == StaticHash;
    });
  }
  std::optional<PackagedKernel> recompile(const PackagedKernel &Old) const;
  Expected<PackagedKernel> recompile(const PackagedKernel &Old,
                                     PackagedVariant &V) const;

  const AheadOptions &O;
  function_ref<void(const Twine &)> Note;
  std::vector<ApplicationKernel> Kernels; ///< Of all files.
  std::vector<std::vector<Payload>> Payloads;
};
} // namespace

Error Rebase::read(ArrayRef<std::string> Files) {
  for (const std::string &File : Files) {
    Expected<std::vector<ApplicationKernel>> Here = readApplication(File);
    if (!Here)
      return Here.takeError();
    append_range(Kernels, std::move(*Here));
    if (Error E = readPayloads(File).moveInto(Payloads.emplace_back()))
      return E;
  }
  return Error::success();
}

static bool hasSameCode(const PackagedKernel &OldKernel,
                        const PackagedVariant &Old,
                        const PackagedKernel &NewKernel) {
  const PackagedVariant &New = NewKernel.Variants.front();
  auto Fields = [](const MnemePackageVariant &F) {
    return std::tuple(F.ImageKind, F.Arch, F.MaxThreads, F.Registers,
                      F.StaticShared, F.HostStrategy, F.HostWaveSize,
                      F.HostOrdered, F.HostContextSize);
  };
  return Old.Image == New.Image && Old.Entry == New.Entry &&
         Old.ArchName == New.ArchName &&
         Fields(Old.Fields) == Fields(New.Fields) &&
         haveSameArguments(OldKernel, NewKernel);
}

/// Sets how a variant was compiled.
static Error readRecipe(const PackagedVariant &V, AheadOptions &O) {
  Expected<json::Value> Provenance = parseJSON(V.Provenance);
  if (!Provenance)
    return Provenance.takeError();
  const json::Object *Members = Provenance->getAsObject();
  const json::Object *Config = Members ? Members->getObject("config") : nullptr;
  if (!Config)
    return createStringError("the package does not have its recipe");
  if (!findSideEffects(*Config).empty())
    return createStringError("its recipe names programs or other files");
  if (Error E = applyConfig(*Config, O.Config))
    return E;
  const json::Object *For = Members->getObject("compiled_for");
  if (needsLaunch(O.Config)) {
    O.Launch = For ? readWinnerLaunch(*For) : std::nullopt;
    if (!O.Launch)
      return createStringError("its IR has changed, and the package does not "
                               "have the launch that it was specialized for");
  }
  O.NeedsProof = V.Fields.Grade == MNEME_GRADE_PROVEN;
  // A verification was of the old kernel.
  if (V.Fields.Grade > MNEME_GRADE_PROVEN)
    return createStringError("its IR has changed, and it changes the launch "
                             "without proof");
  return Error::success();
}

/// The same code may be correct for fewer launches of the new kernel, which can
/// read other arguments, and variables may have other sizes or slots.
static void updateGuards(PackagedVariant &V, const PackagedVariant &New) {
  llvm::erase_if(V.Guards, [](const PackagedGuard &G) {
    return G.Fields.What == MNEME_GUARD_VARIABLE;
  });
  for (const PackagedGuard &G : New.Guards)
    if (none_of(V.Guards,
                [&](const PackagedGuard &Has) { return isSameGuard(Has, G); }))
      V.Guards.push_back(G);
}

/// Returns the new kernel, with \p V as its variant, if its recipe makes the
/// same code of the new IR.
Expected<PackagedKernel> Rebase::recompile(const PackagedKernel &Old,
                                           PackagedVariant &V) const {
  AheadOptions Options = O;
  Options.OnHost = V.Fields.ImageKind == MNEME_IMAGE_OBJECT;
  bool HasKernel = false;
  for (ArrayRef<Payload> File : Payloads)
    for (auto [I, P] : enumerate(File)) {
      if (!P.findKernel(Old.Name))
        continue;
      HasKernel = true;
      if (Error E = readRecipe(V, Options))
        return std::move(E);
      Expected<PackagedKernel> New = compileAhead(File, I, Old.Name, Options);
      if (!New)
        return New.takeError();
      if (!hasSameCode(Old, V, *New))
        continue;
      updateGuards(V, New->Variants.front());
      New->Variants.front() = std::move(V);
      return New;
    }
  return createStringError(HasKernel ? "its code has changed"
                                     : "the application has no such kernel");
}

std::optional<PackagedKernel>
Rebase::recompile(const PackagedKernel &Old) const {
  std::optional<PackagedKernel> Result;
  for (auto [I, V] : enumerate(Old.Variants)) {
    PackagedVariant Kept = V;
    Expected<PackagedKernel> New = recompile(Old, Kept);
    if (New && (!Result || Result->StaticHash == New->StaticHash)) {
      if (!Result)
        Result = std::move(*New);
      else
        Result->Variants.push_back(std::move(New->Variants.front()));
      continue;
    }
    std::string Why =
        New ? "its code is in several kernels" : toString(New.takeError());
    Note(formatv("variant {0} of kernel '{1}' (static hash {2}) is dropped: "
                 "{3}; record and tune the kernel again",
                 I + 1, Old.Name, toHexString(Old.StaticHash), Why));
  }
  return Result;
}

RebaseCounts Rebase::run(TunedPackage &P) const {
  RebaseCounts Counts;
  TunedPackage New;
  std::vector<const PackagedKernel *> Changed;
  for (const PackagedKernel &K : P.Kernels) {
    if (hasKernel(K.StaticHash))
      New.Kernels.push_back(K);
    else
      Changed.push_back(&K);
  }
  Counts.Unchanged = New.Kernels.size();
  for (const PackagedKernel *K : Changed) {
    std::optional<PackagedKernel> Same = recompile(*K);
    // The variants that were tuned for the new code are the better ones.
    if (Same && none_of(New.Kernels, [&](const PackagedKernel &Has) {
          return Has.StaticHash == Same->StaticHash;
        })) {
      New.Kernels.push_back(std::move(*Same));
      ++Counts.Recompiled;
      continue;
    }
    if (Same)
      Note(formatv("kernel '{0}' (static hash {1}) is dropped: the package has "
                   "variants that were tuned for its new code",
                   K->Name, toHexString(K->StaticHash)));
    ++Counts.Dropped;
  }
  addLinks(New, Kernels);
  P = std::move(New);
  return Counts;
}

Expected<RebaseCounts>
mneme::rebasePackage(TunedPackage &P, ArrayRef<std::string> Files,
                     const AheadOptions &O,
                     function_ref<void(const Twine &)> Note) {
  Rebase R(O, Note);
  if (Error E = R.read(Files))
    return std::move(E);
  return R.run(P);
}
