//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/SettingFlags.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;
using namespace llvm::mneme;

struct ReplayFlags::Options {
  SettingFlags Settings;
  cl::list<std::string> Plugins, LLVMOptions;
  cl::opt<PTXCompiler> Assembler;
  cl::opt<std::string> CudaPath, Device;
  cl::opt<HostFinish> Finish;
  cl::opt<HostStrategy> Strategy;
  cl::opt<CacheMode> Cache;
  cl::opt<GPUTimer> Timer;
  cl::list<std::string> Tolerances, ElementTypes;
  cl::opt<std::string> Norm, NaN;
  cl::opt<bool> NoPoison, AllowPrograms;

  Options(cl::OptionCategory &Cat, bool OfStudy);
};

ReplayFlags::Options::Options(cl::OptionCategory &Cat, bool OfStudy)
    : Settings(Cat,
               [&](const SettingInfo &S) {
                 return !OfStudy || S.Tuning == SettingTuning::Fixed;
               }),
      Plugins("load-pass-plugin", cl::desc("Load passes from a plugin"),
              cl::value_desc("file"), cl::cat(Cat)),
      LLVMOptions("mllvm", cl::desc("Option for LLVM itself, as with clang"),
                  cl::value_desc("option"), cl::cat(Cat)),
      Assembler(
          "ptx-compiler", cl::desc("PTX assembler"),
          cl::init(PTXCompiler::Auto),
          cl::values(clEnumValN(PTXCompiler::Auto, "auto",
                                "ptxas, or what is built in if there is none "
                                "(default)"),
                     clEnumValN(PTXCompiler::Ptxas, "ptxas", "the program"),
                     clEnumValN(PTXCompiler::Library, "nvptxcompiler",
                                "NVIDIA's library, if it is built in")),
          cl::cat(Cat)),
      CudaPath("cuda-path", cl::desc("CUDA toolkit to take ptxas from"),
               cl::value_desc("dir"), cl::cat(Cat)),
      Device("device",
             cl::desc("Device to run on: host, cuda[:N], offload[:N] (through "
                      "LLVM's liboffload), or auto (default): a GPU that can "
                      "run the recording, else the host"),
             cl::value_desc("name"), cl::init("auto"), cl::cat(Cat)),
      Finish("host-finish",
             cl::desc(OfStudy
                          ? "What the CPU pipeline may still do on the host "
                            "device (default: none)"
                          : "What the CPU pipeline may still do on the host "
                            "device (default: O3)"),
             cl::init(OfStudy ? HostFinish::None : HostFinish::O3),
             cl::values(clEnumValN(HostFinish::O3, "O3", "all: to run fast"),
                        clEnumValN(HostFinish::O1, "O1", "some"),
                        clEnumValN(HostFinish::Min, "min", "clean-up only"),
                        clEnumValN(HostFinish::None, "none",
                                   "nothing: to compare pipelines")),
             cl::cat(Cat)),
      Strategy(
          "host-strategy",
          cl::desc("How the host device runs the threads of a block"),
          cl::init(HostStrategy::Auto),
          cl::values(
              clEnumValN(HostStrategy::Auto, "auto",
                         "the fastest that applies (default)"),
              clEnumValN(HostStrategy::Loop, "loop", "a loop over threads"),
              clEnumValN(HostStrategy::Region, "region",
                         "loops between barriers"),
              clEnumValN(HostStrategy::Coroutine, "coroutine",
                         "a coroutine a thread"),
              clEnumValN(HostStrategy::Fiber, "fiber", "a stack a thread")),
          cl::cat(Cat)),
      Cache("cache",
            cl::desc("State of the GPU's cache before each timed launch"),
            cl::values(
                clEnumValN(CacheMode::Cold, "cold",
                           "nothing of the kernel's (default on a GPU)"),
                clEnumValN(CacheMode::Warm, "warm", "what was there before")),
            cl::cat(Cat)),
      Timer("timer", cl::desc("Timer on GPUs"), cl::init(GPUTimer::Auto),
            cl::values(
                clEnumValN(GPUTimer::Auto, "auto",
                           "CUPTI if it is there, else events (default)"),
                clEnumValN(GPUTimer::Events, "events", "events of the driver"),
                clEnumValN(GPUTimer::CUPTI, "cupti", "CUPTI")),
            cl::cat(Cat)),
      Tolerances("tolerance",
                 cl::desc("Allowed error of all buffers of known element "
                          "type, or of one: its number, name or tag"),
                 cl::value_desc("abs|rel|ulp:value[@buffer]"), cl::cat(Cat)),
      ElementTypes("dtype",
                   cl::desc("Element type of all buffers or of one: f16, "
                            "bf16, f32, f64, i8 to i64, u8 to u64"),
                   cl::value_desc("type[@buffer]"), cl::cat(Cat)),
      Norm("norm",
           cl::desc("Norm of a buffer's errors that the tolerance limits: "
                    "none (each element), l1, l2, linf"),
           cl::value_desc("norm"), cl::cat(Cat)),
      NaN("nan",
          cl::desc("Verdict on a NaN where a NaN was recorded: equal "
                   "(default), error"),
          cl::value_desc("rule"), cl::init("equal"), cl::cat(Cat)),
      NoPoison("no-poison",
               cl::desc("Initialize memory that the recorded kernel only "
                        "writes with its recorded values instead of wrong "
                        "values"),
               cl::cat(Cat)),
      AllowPrograms("allow-programs",
                    cl::desc("Trust the settings in files to run programs, "
                             "load plugins, and read and write other files"),
                    cl::cat(Cat)) {}

