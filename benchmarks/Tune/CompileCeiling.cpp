//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures how many different compilations per second this machine can do, with
// processes that do nothing else. No tuner can evaluate new code faster.
//
// Each process compiles its share of the pipelines repeatedly until the time
// has passed. Prints one JSON object.
//
//===----------------------------------------------------------------------===//

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/WithColor.h"
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static cl::opt<std::string> IRFile(cl::Positional, cl::Required,
                                   cl::desc("<recorded bitcode>"));
static cl::opt<std::string> Kernel("kernel", cl::desc("The kernel's symbol"),
                                   cl::Required);
static cl::opt<std::string> Arch("arch", cl::desc("The GPU"));
static cl::opt<std::string>
    Pipelines("pipelines", cl::desc("File with a pipeline a line"),
              cl::init(""));
static cl::opt<std::string>
    Host("host", cl::desc("Compile for the host device, finished like this"),
         cl::value_desc("none|min|O1|O3"));
static cl::opt<unsigned> Jobs("jobs", cl::desc("Processes; default: one a core"));
static cl::opt<double> Seconds("seconds", cl::desc("How long"), cl::init(10));
static cl::opt<PTXCompiler> Assembler(
    "ptx-compiler", cl::desc("What assembles PTX"), cl::init(PTXCompiler::Auto),
    cl::values(clEnumValN(PTXCompiler::Auto, "auto", "ptxas (default)"),
               clEnumValN(PTXCompiler::Ptxas, "ptxas", "the program"),
               clEnumValN(PTXCompiler::Library, "nvptxcompiler", "in process")));

namespace {
/// The result of one process.
struct Share {
  uint64_t Compiled = 0, Failed = 0;
  double Optimize = 0, Codegen = 0, Assemble = 0; ///< Sums in seconds.
};
} // namespace

static Error compileForHost(Module &M, Share &S) {
  Expected<HostFinish> Finish = parseHostFinish(Host);
  if (!Finish)
    return Finish.takeError();
  HostOptions Options;
  Options.Finish = *Finish;
  auto Start = std::chrono::steady_clock::now();
  Expected<DeviceImage> Image = compileKernelForHost(M, Kernel, Options);
  S.Codegen +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - Start)
          .count();
  return Image.takeError();
}

static Error compileOnce(MemoryBufferRef IR, StringRef Passes, Share &S) {
  LLVMContext Context;
  Expected<std::unique_ptr<Module>> M = parseBitcodeFile(IR, Context);
  if (!M)
    return M.takeError();
  CompileOptions Options;
  Options.Kernel = Kernel;
  Options.Arch = Arch;
  Options.Passes = Passes.str();
  Options.Assembler = Assembler;
  Expected<KernelCompiler> Compiler =
      KernelCompiler::create(**M, std::move(Options));
  if (!Compiler)
    return Compiler.takeError();
  CompileResult Result;
  if (Error E = Compiler->optimize(**M, Result))
    return E;
  S.Optimize += Result.OptimizeTime;
  if (!Host.empty())
    return compileForHost(**M, S);
  if (Error E = Compiler->emitImage(**M, Result))
    return E;
  S.Codegen += Result.CodegenTime - Result.AssembleTime;
  S.Assemble += Result.AssembleTime;
  return Error::success();
}

static Share compileUntil(MemoryBufferRef IR, ArrayRef<StringRef> Texts,
                          std::chrono::steady_clock::time_point End) {
  Share S;
  for (size_t I = 0; std::chrono::steady_clock::now() < End; ++I) {
    if (Error E = compileOnce(IR, Texts[I % Texts.size()], S)) {
      consumeError(std::move(E));
      ++S.Failed;
    } else {
      ++S.Compiled;
    }
  }
  return S;
}

static Expected<Share> compileInProcesses(MemoryBufferRef IR,
                                          ArrayRef<StringRef> Texts,
                                          unsigned Processes) {
  int Pipe[2];
  if (::pipe(Pipe) != 0)
    return createStringError("cannot create a pipe");
  auto End = std::chrono::steady_clock::now() +
             std::chrono::microseconds(int64_t(Seconds * 1e6));
  for (unsigned I = 0; I != Processes; ++I) {
    if (::fork() != 0)
      continue;
    // Each process has its own share of the pipelines, so that no two compile
    // the same.
    std::vector<StringRef> Mine;
    for (size_t J = I; J < Texts.size(); J += Processes)
      Mine.push_back(Texts[J]);
    if (Mine.empty())
      Mine.assign(Texts.begin(), Texts.end());
    Share S = compileUntil(IR, Mine, End);
    bool Written = ::write(Pipe[1], &S, sizeof(S)) == sizeof(S);
    ::_exit(Written ? 0 : 1);
  }
  ::close(Pipe[1]);
  Share Sum, S;
  while (::read(Pipe[0], &S, sizeof(S)) == sizeof(S)) {
    Sum.Compiled += S.Compiled;
    Sum.Failed += S.Failed;
    Sum.Optimize += S.Optimize;
    Sum.Codegen += S.Codegen;
    Sum.Assemble += S.Assemble;
  }
  ::close(Pipe[0]);
  for (int Status; ::wait(&Status) > 0;)
    if (!WIFEXITED(Status) || WEXITSTATUS(Status) != 0)
      return createStringError("a process died while it compiled");
  return Sum;
}

static Error run() {
  Expected<std::unique_ptr<MemoryBuffer>> IR = readFile(IRFile);
  if (!IR)
    return IR.takeError();
  std::unique_ptr<MemoryBuffer> List;
  SmallVector<StringRef> Texts;
  if (!Pipelines.empty()) {
    if (Error E = readFile(Pipelines).moveInto(List))
      return E;
    List->getBuffer().split(Texts, '\n', -1, /*KeepEmpty=*/false);
  }
  if (Texts.empty())
    Texts.push_back("default<O3>");
  unsigned Processes =
      Jobs ? unsigned(Jobs) : std::max(1u, std::thread::hardware_concurrency());
  Expected<Share> Sum =
      compileInProcesses((*IR)->getMemBufferRef(), Texts, Processes);
  if (!Sum)
    return Sum.takeError();
  double Count = std::max<uint64_t>(Sum->Compiled, 1);
  outs() << json::Value(json::Object{
                {"jobs", Processes},
                {"seconds", double(Seconds)},
                {"compiled", Sum->Compiled},
                {"failed", Sum->Failed},
                {"per_second", Sum->Compiled / double(Seconds)},
                {"optimize_ms", Sum->Optimize / Count * 1e3},
                {"codegen_ms", Sum->Codegen / Count * 1e3},
                {"assemble_ms", Sum->Assemble / Count * 1e3}})
         << '\n';
  return Error::success();
}

int main(int argc, char **argv) {
  InitLLVM X(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Mneme: the compile ceiling\n");
  initializeTargets();
  if (Error E = run()) {
    WithColor::error(errs(), "mneme-bench-compile")
        << toString(std::move(E)) << '\n';
    return 1;
  }
  return 0;
}
