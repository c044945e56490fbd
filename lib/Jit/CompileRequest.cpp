//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileRequest.h"
#include "Facts.h"
#include "LinkImage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Runtime/JitCache.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Transforms/Deployable.h"

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::JitConstant;
using ::mneme::JitRequest;
using ::mneme::JitTarget;

SpecializeOptions llvm::mneme::getSpecialization(const JitRequest &Q,
                                                 StringRef Entry) {
  SpecializeOptions O;
  O.Kernel = Entry.str();
  for (const JitConstant &C : Q.Constants) {
    const MnemeJitField &F = Q.Fields[C.Field];
    KnownBytes &K = O.Known.emplace_back();
    K.Where =
        F.Kind == MNEME_JIT_VALUE ? KnownBytes::Value : KnownBytes::Pointee;
    K.Arg = F.Arg;
    K.Offset = F.Kind == MNEME_JIT_ARRAY ? 0 : F.Offset;
    K.Bytes = C.Bytes;
  }
  O.MaxThreads = Q.MaxThreads;
  return O;
}

/// Dimensions that are no constants come as 0: only those that the code uses
/// are sent.
static void specializeDimensions(const JitRequest &Q, SpecializeOptions &O) {
  auto Set = [](const uint32_t (&From)[3], std::optional<Dim3> &To) {
    if (From[0] || From[1] || From[2])
      To = Dim3{std::max(From[0], 1u), std::max(From[1], 1u),
                std::max(From[2], 1u)};
  };
  Set(Q.Block, O.Block);
  Set(Q.Grid, O.Grid);
  O.Constants = Q.Specialize & (::mneme::JitBlock | ::mneme::JitGrid);
  O.Ranges = Q.Specialize & ::mneme::JitRanges;
}

static Expected<KernelConfig> readConfig(StringRef Text) {
  KernelConfig C;
  if (Text.empty())
    return C;
  Expected<json::Value> V = parseJSON(Text);
  if (!V)
    return V.takeError();
  const json::Object *O = V->getAsObject();
  if (!O)
    return createStringError("the settings are not a JSON object");
  if (Error E = applyConfig(*O, C))
    return std::move(E);
  return C;
}

/// Checks that a payload is what the key says.
static Error checkCode(const JitRequest &Q, ArrayRef<Payload> Payloads,
                       size_t Unit) {
  const PayloadKernel *K = Payloads[Unit].findKernel(Q.Symbol);
  if (!K)
    return createStringError("the code has no '" + Q.Symbol + "'");
  std::string Code = toHex(Q.Code, /*LowerCase=*/true);
  if (Q.Target != JitTarget::Function && !K->StaticHash.empty())
    return K->StaticHash == Code
               ? Error::success()
               : createStringError("the code of '" + Q.Symbol +
                                   "' has another hash");
  if (computeLinkHash(Payloads) != Code)
    return createStringError("the code has another hash");
  return Error::success();
}

/// Applies the entry of a kernel in a file of tuned kernels.
static Error applyTuned(const JitJob &Job, const PayloadKernel &K,
                        JitRequest &Q, KernelConfig &Config) {
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Job.TunedFile);
  if (!File)
    return File.takeError();
  // The key has the digest.
  StringRef Text = (*File)->getBuffer();
  if (::mneme::jitDigest(Text.data(), Text.size()) != Q.Tuned)
    return createStringError("'" + Job.TunedFile + "' has changed");
  Expected<std::vector<ProteusEntry>> Entries = readProteusFile(Job.TunedFile);
  if (!Entries)
    return Entries.takeError();
  for (const ProteusEntry &E : *Entries) {
    if (E.Kernel != Q.Symbol ||
        (!E.StaticHash.empty() && !K.StaticHash.empty() &&
         E.StaticHash != K.StaticHash))
      continue;
    const ProteusPolicy &P = E.Policy;
    Config.Passes = E.Options.Config.Passes;
    Config.CodeGenLevel = E.Options.Config.CodeGenLevel;
    Q.Specialize = (P.Args ? ::mneme::JitArgs : 0) |
                   (P.Dims ? ::mneme::JitBlock | ::mneme::JitGrid : 0) |
                   (P.Ranges ? ::mneme::JitRanges : 0) |
                   (P.Bounds ? ::mneme::JitBounds : 0);
    if (P.Bounds && Q.MaxThreads == P.TunedMaxThreads)
      Config.MinBlocks = P.MinBlocks;
  }
  return Error::success();
}

