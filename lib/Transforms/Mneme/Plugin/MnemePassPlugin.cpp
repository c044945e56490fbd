//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MnemePass.so, the plugin for clang: -fpass-plugin=MnemePass.so instruments
/// the compiled code.
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
  // The other options are not in the device module, only on the compiler's
  // command line.
  ErrorOr<std::unique_ptr<MemoryBuffer>> CommandLine =
      MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  if (!CommandLine)
    return Options;
  BumpPtrAllocator Allocator;
  StringSaver Saver(Allocator);
  SmallVector<const char *, 256> Argv;
  for (StringRef Arg : split((*CommandLine)->getBuffer(), '\0'))
    Argv.push_back(Saver.save(Arg).data());
  // A long command line is passed as a response file.
  cl::ExpandResponseFiles(Saver, cl::TokenizeGNUCommandLine, Argv);
  SmallVector<StringRef, 256> Args(Argv.begin(), Argv.end());
  Options.IsRDC = is_contained(Args, "-fgpu-rdc");
  // With only one job, clang's driver compiles in its own process, without
  // -cc1.
  Options.IsAlone = !is_contained(Args, "-cc1");
  return Options;
}

static void registerPlugin(PassBuilder &PB) {
  mneme::registerMnemePasses(PB);
  // At the start of the pipeline, the captured module has not been optimized,
  // and launch stubs have not been inlined into their callers.
  PB.registerPipelineStartEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        MPM.addPass(mneme::InstrumentPass(getCaptureOptions(Level)));
      });
}

// Provided by the compiler that loads the plugin; a statically linked compiler
// may lack it.
extern "C" LLVM_ATTRIBUTE_WEAK void LLVMGetVersion(unsigned *, unsigned *,
                                                   unsigned *);

/// Returns true if the compiler uses the LLVM version that the plugin was built
/// for. The plugin interface seldom changes, but the classes behind it change
/// with every minor version; hence this function uses no LLVM class.
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
  // An API version of 0 is the only way to decline.
  const uint32_t Version = fitsHost() ? LLVM_PLUGIN_API_VERSION : 0;
  return {Version, "Mneme", MNEME_VERSION_STRING,
          registerPlugin};
}