ReplayFlags::ReplayFlags(cl::OptionCategory &Category, bool OfStudy)
    : O(std::make_unique<Options>(Category, OfStudy)) {}

ReplayFlags::~ReplayFlags() = default;

bool ReplayFlags::isGiven(StringRef Key) const {
  return O->Settings.isGiven(Key);
}

bool ReplayFlags::hasHostFinish() const {
  return O->Finish.getNumOccurrences() != 0;
}

bool ReplayFlags::allowsPrograms() const { return O->AllowPrograms; }

template <typename T> static StringRef getName(const cl::opt<T> &Option) {
  const auto &Parser = const_cast<cl::opt<T> &>(Option).getParser();
  cl::OptionValue<T> Value(Option.getValue());
  for (unsigned I = 0; I != Parser.getNumOptions(); ++I)
    if (Parser.getOptionValue(I).compare(Value))
      return Parser.getOption(I);
  return "";
}

std::string ReplayFlags::describe() const {
  std::string Text;
  auto Add = [&](const cl::Option &Option, const Twine &Value) {
    Text += ("--" + Option.ArgStr + "=" + Value + "\n").str();
  };
  Add(O->Finish, getName(O->Finish));
  Add(O->Strategy, getName(O->Strategy));
  Add(O->Cache, O->Cache.getNumOccurrences() ? getName(O->Cache) : "auto");
  Add(O->Timer, getName(O->Timer));
  Add(O->Assembler, getName(O->Assembler));
  Add(O->Norm, O->Norm);
  Add(O->NaN, O->NaN);
  if (O->NoPoison)
    Add(O->NoPoison, "true");
  auto AddAll = [&](const cl::list<std::string> &List) {
    Add(List, join(List, ","));
  };
  AddAll(O->Tolerances);
  AddAll(O->ElementTypes);
  // Only given settings: a study from before a setting existed can go on.
  KernelConfig Given;
  O->Settings.apply(Given);
  json::Object Config = makeConfig(Given);
  for (const SettingInfo &S : getSettings())
    if (const json::Value *V = Config.get(S.Key))
      for (const std::string &Option : makeOptions(json::Object{{S.Key, *V}}))
        Text += Option + "\n";
  AddAll(O->Plugins);
  AddAll(O->LLVMOptions);
  return Text;
}

/// Parses each of \p Texts behind what \p Out holds.
template <typename T>
static Error parseAll(std::vector<T> &Out, const cl::list<std::string> &Texts,
                      Expected<T> (*Parse)(StringRef)) {
  for (const std::string &Text : Texts) {
    Expected<T> Parsed = Parse(Text);
    if (!Parsed)
      return Parsed.takeError();
    Out.push_back(*Parsed);
  }
  return Error::success();
}

/// "-name=value", or, as the driver of clang takes them, "-name" and "value".
static Error parseLLVMOptions(std::vector<LLVMOption> &Out,
                              const cl::list<std::string> &Texts) {
  std::vector<LLVMOption> Given;
  for (StringRef Text : Texts) {
    if (!Text.starts_with("-") && !Given.empty() &&
        Given.back().Value.empty()) {
      Given.back().Value = Text.str();
      continue;
    }
    Expected<LLVMOption> Option = parseLLVMOption(Text);
    if (!Option)
      return Option.takeError();
    Given.push_back(std::move(*Option));
  }
  overrideLLVMOptions(Out, Given);
  return Error::success();
}

Error ReplayFlags::apply(ReplayOptions &R) const {
  O->Settings.apply(R);
  R.Plugins.assign(O->Plugins.begin(), O->Plugins.end());
  if (Error E = parseLLVMOptions(R.LLVMOptions, O->LLVMOptions))
    return E;
  R.Assembler = O->Assembler;
  R.CudaPath = O->CudaPath;
  R.Device = O->Device;
  R.Host.Finish = O->Finish;
  R.Host.Strategy = O->Strategy;
  if (O->Cache.getNumOccurrences())
    R.Cache = O->Cache;
  R.Timer = O->Timer;
  if (Error E = parseAll(R.Tolerances, O->Tolerances, parseTolerance))
    return E;
  if (Error E = parseAll(R.ElementTypes, O->ElementTypes, parseElementType))
    return E;
  if (O->Norm.getNumOccurrences()) {
    Expected<uint32_t> Norm = parseNorm(O->Norm);
    if (!Norm)
      return Norm.takeError();
    R.Norm = *Norm;
  }
  Expected<NaNRule> NaN = parseNaNRule(O->NaN);
  if (!NaN)
    return NaN.takeError();
  R.NaN = *NaN;
  R.Poison = !O->NoPoison;
  return Error::success();
}
