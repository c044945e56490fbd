//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/KeyBuilder.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// Keys that consist of a prefix and a name.
struct NamedSettings {
  StringLiteral Prefix, Option;
  std::vector<LLVMOption> &(*Get)(KernelConfig &C);
  /// Returns true if a name is valid.
  bool (*IsName)(StringRef Name);
  bool MayRepeat;
};
} // namespace

static bool isOptionName(StringRef Name) {
  return !Name.empty() && Name[0] != '-' && !Name.contains('=');
}

static constexpr NamedSettings AllNamed[] = {
    {LLVMKeyPrefix, "mllvm",
     [](KernelConfig &C) -> std::vector<LLVMOption> & { return C.LLVMOptions; },
     isOptionName, true},
    {DefineKeyPrefix, "define",
     [](KernelConfig &C) -> std::vector<LLVMOption> & { return C.Defines; },
     isMacroName, false},
};

/// Returns the kind of settings with a key; null if there is none.
static const NamedSettings *findNamed(StringRef Key) {
  const NamedSettings *N = find_if(AllNamed, [&](const NamedSettings &S) {
    return Key.starts_with(S.Prefix);
  });
  return N == std::end(AllNamed) ? nullptr : N;
}

static const NamedSettings *findNamedOption(StringRef Option) {
  const NamedSettings *N = find_if(
      AllNamed, [&](const NamedSettings &S) { return S.Option == Option; });
  return N == std::end(AllNamed) ? nullptr : N;
}

StringRef mneme::getKeyPrefix(StringRef Key) {
  const NamedSettings *N = findNamed(Key);
  return N ? StringRef(N->Prefix) : StringRef();
}

static std::string print(const json::Value &V) {
  return formatv("{0}", V).str();
}

static Error refuse(StringRef Key, const json::Value &V, const Twine &Why) {
  return make_error<KeyError>(Key, "'" + Key + "': " + print(V) + " " + Why);
}

//===----------------------------------------------------------------------===//
// Types of members
//===----------------------------------------------------------------------===//

// Each type has a SettingType, a reader from JSON and a writer to JSON. Values
// that are as recorded are not written.

template <typename T> struct KindOf {
  static_assert(std::is_unsigned_v<T>, "no type of a setting");
  static constexpr SettingType Kind = SettingType::Int;
};
template <> struct KindOf<bool> {
  static constexpr SettingType Kind = SettingType::Bool;
};
template <> struct KindOf<std::string> {
  static constexpr SettingType Kind = SettingType::Text;
};
template <> struct KindOf<std::vector<std::string>> : KindOf<std::string> {};
template <typename T> struct KindOf<std::optional<T>> : KindOf<T> {};

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
    return refuse(Key, V, "is not an integer");
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
    return refuse(Key, V, "is not a string");
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

/// The text is split into words as by a shell.
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

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr SettingInfo Settings[] = {
#define SETTING(Key, Option, Type, Member, Stage, Reach, Tuning, TuneOption,   \
                DependsOn, ValueDesc, Help)                                    \
  {Key,                                                                        \
   Option,                                                                     \
   KindOf<Type>::Kind,                                                         \
   SettingStage::Stage,                                                        \
   SettingReach::Reach,                                                        \
   SettingTuning::Tuning,                                                      \
   TuneOption,                                                                 \
   DependsOn,                                                                  \
   ValueDesc,                                                                  \
   Help},
#include "llvm/Mneme/Config/Config.def"
};

static constexpr bool isCompileStage(SettingStage S) {
  return S >= SettingStage::Pipeline && S <= SettingStage::Assembler;
}
#define SETTING(Key, Option, Type, Member, Stage, ...)                         \
  static_assert(!isCompileStage(SettingStage::Stage), Key);
#define COMPILE_SETTING(Key, Option, Type, Member, Stage, ...)                 \
  static_assert(isCompileStage(SettingStage::Stage), Key);
#include "llvm/Mneme/Config/Config.def"

namespace {
struct Accessors {
  Error (*Read)(StringRef Key, const json::Value &V, KernelConfig &C);
  std::optional<json::Value> (*Write)(const KernelConfig &C);
};
} // namespace

/// In the order of Settings.
static constexpr Accessors FieldAccessors[] = {
#define SETTING(Key, Option, Type, Member, ...)                                \
  {[](StringRef K, const json::Value &V, KernelConfig &C) {                    \
     return readField(K, V, C.Member);                                         \
   },                                                                          \
   [](const KernelConfig &C) { return writeField(C.Member); }},
#include "llvm/Mneme/Config/Config.def"
};

ArrayRef<SettingInfo> mneme::getSettings() { return Settings; }