/// Whether code runs on the GPU of the request, also if it is for that GPU only
/// (sm_90a).
static bool isForArchitecture(const Module &M, const JitRequest &Q) {
  StringRef Arch =
      M.getFunction(Q.Symbol)->getFnAttribute("target-cpu").getValueAsString();
  return Arch.consume_front(Q.Arch) &&
         Arch.find_first_of("0123456789") == StringRef::npos;
}

static Expected<JitResult> compileKernel(const JitJob &Job,
                                         std::vector<Payload> Payloads,
                                         size_t Unit, KernelConfig Config) {
  JitRequest Q = Job.Request;
  if (!Q.Tuned.empty())
    if (Error E =
            applyTuned(Job, *Payloads[Unit].findKernel(Q.Symbol), Q, Config))
      return std::move(E);
  std::string OptLevel(1, Payloads[Unit].OptLevel);
  LLVMContext Context;
  Context.setDiscardValueNames(true);
  Expected<DeviceLink> Link = DeviceLink::create(std::move(Payloads), Context);
  if (!Link)
    return Link.takeError();
  Expected<std::unique_ptr<Module>> M = Link->extract(Unit, Q.Symbol);
  if (!M)
    return M.takeError();
  if (Q.Target == JitTarget::Cuda)
    if (Error E = checkComplete(**M))
      return std::move(E);

  JitResult Result;
  {
    LLVMContext Scratch;
    std::unique_ptr<Module> Copy = copyModule(**M, Scratch);
    Result.Facts = findFacts(*Copy, Q.Symbol, Q);
  }
  JitRequest Needed = Q;
  applyFacts(Needed, Result.Facts);
  SpecializeOptions SO = getSpecialization(Needed, Q.Symbol);
  specializeDimensions(Needed, SO);
  uint32_t MaxThreads = std::exchange(SO.MaxThreads, 0);
  ModuleAnalysisManager MAM;
  SpecializePass(SO).run(**M, MAM);
  resolveSharedArrays(**M);

  CompileOptions CO = makeCompileOptions(Q.Symbol, Config);
  CO.Specialize.Kernel = Q.Symbol;
  copy_if(SO.Known, std::back_inserter(CO.Specialize.Known),
          [](const KnownBytes &K) { return K.Where == KnownBytes::Pointee; });
  CO.OptLevel = OptLevel;
  CO.Plugins = Job.Plugins;
  CO.CudaPath = Job.CudaPath;
  if (Q.Target == JitTarget::Cuda) {
    // Code for another architecture of the same family, or for an older one.
    if (!isForArchitecture(**M, Q))
      CO.Arch = Q.Arch;
    CO.Deployable = true;
    if (std::string Why = findUndeployable(**M); !Why.empty())
      return createStringError(Why);
  }
  CO.Specialize.MaxThreads = MaxThreads;
  CO.Specialize.MinBlocks = MaxThreads ? Config.MinBlocks : 0;
  Expected<KernelCompiler> C = KernelCompiler::create(**M, CO);
  if (!C)
    return C.takeError();
  CompileResult Compiled;
  if (Error E = C->optimize(*M, Compiled))
    return std::move(E);
  LLVMOptionScope Scope;
  if (Q.Target == JitTarget::Host) {
    if (Error E = C->enterLLVMOptions(Scope))
      return std::move(E);
    Expected<DeviceImage> Object =
        compileKernelForHost(**M, Q.Symbol, HostOptions());
    if (!Object)
      return Object.takeError();
    const HostKernelInfo &Info = getHostKernelInfo(*Object);
    if (Error E = linkImage(MemoryBufferRef(StringRef(Object->Object.data(),
                                                      Object->Object.size()),
                                            Q.Symbol),
                            Info.Entry)
                      .moveInto(Result.Image))
      return std::move(E);
    Result.Image.Host = toExecutorKernel(Info, /*Entry=*/0);
    return std::move(Result);
  }
  for (auto [Slot, V] : enumerate(getVariableSlots(**M)))
    Result.Image.Variables.push_back({V.Name, V.Size, Slot});
  for (const SharedVariable &V : getVariableCopies(**M))
    Result.Image.Variables.push_back({V.Name, V.Size, MNEME_VARIABLE_COPY});
  if (Error E = C->emitImage(**M, Compiled))
    return std::move(E);
  Result.Image.Cubin.assign(Compiled.Image.begin(), Compiled.Image.end());
  Result.Image.Kernel = Q.Symbol;
  return std::move(Result);
}

