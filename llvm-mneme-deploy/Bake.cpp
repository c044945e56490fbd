//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/Bake.h"
#include "Commands.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand
    mneme::BakeCommand("bake", "Optimize the tuned kernels of a device module, "
                               "for MnemePass (-mneme-apply)");

static cl::opt<std::string> Input(cl::Positional, cl::Required,
                                  cl::desc("<module.bc>"), cl::sub(BakeCommand),
                                  cl::cat(CommandCategory));
static cl::list<std::string> Tuned(cl::Positional, cl::OneOrMore,
                                   cl::desc("<best.json or package>..."),
                                   cl::sub(BakeCommand),
                                   cl::cat(CommandCategory));
static cl::opt<std::string>
    Output("o", cl::desc("Folder for the kernels and the list bake.json"),
           cl::value_desc("folder"), cl::Required, cl::sub(BakeCommand),
           cl::cat(CommandCategory));
static cl::opt<std::string> OptLevel("opt-level",
                                     cl::desc("-O level of the compilation"),
                                     cl::value_desc("0|1|2|3|s|z"),
                                     cl::init("2"), cl::sub(BakeCommand),
                                     cl::cat(CommandCategory));
static cl::opt<bool> IsRDC("rdc", cl::desc("Compiled with -fgpu-rdc"),
                           cl::sub(BakeCommand), cl::cat(CommandCategory));
static cl::list<std::string> PtxasOptions(
    "ptxas-option", cl::desc("Option that the compilation passes to ptxas"),
    cl::value_desc("option"), cl::sub(BakeCommand), cl::cat(CommandCategory));
static cl::list<std::string>
    LLVMOptions("mllvm", cl::desc("-mllvm option of the compilation"),
                cl::value_desc("-name=value"), cl::sub(BakeCommand),
                cl::cat(CommandCategory));

/// Writes a temporary file.
static Error write(StringRef Name, StringRef Contents) {
  return writeFileAtomically(pathIn(Output, Name), Contents, /*Sync=*/false);
}

static json::Value makeDims(const Dim3 &D) {
  return json::Array{D.X, D.Y, D.Z};
}

/// Writes the modules, and returns the description of a kernel.
static Expected<json::Value> writeKernel(const BakedKernel &K, size_t Number) {
  std::string File = std::to_string(Number) + ".bc";
  if (Error E = write(File, K.Bitcode))
    return std::move(E);
  json::Object O{{"kernel", K.Name}, {"module", File}};
  if (K.Rule)
    O["block"] = json::Object{{"from", makeDims(K.Rule->From)},
                              {"to", makeDims(K.Rule->To)}};
  return std::move(O);
}

static Expected<json::Object> bake() {
  json::Array Warnings, Kernels;
  auto Warn = [&](const Twine &Text) {
    Warnings.push_back(json::fixUTF8(Text.str()));
  };
  BakeOptions O;
  O.OptLevel = OptLevel;
  O.IsRDC = IsRDC;
  O.PtxasOptions = PtxasOptions;
  for (const std::string &Text : LLVMOptions)
    if (Error E = parseLLVMOption(Text).moveInto(O.LLVMOptions.emplace_back()))
      return std::move(E);
  std::vector<TunedConfig> Configs;
  for (const std::string &Path : Tuned) {
    Expected<std::vector<TunedConfig>> More = readTunedConfigs(Path, Warn);
    if (!More)
      return More.takeError();
    append_range(Configs, std::move(*More));
  }
  Expected<std::unique_ptr<MemoryBuffer>> Module = readFile(Input, MaxIRFile);
  if (!Module)
    return Module.takeError();
  Expected<std::vector<BakedKernel>> Baked =
      bakeKernels((*Module)->getMemBufferRef(), Configs, O, Warn);
  if (!Baked)
    return Baked.takeError();
  for (const BakedKernel &K : *Baked) {
    Expected<json::Value> V = writeKernel(K, Kernels.size());
    if (!V)
      return V.takeError();
    Kernels.push_back(std::move(*V));
  }
  return json::Object{{"kernels", std::move(Kernels)},
                      {"warnings", std::move(Warnings)}};
}

Expected<int> mneme::runBake(ToolArgs) {
  if (std::error_code EC = sys::fs::create_directories(Output))
    return createFileError(Output, EC);
  Expected<json::Object> List = bake();
  if (!List)
    return List.takeError();
  std::string Text = formatv("{0:2}\n", json::Value(std::move(*List))).str();
  if (Error E = write("bake.json", Text))
    return std::move(E);
  return 0;
}
