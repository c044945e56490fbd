//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand
    mneme::RebaseCommand("rebase",
                         "Update a package for a rebuilt application");

static cl::opt<std::string> RebaseInput(cl::Positional, cl::Required,
                                        cl::desc("<package>"),
                                        cl::sub(RebaseCommand),
                                        cl::cat(CommandCategory));
static cl::list<std::string>
    Files("app",
          cl::desc("The rebuilt application; once for each file with kernels "
                   "of the package, such as a library"),
          cl::value_desc("file"), cl::OneOrMore, cl::sub(RebaseCommand),
          cl::cat(CommandCategory));
static cl::opt<std::string> RebaseOutput("o", cl::desc("Package to write"),
                                         cl::value_desc("file"), cl::Required,
                                         cl::sub(RebaseCommand),
                                         cl::cat(CommandCategory));
static cl::opt<std::string>
    RebaseFinish("host-finish",
                 cl::desc("--host-finish of the studies (default: none)"),
                 cl::value_desc("O3|O1|min|none"), cl::init("none"),
                 cl::sub(RebaseCommand), cl::cat(CommandCategory));
static cl::opt<std::string>
    RebaseCuda("cuda-path", cl::desc("CUDA toolkit to take ptxas from"),
               cl::value_desc("dir"), cl::sub(RebaseCommand),
               cl::cat(CommandCategory));

Expected<int> mneme::runRebase(ToolArgs) {
  AheadOptions O;
  O.CudaPath = RebaseCuda;
  if (Error E = parseHostFinish(RebaseFinish).moveInto(O.Finish))
    return std::move(E);
  Expected<TunedPackage> P = readPackage(RebaseInput);
  if (!P)
    return P.takeError();
  bool LosesVariants = false;
  Expected<RebaseCounts> Counts =
      rebasePackage(*P, Files, O, [&](const Twine &Text) {
        LosesVariants = true;
        printNote(Text);
      });
  if (!Counts)
    return Counts.takeError();
  if (P->Kernels.empty()) {
    printNote("no kernel is left, so '" + RebaseOutput + "' is not written");
    return 2;
  }
  if (Error E = writePackage(RebaseOutput, *P))
    return std::move(E);
  textOuts() << Counts->Unchanged << " unchanged, " << Counts->Recompiled
             << " recompiled to the same code, " << Counts->Dropped
             << " dropped; " << RebaseOutput << " has "
             << formatCount(P->Kernels.size(), "kernel") << '\n';
  return LosesVariants ? 2 : 0;
}