Expected<JitResult> llvm::mneme::compileJob(const JitJob &Job) {
  const JitRequest &Q = Job.Request;
  std::vector<Payload> Payloads;
  size_t Unit = 0;
  for (const std::string &Bytes : Job.Payloads) {
    Expected<Payload> P = parsePayload(Bytes, "payload");
    if (!P)
      return P.takeError();
    if (P->IsSlim)
      return createStringError("'" + P->Source + "' " + SlimProblem);
    if (P->Hash == toHex(Q.Unit, /*LowerCase=*/true))
      Unit = Payloads.size();
    Payloads.push_back(std::move(*P));
  }
  if (Error E = checkCode(Q, Payloads, Unit))
    return std::move(E);
  Expected<KernelConfig> Config = readConfig(Q.Config);
  if (!Config)
    return Config.takeError();
  if (!Q.Passes.empty())
    Config->Passes = Q.Passes;
  if (!Config->Passes)
    Config->Passes = "default<O3>";
  for (const JitRequest::Plugin &P : Q.Plugins)
    if (!P.Pipeline.empty())
      *Config->Passes += "," + P.Pipeline;
  if (Q.Target == JitTarget::Function)
    return compileFunction(Job, Payloads[Unit], *Config);
  return compileKernel(Job, std::move(Payloads), Unit, std::move(*Config));
}

Expected<JitJob> JitJob::decode(StringRef Body) {
  ::mneme::WireReader R(Body.data(), Body.size());
  JitJob J;
  bool Ok = readRequest(R, J.Request);
  J.CacheFolder = R.str();
  J.CacheLimit = R.u64();
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    J.Payloads.push_back(R.str());
  J.CudaPath = R.str();
  J.TunedFile = R.str();
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    J.Plugins.push_back(R.str());
  if (!Ok || !R.ok() || !R.atEnd() || J.Payloads.empty() ||
      J.Plugins.size() != J.Request.Plugins.size())
    return createStringError("malformed request");
  return std::move(J);
}

std::string JitResult::encode() const {
  ::mneme::WireWriter F, I, W;
  writeFields(F, Facts);
  writeFields(I, Image);
  W.str(F.body());
  W.str(I.body());
  return W.body();
}

std::optional<JitResult> JitResult::decode(StringRef Bytes) {
  ::mneme::WireReader R(Bytes.data(), Bytes.size());
  std::string Facts = R.str(), Image = R.str();
  JitResult Result;
  ::mneme::WireReader F(Facts.data(), Facts.size());
  ::mneme::WireReader I(Image.data(), Image.size());
  if (!R.ok() || !R.atEnd() || !readFields(F, Result.Facts) || !F.atEnd() ||
      !readImage(I, Result.Image))
    return std::nullopt;
  return std::move(Result);
}
