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

#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

static char getOptLevel(OptimizationLevel Level) {
  if (Level.getSizeLevel())
    return Level.getSizeLevel() == 1 ? 's' : 'z';
  return '0' + Level.getSpeedupLevel();
}

/// Nothing in a device module tells that it was compiled with -fgpu-rdc, but the
/// compiler's own command line does.
static bool isRDCCompile() {
  ErrorOr<std::unique_ptr<MemoryBuffer>> CommandLine =
      MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  if (!CommandLine)
    return false;
  SmallVector<StringRef, 128> Args;
  (*CommandLine)->getBuffer().split(Args, '\0');
  return is_contained(Args, "-fgpu-rdc");
}

static void registerPlugin(PassBuilder &PB) {
  mneme::registerMnemePasses(PB);
  // The start of the pipeline: what is captured has seen no optimization, and launch
  // stubs are not inlined into their callers yet.
  PB.registerPipelineStartEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        mneme::CaptureOptions Options;
        Options.OptLevel = getOptLevel(Level);
        Options.IsRDC = isRDCCompile();
        MPM.addPass(mneme::InstrumentPass(Options));
      });
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Mneme", MNEME_VERSION_STRING,
          registerPlugin};
}
