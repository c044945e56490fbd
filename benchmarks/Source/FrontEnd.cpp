//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Processor time of the front end for versions of a source, with and without a
/// compiled prefix. Prints JSON.
///
///   mneme-bench-source <source folder> <number of versions>
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/FrontEnd.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/resource.h>

using namespace llvm;
using namespace llvm::mneme;

static ExitOnError Check("mneme-bench-source: ");

/// Seconds of all children that have ended.
static double getProcessorSeconds() {
  rusage Usage = {};
  ::getrusage(RUSAGE_CHILDREN, &Usage);
  auto Seconds = [](const timeval &T) { return T.tv_sec + T.tv_usec * 1e-6; };
  return Seconds(Usage.ru_utime) + Seconds(Usage.ru_stime);
}

/// Returns the processor seconds of each compilation.
static std::vector<double> measure(const FrontEnd &Clang, StringRef Version,
                                   unsigned Count) {
  std::vector<double> Times;
  for (unsigned I = 0; I != Count; ++I) {
    double Begin = getProcessorSeconds();
    Check(Clang.compile(Version, {{"MNEME_VERSION", std::to_string(I)}}));
    Times.push_back(getProcessorSeconds() - Begin);
  }
  return Times;
}

int main(int Argc, char **Argv) {
  unsigned Count = 0;
  if (Argc != 3 || StringRef(Argv[2]).getAsInteger(10, Count) || !Count) {
    errs() << "usage: mneme-bench-source <source folder> <versions>\n";
    return 1;
  }
  auto Unit = std::make_shared<SourceUnit>(Check(SourceUnit::load(Argv[1])));
  std::unique_ptr<FrontEnd> Clang = Check(FrontEnd::create(Unit, ""));
  std::vector<double> Without = measure(*Clang, Unit->marked(), Count);
  double Begin = getProcessorSeconds();
  Check(Clang->preparePrefix());
  double Prefix = getProcessorSeconds() - Begin;
  std::vector<double> With = measure(*Clang, Unit->marked(), Count);
  auto Median = [](std::vector<double> Times) {
    llvm::sort(Times);
    return Times[Times.size() / 2];
  };
  outs() << formatv("{{\"whole_s\": {0:f4}, \"prefix_s\": {1:f4}, "
                    "\"with_prefix_s\": {2:f4}}\n",
                    Median(Without), Prefix, Median(With));
  return 0;
}
