//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Passes that instrument an application, one per step.
///
/// - mneme-capture<O2;rdc>: writes the device module as payload
///   (PayloadFormat.h) to a side file
/// - mneme-embed: embeds side files of the same source in sections of the host
///   module, with the index of host pointers, and changes launch stubs as
///   Apply.h demands
/// - mneme-hooks: redirects calls of the GPU runtime through patchable slots
/// - mneme-instrument<O2;rdc>: run by the plugin; mneme-capture on a device
///   module, mneme-embed and mneme-hooks on others
///
/// The device compilation and the host compilation of one source are separate
/// processes of one driver; lib/Transforms/Mneme/SideFiles.h describes the
/// files that connect them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_PASSES_H
#define LLVM_MNEME_TRANSFORMS_PASSES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
namespace mneme {

/// Information that the device module does not contain.
struct CaptureOptions {
  /// The application's -O: '0' '1' '2' '3' 's' 'z'. At '0', optnone and the
  /// noinline that clang adds with it are dropped, as they would prevent
  /// replays with other pipelines.
  char OptLevel = '2';
  /// Compiled with -fgpu-rdc: modules without kernels are needed, too.
  bool IsRDC = false;
  /// Do not write a side file, because no host compilation follows.
  bool IsAlone = false;
  /// Embed payloads without bitcode.
  bool IsSlim = false;
  /// The program and the words of this compilation, from "-cc1" to the input:
  /// the unit's text is embedded, too. Empty: do not.
  std::vector<std::string> SourceCommand = {};
};

/// Removes the annotations and markers of the JIT, as the capture does before
/// it reads a module. Invalid ones are errors of the context.
void removeJitAnnotations(Module &M);

/// Returns the bitcode of a device module as in its payload.
SmallVector<char, 0> captureBitcode(Module &M, const CaptureOptions &Options);

/// Writes the unchanged device module to a side file. Skips modules without
/// kernels and host-visible variables. If writing fails, only warns, as the
/// program works without it.
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

/// Embeds the side files of this module's source as payloads and index. Must
/// run before mneme-hooks, as it reads the registration calls.
class EmbedPass : public PassInfoMixin<EmbedPass> {
public:
  /// \param IsSlim  omit the bitcode.
  explicit EmbedPass(bool IsSlim = false) : IsSlim(IsSlim) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }

private:
  bool IsSlim;
};

/// Makes calls of external functions named cuda[A-Z]*, __cuda*, hip[A-Z]* and
/// __hip* load their callee from a slot. Also redirects code that takes such a
/// function's address, unless an initializer contains the address, too: an
/// initializer has the address of the function itself, and both addresses must
/// compare equal.
class HooksPass : public PassInfoMixin<HooksPass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }
};

/// Runs the passes that a module needs; see mneme-instrument above.
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

/// Registers the textual names of all passes in lib/Transforms/Mneme in \p PB.
void registerMnemePasses(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_PASSES_H
