//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/PackWinner.h"
#include "PackGuards.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/AMDSettings.h"
#include "llvm/Mneme/Transforms/Deployable.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

char PackRefusal::ID;

static Error refuse(const Twine &Why) { return make_error<PackRefusal>(Why); }

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Whether nothing writes a variable is known when its file is compiled, which
/// makes it constant (MnemeCapture.cpp). Other files can write one that is not
/// local, and the host one that it can name, which is not local either.
static StringRef explainVariable(const GlobalVariable &G) {
  constexpr unsigned ConstantSpace = 4;
  if (G.getAddressSpace() == ConstantSpace)
    return "which the host can write";
  if (!G.hasLocalLinkage())
    return "which other code can write";
  return "which device code of its source file writes or whose address it "
         "stores";
}

std::string mneme::findOwnVariable(const Module &M) {
  constexpr unsigned GenericSpace = 0, GlobalSpace = 1, ConstantSpace = 4;
  for (const GlobalVariable &G : M.globals()) {
    unsigned Space = G.getAddressSpace();
    // A __constant__ variable is a constant that the host writes.
    bool IsConst = G.isConstant() && !G.isExternallyInitialized();
    if (G.getName().starts_with("llvm.") || IsConst || isSpecialRegister(G) ||
        !is_contained({GenericSpace, GlobalSpace, ConstantSpace}, Space))
      continue;
    return ("the kernel uses the variable '" + G.getName() + "', " +
            explainVariable(G))
        .str();
  }
  return "";
}

std::string mneme::describeLevelRefusal(CompareLevel Level, StringRef Command) {
  StringRef How = Level == CompareLevel::Unordered  ? "in any order of records"
                  : Level == CompareLevel::Envelope ? "within an envelope"
                                                    : "within a tolerance";
  return formatv("results were compared {0}: permit that with {1}--accept={2}",
                 How, Command, getLevelName(Level))
      .str();
}

static Error checkWinner(const ReplayPlan &Plan, const MeasuredWinner &Winner,
                         const PackOptions &O) {
  if (Triple Target(Plan.kernel().Triple); !isPackageable(Target))
    return refuse("packages are for CUDA and HIP programs, the kernel is for " +
                  Target.str());
  if (!Winner.IsJudgedByApp &&
      (!Plan.options().Verify || !Plan.options().Execute))
    return refuse("the results were not verified");
  if (Plan.options().Fill)
    return refuse("the code initializes memory (--fill)");
  // Guards come from the configuration and the recorded IR.
  if (std::string Pass =
          findUnguardedPass(Plan.compiler().pipeline(), Winner.IsJudgedByApp);
      !Pass.empty())
    return refuse("no guards are known for the pass '" + Pass +
                  "' of the pipeline" +
                  (Pass == "mneme-specialize" ? ": use --specialize" : ""));
  if (!Plan.options().PTXFile.empty())
    return refuse("the code is from another file (--ptx)");
  // Candidates that the application judges are not compared.
  CompareLevel Level = std::max(Plan.comparison().level(), Winner.Level);
  if (!Winner.IsJudgedByApp && Level > O.Accept)
    return refuse(describeLevelRefusal(Level, ""));
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  // On the host device, code uses the application's variables.
  if (Winner.OnHost || Plan.options().Deployable)
    return Error::success();
  std::string Own = findOwnVariable(*M);
  if (Own.empty())
    return Error::success();
  std::string Why = findUndeployable(*M);
  return refuse(Own + ": the code has a copy of its own; " +
                (Why.empty() ? "tune with --deployable=on"
                             : Why + ": pass it as an argument"));
}

//===----------------------------------------------------------------------===//
// The image
//===----------------------------------------------------------------------===//

static Expected<CompiledKernel> compile(const ReplayPlan &Plan, bool OnHost) {
  ChildLimits Limits;
  Limits.Seconds = 2 * Plan.options().Timeout;
  Expected<std::string> Bytes = runInChild(
      "the compiler",
      [&]() -> Expected<std::string> {
        Expected<CompiledKernel> Code =
            compileVariant(Plan, OnHost ? CodeTarget::Host : CodeTarget::GPU,
                           [](ReplayStage) {});
        if (!Code)
          return Code.takeError();
        return serialize(*Code);
      },
      Limits);
  if (!Bytes)
    return Bytes.takeError();
  Expected<CompiledKernel> Code = deserializeCompiledKernel(*Bytes);
  if (Code && Code->failed())
    return createStringError("the winner does not compile: " + Code->Error);
  return Code;
}

