//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::ImportCommand(
    "import", "Compile the entries of a file for Proteus into a package");

static cl::opt<std::string>
    ImportInput(cl::Positional, cl::Required,
                cl::desc("<file of PROTEUS_TUNED_KERNELS>"),
                cl::sub(ImportCommand), cl::cat(CommandCategory));
static cl::opt<std::string>
    ImportApp("app",
              cl::desc("The application, which contains the "
                       "IR of its kernels"),
              cl::value_desc("file"), cl::Required, cl::sub(ImportCommand),
              cl::cat(CommandCategory));
static cl::opt<std::string>
    ImportOutput("o", cl::desc("Package to write, or to add to if it exists"),
                 cl::value_desc("file"), cl::Required, cl::sub(ImportCommand),
                 cl::cat(CommandCategory));
static cl::opt<std::string> LaunchShape(
    "launch-shape",
    cl::desc("unproven: import entries that change the launch (GridDim, "
             "BlockDim)"),
    cl::value_desc("proven|verified|unproven"), cl::init("proven"),
    cl::sub(ImportCommand), cl::cat(CommandCategory));
namespace {
enum class Target { CUDA, Host };
} // namespace
static EnumOption<Target> DeviceKind(
    "device", cl::desc("Device to compile for"),
    cl::values(clEnumValN(Target::CUDA, "cuda",
                          "the application's GPUs (default)"),
               clEnumValN(Target::Host, "host", "this machine's CPU")),
    cl::init(Target::CUDA), cl::sub(ImportCommand), cl::cat(CommandCategory));
static cl::opt<std::string>
    CudaPath("cuda-path", cl::desc("CUDA toolkit to take ptxas from"),
             cl::value_desc("dir"), cl::sub(ImportCommand),
             cl::cat(CommandCategory));

static std::string describeOrigin(const ProteusEntry &E) {
  json::Object Config = makeConfig(E.Options.Config);
  return formatv("{0}", json::Value(json::Object{
                            {"kernel", json::fixUTF8(E.Kernel)},
                            {"config", std::move(Config)},
                            {"imported",
                             json::Object{{"from", "proteus"},
                                          {"entry", json::Object(E.Source)}}}}))
      .str();
}

/// Adds the kernel of each payload that has it, or nothing after an error.
static Error importEntry(ProteusEntry &E, ArrayRef<Payload> Payloads,
                         const PackOptions &Pack, TunedPackage &P) {
  if (!E.Problem.empty())
    return createStringError(E.Problem);
  if (E.Options.Block && Pack.LaunchShape != MNEME_GRADE_UNPROVEN)
    return createStringError(
        "GridDim and BlockDim change the launch without a proof: permit that "
        "with --launch-shape=unproven");
  std::vector<ConfigSideEffect> Effects =
      findSideEffects(makeConfig(E.Options.Config));
  if (!Effects.empty())
    return createStringError(toString(Effects.front()));
  E.Options.OnHost = DeviceKind == Target::Host;
  E.Options.CudaPath = CudaPath;
  bool HasKernel = false;
  std::vector<PackagedKernel> Found;
  for (auto [I, Unit] : enumerate(Payloads)) {
    if (!Unit.findKernel(E.Kernel))
      continue;
    HasKernel = true;
    Expected<PackagedKernel> K = compileAhead(Payloads, I, E.Kernel, E.Options);
    if (!K)
      return K.takeError();
    if (!E.StaticHash.empty() && E.StaticHash != toHexString(K->StaticHash))
      continue;
    K->Variants.front().Provenance = describeOrigin(E);
    Found.push_back(std::move(*K));
  }
  if (!HasKernel)
    return createStringError("'" + ImportApp + "' has no such kernel");
  if (Found.empty())
    return createStringError("it was tuned for other code: its static hash "
                             "is " +
                             E.StaticHash);
  for (PackagedKernel &K : Found)
    updatePackage(P, std::move(K));
  return Error::success();
}

Expected<int> mneme::runImport(ToolArgs) {
  PackOptions Pack;
  if (Error E = parseLaunchShape(LaunchShape, Pack))
    return std::move(E);
  Expected<std::vector<ProteusEntry>> Entries = readProteusFile(ImportInput);
  if (!Entries)
    return Entries.takeError();
  Expected<std::vector<Payload>> Payloads = readPayloads(ImportApp);
  if (!Payloads)
    return Payloads.takeError();
  TunedPackage P;
  size_t NumImported = 0;
  for (ProteusEntry &E : *Entries) {
    for (const std::string &Text : E.Warnings)
      printWarning("'" + ImportInput + "': kernel '" + E.Kernel + "': " + Text);
    if (Error Why = importEntry(E, *Payloads, Pack, P))
      printNote("'" + ImportInput + "': kernel '" + E.Kernel +
                "' is not imported: " + toString(std::move(Why)));
    else
      ++NumImported;
  }
  if (!NumImported)
    return 2;
  Expected<size_t> NumKernels =
      addToPackage(ImportOutput, std::move(P.Kernels), ImportApp);
  if (!NumKernels)
    return NumKernels.takeError();
  textOuts() << "imported " << formatCount(NumImported, "kernel") << "; "
             << ImportOutput << " has " << formatCount(*NumKernels, "kernel")
             << '\n';
  return NumImported == Entries->size() ? 0 : 2;
}