const SettingInfo *mneme::findSetting(StringRef Key) {
  const SettingInfo *It =
      find_if(Settings, [&](const SettingInfo &S) { return S.Key == Key; });
  return It == std::end(Settings) ? nullptr : It;
}

SettingStage mneme::getSettingStage(StringRef Key) {
  if (Key.starts_with(DefineKeyPrefix))
    return SettingStage::Input;
  const SettingInfo *S = findSetting(Key);
  return S ? S->Stage : SettingStage::Pipeline;
}

bool mneme::isLaunchField(StringRef Key) {
  return getSettingStage(Key) == SettingStage::Launch;
}

//===----------------------------------------------------------------------===//
// LLVM options and macros
//===----------------------------------------------------------------------===//

/// \returns \p V as on a command line, or std::nullopt if \p V is not a scalar.
static std::optional<std::string> toOptionText(const json::Value &V) {
  if (std::optional<StringRef> Text = V.getAsString())
    return Text->str();
  if (std::optional<bool> B = V.getAsBoolean())
    return *B ? "true" : "false";
  if (V.getAsNumber())
    return print(V);
  return std::nullopt;
}

static Error readNamed(const NamedSettings &Kind, StringRef Key,
                       const json::Value &V, KernelConfig &C) {
  std::string Name = Key.drop_front(Kind.Prefix.size()).str();
  if (!Kind.IsName(Name))
    return refuse(Key, V,
                  "names no " + Twine(Kind.MayRepeat ? "option" : "macro") +
                      ": expected " + Kind.Prefix + "NAME");
  std::vector<LLVMOption> New;
  auto Add = [&](const json::Value &One) -> Error {
    std::optional<std::string> Text = toOptionText(One);
    if (!Text || (!Kind.MayRepeat && StringRef(*Text).contains('\n')))
      return refuse(Key, V, "is not a valid option value");
    New.push_back({Name, std::move(*Text)});
    return Error::success();
  };
  const json::Array *Many = V.getAsArray();
  if (!Many)
    if (Error E = Add(V))
      return E;
  if (Many && (Many->empty() || !Kind.MayRepeat))
    return refuse(Key, V, "is not a valid option value");
  if (Many)
    for (const json::Value &One : *Many)
      if (Error E = Add(One))
        return E;
  overrideLLVMOptions(Kind.Get(C), New);
  return Error::success();
}

