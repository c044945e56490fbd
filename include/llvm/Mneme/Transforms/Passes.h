//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The instrumentation of an application, one pass a step.
///
/// - mneme-capture<O2;rdc>: device module to payload (PayloadFormat.h), in a
///   side file
/// - mneme-embed: side files of the same source to sections of the host module,
///   with the index of host pointers
/// - mneme-hooks: calls of the GPU runtime go through patchable slots
/// - mneme-instrument<O2;rdc>: what the plugin runs, mneme-capture on a device
///   module, mneme-embed and mneme-hooks on any other
///
/// The device compile and the host compile of one source are separate processes
/// of one driver; what ties them together is in
/// lib/Transforms/Mneme/SideFiles.h.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_PASSES_H
#define LLVM_MNEME_TRANSFORMS_PASSES_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
namespace mneme {

/// What a pass cannot see in the device module.
struct CaptureOptions {
  /// The application's own -O: '0' '1' '2' '3' 's' 'z'. At '0', optnone and the
  /// noinline that clang adds with it are dropped, or nothing could be replayed
  /// under another pipeline.
  char OptLevel = '2';
  /// Compiled with -fgpu-rdc: a module without kernels matters too.
  bool IsRDC = false;
  /// No host compile follows that would take the side file: write none.
  bool IsAlone = false;
};

/// Writes the device module, as it is, to a side file. Does not change it;
/// leaves a module alone that holds no kernel and no variable that the host can
/// name. What cannot be written is a warning: the program is as good without.
class CapturePass : public PassInfoMixin<CapturePass> {
public:
  explicit CapturePass(CaptureOptions Options = {}) : Options(Options) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  CaptureOptions Options;
};

/// Takes the side files of this module's source and emits payloads and index.
/// Must run before mneme-hooks: it reads the registration calls.
class EmbedPass : public PassInfoMixin<EmbedPass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }
};

/// Calls of external functions named cuda[A-Z]*, __cuda*, hip[A-Z]* and __hip*
/// load their callee from a slot. So does code that takes such a function's
/// address, unless an initializer holds it too: that keeps the function itself,
/// and the two must compare equal.
class HooksPass : public PassInfoMixin<HooksPass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }
};

class InstrumentPass : public PassInfoMixin<InstrumentPass> {
public:
  explicit InstrumentPass(CaptureOptions Options = {}) : Options(Options) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  CaptureOptions Options;
};

/// Adds the textual names of all passes in lib/Transforms/Mneme to \p PB.
void registerMnemePasses(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_PASSES_H
