//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MnemePass.so: clang -fpass-plugin=MnemePass.so instruments what it compiles.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/StringSaver.h"
#include <cstdio>

using namespace llvm;

static char getOptLevel(OptimizationLevel Level) {
  if (Level.getSizeLevel())
    return Level.getSizeLevel() == 1 ? 's' : 'z';
  return '0' + Level.getSpeedupLevel();
}

static mneme::CaptureOptions getCaptureOptions(OptimizationLevel Level) {
  mneme::CaptureOptions Options;
  Options.OptLevel = getOptLevel(Level);
  // The rest is not in a device module, but on the compiler's own command line.
  ErrorOr<std::unique_ptr<MemoryBuffer>> CommandLine =
      MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  if (!CommandLine)
    return Options;
  BumpPtrAllocator Allocator;
  StringSaver Saver(Allocator);
  SmallVector<const char *, 256> Argv;
  for (StringRef Arg : split((*CommandLine)->getBuffer(), '\0'))
    Argv.push_back(Saver.save(Arg).data());
  // A long command line comes as a file.
  cl::ExpandResponseFiles(Saver, cl::TokenizeGNUCommandLine, Argv);
  SmallVector<StringRef, 256> Args(Argv.begin(), Argv.end());
  Options.IsRDC = is_contained(Args, "-fgpu-rdc");
  // Clang's driver compiles in its own process when there is only one thing to
  // do.
  Options.IsAlone = !is_contained(Args, "-cc1");
  return Options;
}

static void registerPlugin(PassBuilder &PB) {
  mneme::registerMnemePasses(PB);
  // The start of the pipeline: what is captured has seen no optimization, and
  // launch stubs are not inlined into their callers yet.
  PB.registerPipelineStartEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        MPM.addPass(mneme::InstrumentPass(getCaptureOptions(Level)));
      });
}

// Of the compiler that loads us. One that is linked statically may be without.
extern "C" LLVM_ATTRIBUTE_WEAK void LLVMGetVersion(unsigned *, unsigned *,
                                                   unsigned *);

/// Whether the compiler is of the LLVM that we were built for: the interface of
/// plugins seldom changes, the classes behind it with every minor version. Hence
/// no class of LLVM in here.
static bool fitsHost() {
  if (!LLVMGetVersion)
    return true;
  unsigned Major, Minor, Patch;
  LLVMGetVersion(&Major, &Minor, &Patch);
  if (Major == LLVM_VERSION_MAJOR && Minor == LLVM_VERSION_MINOR)
    return true;
  fprintf(stderr,
          "error: MnemePass was built for LLVM " LLVM_VERSION_STRING
          ", this is LLVM %u.%u.%u ('llvm-mneme-record --print-config=cxx' "
          "names a compiler that loads it)\n",
          Major, Minor, Patch);
  return false;
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  // There is no other way to decline.
  const uint32_t Version = fitsHost() ? LLVM_PLUGIN_API_VERSION : 0;
  return {Version, "Mneme", MNEME_VERSION_STRING,
          registerPlugin};
}
