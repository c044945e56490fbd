//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral LLVMPrefix = "llvm.";

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

static std::string print(const json::Value &V) {
  return formatv("{0}", V).str();
}

static Error refuse(StringRef Key, const json::Value &V, const Twine &Why) {
  return createStringError("'" + Key + "': " + print(V) + " " + Why);
}

// Of each type of field: from JSON, and to JSON where it is not as recorded.

static Error readField(StringRef Key, const json::Value &V, bool &Field) {
  std::optional<bool> Value = V.getAsBoolean();
  if (!Value)
    return refuse(Key, V, "is neither true nor false");
  Field = *Value;
  return Error::success();
}

template <typename T>
static std::enable_if_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>,
                        Error>
readField(StringRef Key, const json::Value &V, T &Field) {
  std::optional<int64_t> Value = V.getAsInteger();
  if (!Value)
    return refuse(Key, V, "is no integer");
  if (*Value < 0 ||
      static_cast<uint64_t>(*Value) > std::numeric_limits<T>::max())
    return refuse(Key, V, "is out of range");
  Field = *Value;
  return Error::success();
}

static Error readField(StringRef Key, const json::Value &V,
                       std::string &Field) {
  std::optional<StringRef> Value = V.getAsString();
  if (!Value)
    return refuse(Key, V, "is no text");
  Field = Value->str();
  return Error::success();
}

template <typename T>
static Error readField(StringRef Key, const json::Value &V,
                       std::optional<T> &Field) {
  T Value;
  if (Error E = readField(Key, V, Value))
    return E;
  Field = std::move(Value);
  return Error::success();
}

/// Words, as for a shell.
static Error readField(StringRef Key, const json::Value &V,
                       std::vector<std::string> &Field) {
  std::string Text;
  if (Error E = readField(Key, V, Text))
    return E;
  Field = splitWords(Text);
  return Error::success();
}

static std::optional<json::Value> writeField(bool Field) {
  return Field ? std::optional<json::Value>(true) : std::nullopt;
}

static std::optional<json::Value> writeField(uint32_t Field) {
  return Field ? std::optional<json::Value>(Field) : std::nullopt;
}

static std::optional<json::Value> writeField(const std::string &Field) {
  return Field.empty() ? std::nullopt
                       : std::optional<json::Value>(json::fixUTF8(Field));
}

template <typename T>
static std::optional<json::Value> writeField(const std::optional<T> &Field) {
  if constexpr (std::is_same_v<T, std::string>)
    return Field ? std::optional<json::Value>(json::fixUTF8(*Field))
                 : std::nullopt;
  else
    return Field ? std::optional<json::Value>(*Field) : std::nullopt;
}

static std::optional<json::Value>
writeField(const std::vector<std::string> &Field) {
  return writeField(quoteCommand(Field));
}

namespace {
struct FieldInfo {
  StringLiteral Key;
  Error (*Read)(StringRef Key, const json::Value &V, ReplayOptions &O);
  std::optional<json::Value> (*Write)(const ReplayOptions &O);
};
} // namespace

/// The keys of Config.def, and where ReplayOptions has them.
#define FIELD(Key, Member)                                                     \
  {Key,                                                                        \
   [](StringRef K, const json::Value &V, ReplayOptions &O) {                   \
     return readField(K, V, O.Member);                                         \
   },                                                                          \
   [](const ReplayOptions &O) { return writeField(O.Member); }}
static const FieldInfo Fields[] = {
    FIELD("passes", Passes),
    FIELD("run_passes", RunPasses),
    FIELD("skip_passes", SkipPasses),
    FIELD("codegen_opt", CodeGenLevel),
    FIELD("target_cpu", TargetCPU),
    FIELD("target_features", TargetFeatures),
    FIELD("maxnreg", MaxRegisters),
    FIELD("ptxas_options", PtxasOptions),
    FIELD("opt_tool", OptTool),
    FIELD("llc_tool", LlcTool),
    FIELD("ptxas", Ptxas),
    FIELD("arch", Arch),
    FIELD("ir", IRFile),
    FIELD("specialize", Specialize),
    FIELD("specialize_dims", SpecializeDims),
    FIELD("specialize_ranges", SpecializeRanges),
    FIELD("set_launch_bounds", SetLaunchBounds),
    FIELD("max_threads", MaxThreads),
    FIELD("min_blocks_per_sm", MinBlocks),
    FIELD("block.x", Block[0]),
    FIELD("block.y", Block[1]),
    FIELD("block.z", Block[2]),
    FIELD("grid.x", Grid[0]),
    FIELD("grid.y", Grid[1]),
    FIELD("grid.z", Grid[2]),
    FIELD("shared_mem", SharedMem),
};
#undef FIELD

