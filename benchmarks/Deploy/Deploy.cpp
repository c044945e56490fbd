//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures how long it takes to open a package and to find its kernels.
/// benchmarks/run.py also runs an application with the package.
///
///   mneme-bench-deploy FILE KERNELS   writes a package of that many kernels,
///                                     each with 8 variants of 8 guards
///
/// Prints one line of JSON.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Runtime/Package.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace llvm;
using llvm::mneme::PackagedGuard;
using llvm::mneme::PackagedKernel;
using llvm::mneme::PackagedVariant;
using llvm::mneme::TunedPackage;

static ExitOnError ExitOnErr("mneme-bench-deploy: ");

static PackagedVariant makeVariant(unsigned Number) {
  PackagedVariant V;
  V.Fields.ImageKind = MNEME_IMAGE_CUBIN;
  V.Fields.Arch = 90;
  V.Fields.DynamicShared = MNEME_SHARED_SAME;
  V.Fields.MaxThreads = 1024;
  V.Entry = "kernel";
  V.ArchName = "sm_90";
  V.Image.assign(64 << 10, 'x');
  for (uint64_t I = 0; I != 8; ++I) {
    PackagedGuard &G = V.Guards.emplace_back();
    G.Fields.What = MNEME_GUARD_ARG;
    G.Fields.Test = MNEME_TEST_RANGE;
    G.Fields.Size = 8;
    G.Fields.Low = G.Fields.High = Number * 8 + I;
  }
  return V;
}

static TunedPackage makePackage(unsigned NumKernels) {
  TunedPackage P;
  for (unsigned I = 0; I != NumKernels; ++I) {
    PackagedKernel &K = P.Kernels.emplace_back();
    K.Name = "kernel" + utostr(I);
    K.StaticHash = llvm::mneme::digest128(K.Name);
    K.Args = {{8, 0}};
    for (unsigned V = 0; V != 8; ++V)
      K.Variants.push_back(makeVariant(V));
  }
  return P;
}

int main(int argc, char **argv) {
  unsigned NumKernels = 0;
  if (argc != 3 || StringRef(argv[2]).getAsInteger(10, NumKernels)) {
    errs() << "usage: mneme-bench-deploy FILE KERNELS\n";
    return 1;
  }
  TunedPackage P = makePackage(NumKernels);
  ExitOnErr(llvm::mneme::writePackage(argv[1], P));
  auto Now = [] { return std::chrono::steady_clock::now(); };
  auto Seconds = [](auto D) {
    return std::chrono::duration<double>(D).count();
  };
  std::vector<double> Open, Find;
  for (unsigned Round = 0; Round != 21; ++Round) {
    auto Start = Now();
    ::mneme::Package Reader;
    if (std::string Why = Reader.open(argv[1]); !Why.empty()) {
      errs() << "mneme-bench-deploy: " << Why << '\n';
      return 1;
    }
    auto Opened = Now();
    for (const PackagedKernel &K : P.Kernels)
      if (!Reader.findKernel(K.StaticHash.data()))
        return 1;
    Find.push_back(Seconds(Now() - Opened) / NumKernels);
    Open.push_back(Seconds(Opened - Start));
  }
  // The median excludes interruptions of the program.
  llvm::sort(Open);
  llvm::sort(Find);
  outs() << formatv("{{\"kernels\": {0}, \"open_seconds\": {1:f9}, "
                    "\"find_seconds\": {2:f9}}\n",
                    NumKernels, Open[Open.size() / 2], Find[Find.size() / 2]);
  return 0;
}
