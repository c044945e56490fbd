//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// Collects the problems of one kernel's recordings.
class Checker {
public:
  Checker(StringRef Dir, const RecordedKernel &K,
          std::shared_ptr<PageStore> Pages)
      : Dir(Dir), K(K), Pages(std::move(Pages)) {}
  KernelCheck run();
  std::vector<std::string> runOnModules();

private:
  std::string pathOf(StringRef File) const { return pathIn(Dir, File); }
  template <typename... Ts>
  void report(StringRef File, const char *Fmt, Ts &&...Vals) {
    Problems.push_back(formatv("'{0}': {1}", pathOf(File),
                               formatv(Fmt, std::forward<Ts>(Vals)...).str())
                           .str());
  }
  void checkModule(size_t Index);
  std::string inspectModule(const Module &M, StringRef Producer) const;
  void checkPages(StringRef File, const Snapshot &S);
  std::optional<Snapshot> checkSnapshot(bool Epilogue,
                                        const RecordedInstance &I);
  void checkArgs(StringRef File, const Snapshot &S);
  void checkInstance(const RecordedInstance &I);

  StringRef Dir;
  const RecordedKernel &K;
  std::shared_ptr<PageStore> Pages;
  std::vector<std::string> Problems;
  size_t Unchanged = 0;
};
} // namespace

/// Runs in a child process. \returns the problems, one per line.
std::string Checker::inspectModule(const Module &M, StringRef Producer) const {
  std::string Text;
  raw_string_ostream OS(Text);
  const Function *F = M.getFunction(K.KernelName);
  if (!F || F->isDeclaration())
    OS << "does not define kernel '" << K.KernelName << "'\n";
  else if (F->arg_size() != K.Args.size())
    OS << "kernel '" << K.KernelName << "' takes " << F->arg_size()
       << " arguments, the recording has " << K.Args.size() << '\n';
  // The hash covers printed IR, which differs between LLVM versions.
  if (Producer == "LLVM" LLVM_VERSION_STRING)
    if (std::string Hash = computeStaticHash(M); Hash != K.StaticHash)
      OS << "damaged: static hash " << Hash << ", not " << K.StaticHash << '\n';
  return Text;
}

void Checker::checkModule(size_t Index) {
  StringRef File = K.Modules[Index];
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readModule(Dir, K, Index);
  if (!Buffer) {
    Problems.push_back(toString(Buffer.takeError()));
    return;
  }
  MemoryBufferRef Bytes = (*Buffer)->getMemBufferRef();
  Expected<std::string> Found = inspectIR(
      Bytes, DefaultIRSeconds, [&](const Module &M) -> Expected<std::string> {
        Expected<std::string> Producer = getBitcodeProducerString(Bytes);
        if (!Producer)
          return Producer.takeError();
        return inspectModule(M, *Producer);
      });
  if (!Found) {
    report(File, "{0}", toString(Found.takeError()));
    return;
  }
  SmallVector<StringRef> Lines;
  StringRef(*Found).split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines)
    report(File, "{0}", Line);
}

std::optional<Snapshot> Checker::checkSnapshot(bool Epilogue,
                                               const RecordedInstance &I) {
  StringRef File = Epilogue ? I.Epilogue : I.Prologue;
  Expected<Snapshot> S = Snapshot::open(pathOf(File), Pages);
  if (!S) {
    Problems.push_back(toString(S.takeError()));
    return std::nullopt;
  }
  SnapshotFit Fit = findSnapshotFit(*S, Epilogue, K, I);
  const MnemeSnapshotHeader &H = S->header();
  if (!Fit.Kind)
    report(File, "{0} in the place of {1}",
           S->isEpilogue() ? "epilogue" : "prologue",
           S->isEpilogue() ? "a prologue" : "an epilogue");
  if (!Fit.Kernel)
    report(File, "belongs to kernel {0}, not {1}", toHexString(S->staticHash()),
           K.StaticHash);
  if (!Fit.Instance)
    report(File, "belongs to instance {0}, not {1}", toHexString(H.DynamicHash),
           I.DynamicHash);
  if (!Fit.Arena)
    report(File, "arena of {0:x} bytes at {1:x} is not the recording's",
           H.ArenaSize, H.ArenaBase);
  if (!Fit.Launch)
    report(File, "has another launch configuration than '{0}.json' has for {1}",
           K.StaticHash, I.DynamicHash);
  if (!Fit.Digest)
    report(File, "has changed since it was recorded: digest {0}, not {1}",
           toHexString(S->fileDigest()),
           Epilogue ? I.EpilogueDigest : I.PrologueDigest);
  checkPages(File, *S);
  return std::move(*S);
}