static const FieldInfo *findField(StringRef Key) {
  const FieldInfo *It = find_if(
      Fields, [&](const FieldInfo &F) { return F.Key == Key; });
  return It == std::end(Fields) ? nullptr : It;
}

//===----------------------------------------------------------------------===//
// Options of LLVM
//===----------------------------------------------------------------------===//

/// What a command line would say; unset for what is no scalar.
static std::optional<std::string> toOptionText(const json::Value &V) {
  if (std::optional<StringRef> Text = V.getAsString())
    return Text->str();
  if (std::optional<bool> B = V.getAsBoolean())
    return *B ? "true" : "false";
  if (V.getAsNumber())
    return print(V);
  return std::nullopt;
}

static Error readLLVMOption(StringRef Key, const json::Value &V,
                            ReplayOptions &O) {
  std::string Name = Key.drop_front(LLVMPrefix.size()).str();
  if (Name.empty() || Name[0] == '-' || StringRef(Name).contains('='))
    return refuse(Key, V, "is for no option: expected llvm.NAME");
  std::vector<LLVMOption> New;
  auto Add = [&](const json::Value &One) -> Error {
    std::optional<std::string> Text = toOptionText(One);
    if (!Text)
      return refuse(Key, V, "is no value of an option");
    New.push_back({Name, std::move(*Text)});
    return Error::success();
  };
  const json::Array *Many = V.getAsArray();
  if (!Many)
    if (Error E = Add(V))
      return E;
  if (Many && Many->empty())
    return refuse(Key, V, "is no value of an option");
  if (Many)
    for (const json::Value &One : *Many)
      if (Error E = Add(One))
        return E;
  overrideLLVMOptions(O.LLVMOptions, New);
  return Error::success();
}