/// The hash of the host device's code covers the GPU's image, too, if the study
/// looked at its resources.
static Expected<CompiledKernel> compileMeasured(const ReplayPlan &Plan,
                                                const MeasuredWinner &Winner) {
  Expected<CompiledKernel> Code = compile(Plan, Winner.OnHost);
  if (!Code || Winner.CodeHash.empty() || Code->CodeHash == Winner.CodeHash)
    return Code;
  std::string First = Code->CodeHash;
  if (Winner.OnHost) {
    ReplayOptions Other = Plan.options();
    Other.Resources = !Other.Resources;
    Expected<std::unique_ptr<ReplayPlan>> Again = Plan.vary(std::move(Other));
    if (!Again)
      return Again.takeError();
    Code = compile(**Again, Winner.OnHost);
    if (!Code || Code->CodeHash == Winner.CodeHash)
      return Code;
  }
  return refuse(formatv("the code differs from the measured one: its hash is "
                        "{0}, that of the study is {1}; pack with the options "
                        "and the tools of the study",
                        First, Winner.CodeHash));
}

/// Returns the number of threads per block that the registers admit.
static uint32_t limitByRegisters(uint64_t Registers) {
  constexpr uint64_t PerBlock = 65536, Granule = 8, Warp = 32;
  return PerBlock /
         (alignTo(std::max<uint64_t>(Registers, 1), Granule) * Warp) * Warp;
}

/// 90 for sm_90a, 0x90a for gfx90a.
static uint32_t getArchNumber(StringRef Arch) {
  uint32_t Number = 0;
  unsigned Radix = Arch.consume_front("gfx") ? 16 : 10;
  Arch.consume_front("sm_");
  Arch.consumeInteger(Radix, Number);
  return Number;
}

/// Returns the processor of a code object with the settings that it needs.
static std::string getTargetName(const DeviceImage &Image) {
  return StringRef(Image.Arch).contains(':')
             ? Image.Arch
             : Image.Arch + readAMDSettings(Image.Object);
}

void mneme::describeImage(const CompiledKernel &Code, bool OnHost,
                          PackagedVariant &V) {
  const DeviceImage &Image = Code.Image;
  MnemePackageVariant &F = V.Fields;
  V.Image.assign(Image.Object.begin(), Image.Object.end());
  V.ArchName = Image.Arch;
  if (OnHost) {
    const HostKernelInfo &Info = getHostKernelInfo(Image);
    MnemeHostKernel Host = toExecutorKernel(Info, /*Entry=*/0);
    F.ImageKind = MNEME_IMAGE_OBJECT;
    V.Entry = Info.Entry;
    F.StaticShared = Host.StaticShared;
    F.HostStrategy = Host.Strategy;
    F.HostWaveSize = Host.WaveSize;
    F.HostOrdered = Host.Ordered;
    F.HostContextSize = Host.ContextSize;
    return;
  }
  bool IsAMD = StringRef(Image.Arch).starts_with("gfx");
  F.ImageKind = IsAMD ? MNEME_IMAGE_CODE_OBJECT : MNEME_IMAGE_CUBIN;
  F.Arch = getArchNumber(Image.Arch);
  if (IsAMD)
    V.ArchName = getTargetName(Image);
  V.Entry = Image.KernelName;
  const KernelResources &R = *Code.Resources;
  F.Registers = R.Registers.value_or(0);
  F.StaticShared = R.Shared.value_or(0);
  F.MaxThreads = std::min<uint64_t>(
      {F.MaxThreads, R.MaxThreads.value_or(F.MaxThreads),
       R.Registers && !IsAMD ? limitByRegisters(*R.Registers) : F.MaxThreads});
}

Expected<PackagedKernel> mneme::packWinner(const ReplayPlan &Plan,
                                           const MeasuredWinner &Winner,
                                           const PackOptions &O) {
  if (Error E = checkWinner(Plan, Winner, O))
    return std::move(E);
  const RecordedKernel &Recorded = Plan.kernel();
  PackagedKernel K;
  std::optional<Digest128> Hash = parseDigest128(Recorded.StaticHash);
  if (!Hash)
    return createStringError("the recording has no static hash");
  K.StaticHash = *Hash;
  K.Name = Recorded.KernelName;
  K.LoadedFrom = parseDigest128(Recorded.Image.Digest);
  for (const KernelArg &A : Recorded.Args)
    K.Args.push_back({A.Size, A.Offset});
  PackagedVariant &V = K.Variants.emplace_back();
  if (Error E = addGuards(Plan, Winner, O, K))
    return std::move(E);
  Expected<CompiledKernel> Code = compileMeasured(Plan, Winner);
  if (!Code)
    return Code.takeError();
  describeImage(*Code, Winner.OnHost, V);
  json::Object Provenance(Winner.Provenance);
  Provenance["compiled_for"] = toJSON(getLaunch(Plan));
  if (Winner.OnHost)
    Provenance["host_finish"] = getHostFinishName(Plan.options().Host.Finish);
  // The tests on other launches say nothing of this one.
  if (const json::Array *Tested = Provenance.getArray("tested")) {
    json::Array Own;
    for (const json::Value &Of : *Tested)
      if (Of.getAsObject()->getString("record_id") ==
          Plan.instance().DynamicHash)
        Own.push_back(Of);
    Provenance["tested"] = std::move(Own);
  }
  V.Provenance = formatv("{0}", json::Value(std::move(Provenance)));
  return K;
}

