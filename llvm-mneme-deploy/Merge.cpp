//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::MergeCommand("merge", "Merge packages into one");

static cl::list<std::string> MergeInputs(cl::Positional, cl::OneOrMore,
                                         cl::desc("<package>..."),
                                         cl::sub(MergeCommand),
                                         cl::cat(CommandCategory));
static cl::opt<std::string> MergeOutput("o", cl::desc("Package to write"),
                                        cl::value_desc("file"), cl::Required,
                                        cl::sub(MergeCommand),
                                        cl::cat(CommandCategory));

Expected<int> mneme::runMerge(ToolArgs) {
  TunedPackage Merged;
  for (const std::string &Path : MergeInputs) {
    Expected<TunedPackage> P = readPackage(Path);
    if (!P)
      return P.takeError();
    if (Error E = mergePackage(Merged, std::move(*P)))
      return std::move(E);
  }
  if (Error E = writePackage(MergeOutput, Merged))
    return std::move(E);
  textOuts() << "merged " << formatCount(MergeInputs.size(), "package") << "; "
             << MergeOutput << " has "
             << formatCount(Merged.Kernels.size(), "kernel") << '\n';
  return 0;
}