static void writeLLVMOptions(ArrayRef<LLVMOption> Options, json::Object &Out) {
  for (const LLVMOption &O : Options) {
    json::Value Text = json::fixUTF8(O.Value);
    json::Value &V = Out[(LLVMPrefix + O.Name).str()];
    if (V.kind() == json::Value::Null)
      V = std::move(Text);
    else if (json::Array *Many = V.getAsArray())
      Many->push_back(std::move(Text));
    else
      V = json::Array{json::Value(V), std::move(Text)};
  }
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

Error mneme::applyConfig(const json::Object &Config, ReplayOptions &O) {
  // In an order that is always the same: options are given in it, and it
  // decides which error is told.
  SmallVector<const json::Object::value_type *, 16> Entries;
  for (const auto &Entry : Config)
    Entries.push_back(&Entry);
  sort(Entries, [](const auto *A, const auto *B) {
    return StringRef(A->first) < StringRef(B->first);
  });
  for (const auto *Entry : Entries) {
    StringRef Key = Entry->first;
    const json::Value &V = Entry->second;
    if (Key.starts_with(LLVMPrefix)) {
      if (Error E = readLLVMOption(Key, V, O))
        return E;
      continue;
    }
    const FieldInfo *Field = findField(Key);
    if (!Field)
      return refuse(Key, V, "is for no field: there are " +
                                join(map_range(Fields,
                                               [](const FieldInfo &F) {
                                                 return StringRef(F.Key);
                                               }),
                                     ", ") +
                                " and llvm.NAME");
    if (Error E = Field->Read(Key, V, O))
      return E;
  }
  return Error::success();
}

json::Object mneme::makeConfig(const ReplayOptions &O) {
  json::Object Config;
  for (const FieldInfo &F : Fields)
    if (std::optional<json::Value> V = F.Write(O))
      Config[F.Key] = std::move(*V);
  writeLLVMOptions(O.LLVMOptions, Config);
  return Config;
}

namespace {
enum class Reach { Nothing, RunsPrograms, ReadsFiles, Pipeline, PtxasWords };
struct FieldReach {
  StringLiteral Key;
  Reach R;
};
} // namespace

static constexpr FieldReach Reaches[] = {
#define CONFIG_FIELD(Key, Type, Compiles, ReachesFor, Description)             \
  {Key, Reach::ReachesFor},
#include "llvm/Mneme/Replay/Config.def"
};

static NamedSideEffect findSideEffect(StringRef Key, const json::Value &V) {
  if (StringRef Name = Key; Name.consume_front(LLVMPrefix))
    return {"", getLLVMOptionEffect(Name)};
  const FieldReach *Field =
      find_if(Reaches, [&](const FieldReach &F) { return F.Key == Key; });
  StringRef Text = V.getAsString().value_or("");
  if (Field == std::end(Reaches) || Text.empty())
    return {};
  switch (Field->R) {
  case Reach::Nothing:
    return {};
  case Reach::RunsPrograms:
    return {"", SideEffect::RunsPrograms};
  case Reach::ReadsFiles:
    return {"", SideEffect::ReadsFiles};
  case Reach::Pipeline:
    return findPassEffect(Text);
  case Reach::PtxasWords:
    return findPtxasEffect(splitWords(Text));
  }
  llvm_unreachable("all reaches are handled");
}

std::string mneme::toString(const ConfigSideEffect &E) {
  std::string Of = "'" + E.Key + "'";
  if (!E.Name.empty())
    Of = "'" + E.Name + "' in " + Of;
  return (Of + " " + describe(E.Effect)).str();
}

std::vector<ConfigSideEffect> mneme::findSideEffects(const json::Object &Config,
                                                     const json::Object &Own) {
  std::vector<ConfigSideEffect> Found;
  for (const auto &[Key, Value] : Config) {
    const json::Value *Mine = Own.get(Key);
    if (Mine && *Mine == Value)
      continue;
    if (NamedSideEffect E = findSideEffect(Key, Value))
      Found.push_back({StringRef(Key).str(), std::move(E.Name), E.Effect});
  }
  llvm::sort(Found, [](const ConfigSideEffect &A, const ConfigSideEffect &B) {
    return A.Key < B.Key;
  });
  return Found;
}

std::string mneme::getCompileDigest(const ReplayPlan &Plan) {
  const ReplayOptions &O = Plan.options();
  std::string Text = getKey(Plan.compiler().options());
  raw_string_ostream(Text) << '\0' << Plan.irDigest() << '\0' << O.wantsGPUImage()
                           << getHostStrategyName(O.Host.Strategy)
                           << getHostFinishName(O.Host.Finish);
  return toHexString(digest128(Text));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Expected<ConfigFile> mneme::readConfigFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readTextFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  Expected<json::Value> V = parseJSON((*Buffer)->getBuffer());
  if (!V)
    return createFileError(Path, V.takeError());
  auto Refuse = [&](const Twine &Why) {
    return createFileError(Path, createStringError(Why));
  };
  json::Object *O = V->getAsObject();
  if (json::Object *Report = O ? O->getObject("Replay-config") : nullptr)
    O = Report;
  json::Object *Config = O ? O->getObject("config") : nullptr;
  if (!Config)
    return Refuse("has no configuration: expected {\"config\": {...}}");
  ConfigFile File;
  File.Path = Path.str();
  File.Config = std::move(*Config);
  for (auto [Key, Text] : {std::pair("static_hash", &File.StaticHash),
                           std::pair("record_id", &File.RecordId)}) {
    const json::Value *Value = O->get(Key);
    if (!Value || Value->kind() == json::Value::Null)
      continue;
    if (Error E = readField(Key, *Value, *Text))
      return createFileError(Path, std::move(E));
  }
  ReplayOptions Scratch;
  if (Error E = applyConfig(File.Config, Scratch))
    return createFileError(Path, std::move(E));
  return std::move(File);
}

Error mneme::refuseSideEffects(StringRef Path,
                               ArrayRef<ConfigSideEffect> Found) {
  if (Found.empty())
    return Error::success();
  return createFileError(
      Path,
      createStringError(
          join(map_range(Found,
                         [](const ConfigSideEffect &E) { return toString(E); }),
               ", ") +
          ": if you trust the file, give --allow-programs"));
}

Error mneme::checkConfigFile(const ConfigFile &File, const ReplayPlan &Plan) {
  const RecordedKernel &K = Plan.kernel();
  if (File.StaticHash.empty() || File.StaticHash == K.StaticHash)
    return Error::success();
  return createFileError(
      File.Path,
      createStringError(formatv("is for the kernel with static_hash {0}, the "
                                "recording is of '{1}' with {2}",
                                File.StaticHash, K.KernelName, K.StaticHash)
                            .str()));
}
