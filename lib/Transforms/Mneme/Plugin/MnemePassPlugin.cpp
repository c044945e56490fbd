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

#include "../Diagnose.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Apply.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/TargetParser/Triple.h"
#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

using namespace llvm;

static cl::list<std::string>
    ApplyFiles("mneme-apply",
               cl::desc("Compile the winner in a best.json, or the winners in "
                        "a package of tuned kernels, into the program"),
               cl::value_desc("file"));
static cl::opt<bool>
    Slim("mneme-slim",
         cl::desc("Embed no device IR: kernels can be replaced by tuned ones, "
                  "but not recorded"));

/// The words of a command line.
class CommandLine {
public:
  /// \param Process  the number of a process, or "self".
  explicit CommandLine(const Twine &Process) : Saver(Allocator) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> File =
        MemoryBuffer::getFileAsStream("/proc/" + Process + "/cmdline");
    if (!File)
      return;
    SmallVector<const char *, 256> Argv;
    for (StringRef Arg : split((*File)->getBuffer(), '\0'))
      Argv.push_back(Saver.save(Arg).data());
    // A long command line is passed as a response file.
    cl::ExpandResponseFiles(Saver, cl::TokenizeGNUCommandLine, Argv);
    Words.assign(Argv.begin(), Argv.end());
  }

  ArrayRef<StringRef> words() const { return Words; }
  bool contains(StringRef Word) const { return is_contained(Words, Word); }
  /// Returns the words that follow \p Option, which clang's driver may pass on
  /// with -Xclang.
  std::vector<std::string> valuesOf(StringRef Option) const {
    std::vector<std::string> Values;
    const StringRef *Previous = nullptr;
    for (const StringRef &Word : Words) {
      if (Word == "-Xclang")
        continue;
      if (Previous && *Previous == Option)
        Values.push_back(Word.str());
      Previous = &Word;
    }
    return Values;
  }
  /// Returns the first option of this plugin that clang's driver passes to all
  /// programs that have LLVM's options; empty if there is none.
  StringRef findOwnOption() const {
    for (size_t I = 2; I < Words.size(); ++I)
      if (Words[I - 1] == "-mllvm" && Words[I - 2] != "-Xclang" &&
          Words[I].ltrim('-').starts_with("mneme-"))
        return Words[I];
    return "";
  }

private:
  BumpPtrAllocator Allocator;
  StringSaver Saver;
  SmallVector<StringRef, 256> Words;
};

static char getOptLevel(OptimizationLevel Level) {
  if (Level.getSizeLevel())
    return Level.getSizeLevel() == 1 ? 's' : 'z';
  return '0' + Level.getSpeedupLevel();
}

static mneme::CaptureOptions getCaptureOptions(OptimizationLevel Level) {
  mneme::CaptureOptions Options;
  Options.OptLevel = getOptLevel(Level);
  Options.IsSlim = Slim;
  // The other options are not in the device module, only on the compiler's
  // command line.
  CommandLine Own("self");
  Options.IsRDC = Own.contains("-fgpu-rdc");
  // With only one job, clang's driver compiles in its own process, without
  // -cc1.
  Options.IsAlone = !Own.contains("-cc1");
  if (!Options.IsAlone && sys::Process::GetEnv("MNEME_SOURCE") == "1") {
    for (StringRef Word : Own.words())
      Options.SourceCommand.push_back(Word.str());
    Options.SourceCommand.front() =
        sys::fs::getMainExecutable(nullptr, nullptr);
  }
  return Options;
}

/// Returns the number of the process of clang's driver.
static std::string driverProcess() {
  return CommandLine("self").contains("-cc1") ? std::to_string(::getppid())
                                              : "self";
}

static bool isDeviceOnly(const CommandLine &Driver) {
  return Driver.contains("--offload-device-only") ||
         Driver.contains("--cuda-device-only");
}

/// Returns the path of llvm-mneme-deploy: the plugin is in the folder lib
/// beside the tools' bin.
static std::string findTool() {
  Dl_info Info;
  SmallString<128> Path;
  if (!::dladdr(reinterpret_cast<void *>(findTool), &Info) ||
      sys::fs::real_path(Info.dli_fname, Path))
    return "";
  sys::path::remove_filename(Path); // lib
  Path = sys::path::parent_path(Path);
  sys::path::append(Path, "bin", "llvm-mneme-deploy");
  return std::string(Path);
}