/// Reads each page file as a whole, once. If a page file is damaged, reads the
/// pages that the snapshot needs.
void Checker::checkPages(StringRef File, const Snapshot &S) {
  bool IsDamaged = false;
  for (const PageFile *F : S.pageFiles()) {
    auto [State, IsNew] = Pages->check(*F);
    IsDamaged |= !State.empty();
    if (IsNew)
      llvm::append_range(Problems, State);
  }
  if (!IsDamaged)
    return;
  std::vector<char> Raw;
  for (const SnapshotData &D : S.data()) {
    Raw.resize(D.RawSize);
    if (Error E = S.decode(D, Raw)) {
      consumeError(std::move(E));
      report(File, "data at {0:x} is lost", D.Address);
    }
  }
}

void Checker::checkArgs(StringRef File, const Snapshot &S) {
  if (S.args().size() != K.Args.size())
    return report(File, "{0} arguments, the kernel has {1}", S.args().size(),
                  K.Args.size());
  for (const auto &[Index, Arg] : llvm::enumerate(K.Args))
    if (S.args()[Index].size() != Arg.Size)
      report(File, "argument {0} of {1} bytes, the kernel's has {2}", Index,
             S.args()[Index].size(), Arg.Size);
}

void Checker::checkInstance(const RecordedInstance &I) {
  std::optional<Snapshot> Prologue = checkSnapshot(/*Epilogue=*/false, I);
  std::optional<Snapshot> Epilogue = checkSnapshot(/*Epilogue=*/true, I);
  if (Prologue && !Prologue->isEpilogue()) {
    checkArgs(I.Prologue, *Prologue);
    StringSet<> Names;
    for (const SnapshotRegion &R : Prologue->regions())
      Names.insert(R.Name);
    for (const KernelGlobal &G : K.Globals)
      if (!Names.contains(G.Name))
        report(I.Prologue, "no contents of variable '{0}'", G.Name);
  }
  auto SameRegion = [](const SnapshotRegion &A, const SnapshotRegion &B) {
    return A.Address == B.Address && A.Size == B.Size && A.Name == B.Name;
  };
  if (Prologue && Epilogue &&
      !llvm::equal(Prologue->regions(), Epilogue->regions(), SameRegion))
    report(I.Epilogue, "other regions than in '{0}'", I.Prologue);
  if (Prologue && Epilogue) {
    Epilogue->dropUnchanged(*Prologue);
    Unchanged += Epilogue->data().empty();
  }
}

std::vector<std::string> Checker::runOnModules() {
  for (size_t I = 0; I != K.Modules.size(); ++I)
    checkModule(I);
  if (!K.Image.File.empty()) {
    Expected<std::unique_ptr<MemoryBuffer>> Image = readImage(Dir, K);
    if (!Image)
      Problems.push_back(toString(Image.takeError()));
  }
  return std::move(Problems);
}

KernelCheck Checker::run() {
  Problems = runOnModules();
  if (K.Instances.empty())
    report(K.StaticHash + ".json", "no instances");
  for (const RecordedInstance &I : K.Instances)
    checkInstance(I);
  return {std::move(Problems), Unchanged};
}

KernelCheck mneme::checkKernel(StringRef Dir, const RecordedKernel &K,
                               std::shared_ptr<PageStore> Pages) {
  if (!Pages)
    Pages = std::make_shared<PageStore>(Dir);
  return Checker(Dir, K, std::move(Pages)).run();
}

std::vector<std::string> mneme::checkModules(StringRef Dir,
                                             const RecordedKernel &K) {
  return Checker(Dir, K, nullptr).runOnModules();
}