/// Adds \p O to \p Config. The values of a repeated option form an array.
static void writeNamed(const NamedSettings &Kind, json::Object &Config,
                       const LLVMOption &O) {
  json::Value Text = json::fixUTF8(O.Value);
  json::Value &V = Config[Kind.Prefix.str() + O.Name];
  if (V.kind() == json::Value::Null || !Kind.MayRepeat)
    V = std::move(Text);
  else if (json::Array *Many = V.getAsArray())
    Many->push_back(std::move(Text));
  else
    V = json::Array{json::Value(V), std::move(Text)};
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Error refuseKey(StringRef Key) {
  SmallVector<StringRef> Known(
      map_range(Settings, [](const SettingInfo &S) { return S.Key; }));
  std::string Hint = suggest(Key, Known);
  if (Hint.empty())
    Hint = ": there are " + join(Known, ", ") + ", llvm.NAME and define.NAME";
  return make_error<KeyError>(Key, "'" + Key + "' is not a setting" + Hint);
}

Error mneme::applyConfig(const json::Object &Config, KernelConfig &C) {
  // Sorting makes the order of LLVM options, and which error is reported,
  // deterministic.
  SmallVector<const json::Object::value_type *, 16> Entries;
  for (const auto &Entry : Config)
    Entries.push_back(&Entry);
  sort(Entries, [](const auto *A, const auto *B) {
    return StringRef(A->first) < StringRef(B->first);
  });
  for (const auto *Entry : Entries) {
    StringRef Key = Entry->first;
    const json::Value &V = Entry->second;
    if (const NamedSettings *Named = findNamed(Key)) {
      if (Error E = readNamed(*Named, Key, V, C))
        return E;
      continue;
    }
    const SettingInfo *S = findSetting(Key);
    if (!S)
      return refuseKey(Key);
    if (Error E = FieldAccessors[S - Settings].Read(Key, V, C))
      return E;
  }
  return Error::success();
}

Error mneme::checkConfig(const json::Object &Config) {
  KernelConfig Scratch;
  return applyConfig(Config, Scratch);
}

json::Object mneme::makeConfig(const KernelConfig &C) {
  json::Object Config;
  for (auto [S, A] : zip(Settings, FieldAccessors))
    if (std::optional<json::Value> V = A.Write(C))
      Config[S.Key] = std::move(*V);
  for (const NamedSettings &Kind : AllNamed)
    for (const LLVMOption &O : Kind.Get(const_cast<KernelConfig &>(C)))
      writeNamed(Kind, Config, O);
  return Config;
}

std::string mneme::getKey(const CompileConfig &C, SettingStage From,
                          ProgramKeyFn ProgramKey) {
  KeyBuilder K;
  auto Add = [&](SettingStage Stage, SettingReach Reach, const auto &Value) {
    if (Stage < From)
      return;
    if constexpr (std::is_same_v<decltype(Value), const std::string &>)
      if (Reach == SettingReach::RunsPrograms && !Value.empty()) {
        K.add(ProgramKey(Value));
        return;
      }
    K.add(Value);
  };
#define SETTING(...)
#define COMPILE_SETTING(Key, Option, Type, Member, Stage, Reach, ...)          \
  Add(SettingStage::Stage, SettingReach::Reach, C.Member);
#include "llvm/Mneme/Config/Config.def"
  // LLVM options affect the pipeline and code generation.
  if (From <= SettingStage::CodeGen) {
    K.add(C.LLVMOptions.size());
    for (const LLVMOption &O : C.LLVMOptions)
      K.add(O.Name).add(O.Value);
  }
  return K.take();
}

//===----------------------------------------------------------------------===//
// Command lines
//===----------------------------------------------------------------------===//

StringRef mneme::getOptionName(StringRef Key) {
  if (const NamedSettings *Named = findNamed(Key))
    return Named->Option;
  const SettingInfo *S = findSetting(Key);
  return S ? StringRef(S->Option) : "";
}

StringRef mneme::getOptionKey(StringRef Option) {
  if (const NamedSettings *Named = findNamedOption(Option))
    return Named->Prefix;
  for (const SettingInfo &S : Settings)
    if (S.Option == Option)
      return S.Key;
  return "";
}

std::vector<StringRef> mneme::getOptionNames() {
  std::vector<StringRef> Names;
  for (const SettingInfo &S : Settings)
    Names.push_back(S.Option);
  return Names;
}

bool mneme::needsValue(StringRef Key) {
  const SettingInfo *S = findSetting(Key);
  return !S || S->Type != SettingType::Bool;
}

static Error refuseValue(StringRef Option, StringRef Value) {
  return createStringError(formatv("invalid --{0}={1}", Option, Value).str());
}

Error mneme::addOption(json::Object &Config, StringRef Option,
                       StringRef Value) {
  StringRef Key = getOptionKey(Option);
  const SettingInfo *S = findSetting(Key);
  if (const NamedSettings *Named = findNamedOption(Option)) {
    Expected<LLVMOption> O =
        Named->MayRepeat ? parseLLVMOption(Value) : parseDefine(Value);
    if (!O)
      return O.takeError();
    writeNamed(*Named, Config, *O);
    return Error::success();
  }
  switch (S->Type) {
  case SettingType::Bool:
    // The value of a flag may be omitted.
    if (!is_contained({"", "true", "false", "0", "1"}, Value))
      return refuseValue(Option, Value);
    Config[Key] = Value != "false" && Value != "0";
    return Error::success();
  case SettingType::Int: {
    int64_t Number;
    if (Value.getAsInteger(10, Number))
      return refuseValue(Option, Value);
    Config[Key] = Number;
    return Error::success();
  }
  case SettingType::Text:
    Config[Key] = json::fixUTF8(Value);
    return Error::success();
  }
  llvm_unreachable("unknown type");
}

std::vector<std::string> mneme::makeOptions(const json::Object &Config) {
  std::vector<std::string> Options;
  std::set<std::string> Keys;
  for (const auto &KV : Config)
    Keys.insert(KV.first.str());
  for (const std::string &Key : Keys) {
    const json::Value &V = *Config.get(Key);
    auto Print = [](const json::Value &V) {
      return V.getAsString() ? V.getAsString()->str() : print(V);
    };
    StringRef Name = getOptionName(Key);
    const NamedSettings *Named = findNamed(Key);
    if (!Named) {
      std::string Unknown = Key;
      llvm::replace(Unknown, '_', '-');
      Options.push_back(("--" + (Name.empty() ? StringRef(Unknown) : Name) +
                         (V.getAsBoolean() == true ? "" : "=" + Print(V)))
                            .str());
      continue;
    }
    json::Array One{V};
    const json::Array *Values = V.getAsArray();
    for (const json::Value &Value : Values ? *Values : One) {
      LLVMOption O{Key.substr(Named->Prefix.size()), Print(Value)};
      // LLVM options have a hyphen of their own.
      Options.push_back(
          ("--" + Name + "=").str() +
          (Named->MayRepeat ? toString(O) : O.Name + "=" + O.Value));
    }
  }
  return Options;
}