namespace {
/// For AMD GPUs, clang's driver passes -mllvm to the linker, too, which would
/// not know the plugin's options.
class CheckOptionsPass : public PassInfoMixin<CheckOptionsPass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (!mneme::getTriple(M).isAMDGPU())
      return PreservedAnalyses::all();
    CommandLine Driver(driverProcess());
    StringRef Option = Driver.findOwnOption();
    if (!Option.empty() && !Driver.contains("-fgpu-rdc") &&
        !isDeviceOnly(Driver))
      mneme::reportError(M, "the linker for AMD GPUs rejects '-mllvm " +
                                Option + "': use '-Xclang -mllvm -Xclang " +
                                Option + "'");
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};
} // namespace

static mneme::ApplyOptions getApplyOptions() {
  mneme::ApplyOptions Options;
  Options.Files.assign(ApplyFiles.begin(), ApplyFiles.end());
  Options.Tool = findTool();
  CommandLine Own("self");
  Options.LLVMOptions = Own.valuesOf("-mllvm");
  erase_if(Options.LLVMOptions, [](StringRef Option) {
    return Option.ltrim('-').starts_with("mneme-");
  });
  // The driver also runs ptxas and the host compilation.
  CommandLine Driver(driverProcess());
  Options.PtxasOptions = Driver.valuesOf("-Xcuda-ptxas");
  Options.IsDeviceOnly = !Own.contains("-cc1") || isDeviceOnly(Driver);
  return Options;
}

/// Returns the option that makes the linker optimize the device module again;
/// empty if there is none.
static StringRef findLaterOptimizer(ThinOrFullLTOPhase Phase) {
  if (Phase == ThinOrFullLTOPhase::ThinLTOPreLink ||
      Phase == ThinOrFullLTOPhase::FullLTOPreLink)
    return "-foffload-lto";
  // For AMD GPUs, without -flto.
  CommandLine Own("self");
  if (!Own.contains("-emit-llvm-bc") ||
      CommandLine(driverProcess()).contains("-emit-llvm"))
    return "";
  return Own.contains("-fgpu-rdc") ? "-fgpu-rdc" : "--offload-new-driver";
}

/// Optimizes tuned kernels when the module is as in its payload, and puts them
/// into it when its other kernels have been optimized.
static void registerApply(PassBuilder &PB) {
  auto Applied = std::make_shared<mneme::AppliedKernels>();
  PB.registerPipelineStartEPCallback(
      [=](ModulePassManager &MPM, OptimizationLevel Level) {
        MPM.addPass(mneme::ApplyPass(getApplyOptions(),
                                     getCaptureOptions(Level), Applied));
      });
  mneme::registerOptimizerLast(
      PB, [=](ModulePassManager &MPM, ThinOrFullLTOPhase Phase) {
        MPM.addPass(mneme::ReplacePass(Applied, findLaterOptimizer(Phase)));
      });
}

static void registerPlugin(PassBuilder &PB) {
  mneme::registerMnemePasses(PB);
  // At the start of the pipeline, the captured module has not been optimized,
  // and launch stubs have not been inlined into their callers.
  PB.registerPipelineStartEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        MPM.addPass(CheckOptionsPass());
        MPM.addPass(mneme::InstrumentPass(getCaptureOptions(Level)));
      });
  if (!ApplyFiles.empty())
    registerApply(PB);
}

/// Returns true if the compiler uses the LLVM version that the plugin was built
/// for. The plugin interface seldom changes, but the classes behind it change
/// with every minor version; hence this function uses no LLVM class.
static bool fitsHost() {
  // The plugin may bring an LLVM of its own along, so ask for the first one in
  // the process, which is the compiler's; one that is linked statically may
  // lack the function.
  auto *GetVersion =
      reinterpret_cast<void (*)(unsigned *, unsigned *, unsigned *)>(
          ::dlsym(RTLD_DEFAULT, "LLVMGetVersion"));
  if (!GetVersion)
    return true;
  unsigned Major, Minor, Patch;
  GetVersion(&Major, &Minor, &Patch);
  if (Major == LLVM_VERSION_MAJOR && Minor == LLVM_VERSION_MINOR)
    return true;
  fprintf(stderr,
          "error: MnemePass was built for LLVM " LLVM_VERSION_STRING
          ", this is LLVM %u.%u.%u ('llvm-mneme-record --print-config=plugin "
          "--clang=COMPILER' names the pass for a compiler)\n",
          Major, Minor, Patch);
  return false;
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  // An API version of 0 is the only way to decline.
  const uint32_t Version = fitsHost() ? LLVM_PLUGIN_API_VERSION : 0;
  return {Version, "Mneme", MNEME_VERSION_STRING,
          registerPlugin};
}