Expected<PackagedKernel> mneme::packCandidate(const ReplayPlan &Plan,
                                              bool OnHost) {
  MeasuredWinner Candidate;
  Candidate.OnHost = OnHost;
  Candidate.IsJudgedByApp = true;
  PackOptions O;
  O.Scope = PackScope::Kernel;
  O.LaunchShape = MNEME_GRADE_UNPROVEN;
  O.Code = MNEME_CODE_UNPROVEN;
  return packWinner(Plan, Candidate, O);
}

//===----------------------------------------------------------------------===//
// Several launches
//===----------------------------------------------------------------------===//

/// Packs a winner on the launch that it was measured on.
static Expected<PackagedKernel> packFor(const ReplayPlan &Launch,
                                        const InstanceWinner &Own,
                                        const PackOptions &O) {
  assert(Launch.instance().DynamicHash == Own.RecordId && "another launch");
  ReplayOptions Replay = Launch.options();
  if (Error E = applySide(Own.Config, Replay))
    return std::move(E);
  Expected<std::unique_ptr<ReplayPlan>> Plan = Launch.vary(std::move(Replay));
  if (!Plan)
    return Plan.takeError();
  return packWinner(**Plan, Own.Winner, O);
}

/// Adds variants for launches that no earlier one serves.
static void addVariants(PackagedKernel &Into, const PackagedKernel &From) {
  for (const PackagedVariant &V : From.Variants)
    if (none_of(Into.Variants, [&](const PackagedVariant &Known) {
          return servesSameLaunches(Known, V);
        }))
      Into.Variants.push_back(V);
}

Expected<PackagedKernel>
mneme::packWinner(ArrayRef<std::unique_ptr<ReplayPlan>> Plans,
                  const BestFile &Best, const PackOptions &O,
                  function_ref<void(const Twine &)> Note) {
  Expected<PackagedKernel> First =
      packFor(*Plans.front(), Best.Common.front(), O);
  if (!First)
    return First;
  auto Explain = [&](StringRef Verb, const ReplayPlan &Plan, Error E) {
    return handleErrors(std::move(E), [&](const PackRefusal &R) {
      Note("the package does not " + Verb + " launch " +
           Plan.instance().DynamicHash + ": " + R.message());
    });
  };
  SmallVector<const ReplayPlan *> All;
  for (const std::unique_ptr<ReplayPlan> &Plan : Plans)
    All.push_back(Plan.get());
  // The winners of single launches come first, and serve these only.
  PackagedKernel K = *First;
  K.Variants.clear();
  for (const std::unique_ptr<ReplayPlan> &Plan : Plans)
    for (const InstanceWinner &Own : Best.InstanceWinners) {
      if (Own.RecordId != Plan->instance().DynamicHash)
        continue;
      if (Expected<PackagedKernel> Next = packFor(*Plan, Own, O)) {
        addOwnArguments(*Plan, All, O, Next->Variants.front());
        addVariants(K, *Next);
      } else if (Error E =
                     Explain("contain the winner for", *Plan, Next.takeError()))
        return std::move(E);
    }
  std::vector<ServedLaunch> Common;
  auto AddCommon = [&](const ReplayPlan &Plan, PackagedKernel Served) {
    Common.push_back({&Plan, Served.Variants.front()});
    addOwnArguments(Plan, All, O, Served.Variants.front());
    addVariants(K, Served);
  };
  AddCommon(*Plans.front(), std::move(*First));
  for (auto [Plan, Own] :
       drop_begin(zip_equal(Plans, ArrayRef(Best.Common)))) {
    Expected<PackagedKernel> Next = packFor(*Plan, Own, O);
    if (!Next) {
      if (Error E = Explain("serve", *Plan, Next.takeError()))
        return std::move(E);
      continue;
    }
    AddCommon(*Plan, std::move(*Next));
  }
  if (O.Scope == PackScope::Recorded)
    addBetween(Common, K);
  return K;
}
