//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/SettingFlags.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Values as text
//===----------------------------------------------------------------------===//

static StringRef getToleranceName(uint32_t Kind) {
  switch (Kind) {
  case MNEME_TOLERANCE_ABS:
    return "abs";
  case MNEME_TOLERANCE_REL:
    return "rel";
  case MNEME_TOLERANCE_ULP:
    return "ulp";
  default:
    return "exact";
  }
}

static std::string atBuffer(StringRef Buffer) {
  return Buffer.empty() ? "" : ("@" + Buffer).str();
}

static std::string print(StringRef Text) { return Text.str(); }
static std::string print(const ToleranceSpec &S) {
  std::string Text = getToleranceName(S.Kind).str();
  if (S.Kind != MNEME_TOLERANCE_EXACT)
    Text += ":" + printShortest(S.Value);
  return Text + atBuffer(S.Buffer);
}
static std::string print(const ElementTypeSpec &S) {
  return getDTypeName(S.DType).str() + atBuffer(S.Buffer);
}
static std::string print(const UnorderedSpec &S) { return printUnordered(S); }
static std::string print(const EnvelopeRule &R) { return printEnvelopeRule(R); }
static std::string print(const CounterSet &S) { return S.print(); }
static std::string print(NaNRule Rule) {
  return Rule == NaNRule::Error ? "error" : "equal";
}
/// Norms are the only flags of type uint32_t.
static std::string print(uint32_t Norm) { return getNormName(Norm).str(); }

static Error parse(StringRef Text, std::string &Out) {
  Out = Text.str();
  return Error::success();
}
static Error parse(StringRef Text, ToleranceSpec &Out) {
  return parseTolerance(Text).moveInto(Out);
}
static Error parse(StringRef Text, ElementTypeSpec &Out) {
  return parseElementType(Text).moveInto(Out);
}
static Error parse(StringRef Text, UnorderedSpec &Out) {
  return parseUnordered(Text).moveInto(Out);
}
static Error parse(StringRef Text, EnvelopeRule &Out) {
  return parseEnvelopeRule(Text).moveInto(Out);
}
static Error parse(StringRef Text, CounterSet &Out) {
  return CounterSet::parse(Text).moveInto(Out);
}
static Error parse(StringRef Text, NaNRule &Out) {
  return parseNaNRule(Text).moveInto(Out);
}
static Error parse(StringRef Text, uint32_t &Out) {
  return parseNorm(Text).moveInto(Out);
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

namespace {
template <typename T> struct Choice {
  T Value;
  StringLiteral Name, Help;
};
} // namespace

template <typename T> static std::vector<Choice<T>> getChoices() {
  std::vector<Choice<T>> Choices;
#define CHOICE(Type, Value, Name, Help)                                        \
  if constexpr (std::is_same_v<T, Type>)                                       \
    Choices.push_back({T::Value, Name, Help});
#include "llvm/Mneme/Replay/Flags.def"
  return Choices;
}

template <typename T>
static constexpr bool IsChoice =
#define CHOICE(Type, Value, Name, Help) std::is_same_v<T, Type> ||
#include "llvm/Mneme/Replay/Flags.def"
    false;

template <typename T>
static std::enable_if_t<IsChoice<T>, std::string> print(T Value) {
  for (const Choice<T> &C : getChoices<T>())
    if (C.Value == Value)
      return C.Name.str();
  llvm_unreachable("unknown choice");
}

template <typename T>
static std::enable_if_t<IsChoice<T>, Error> parse(StringRef Text, T &Out) {
  std::vector<std::string> Names;
  for (const Choice<T> &C : getChoices<T>()) {
    Names.push_back(C.Name.str());
    if (Text != C.Name)
      continue;
    Out = C.Value;
    return Error::success();
  }
  return createStringError("expected " + join(Names, ", ") + ", got '" + Text +
                           "'");
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static MutableArrayRef<cl::OptionCategory> getGroups() {
  // In the order of OptionGroup.
  static cl::OptionCategory Groups[] = {
      {"Compilation options"},  {"Launch options"},
      {"Device options"},       {"Measurement options"},
      {"Verification options"}, {"Output options"},
      {"Inspection options"},   {"Bisection and reduction options"},
  };
  return Groups;
}

cl::OptionCategory &mneme::getCategory(OptionGroup Group) {
  return getGroups()[static_cast<size_t>(Group)];
}

std::vector<const cl::OptionCategory *> mneme::getCategories() {
  std::vector<const cl::OptionCategory *> All;
  for (const cl::OptionCategory &C : getGroups())
    All.push_back(&C);
  return All;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
enum class FlagUse { Result, Place, Path, ResultPath };

struct FlagInfo {
  StringLiteral Option;
  FlagUse Use;
  OptionGroup Group;
  StringLiteral ValueDesc, Help;
};
} // namespace

static constexpr FlagInfo FlagInfos[] = {
#define FLAG(Option, Type, Member, Use, Group, ValueDesc, Help)                \
  {Option, FlagUse::Use, OptionGroup::Group, ValueDesc, Help},
#define FLAG_OFF(Option, Member, Group, Help)                                  \
  {Option, FlagUse::Result, OptionGroup::Group, "", Help},
#define SETTING_FLAGS {"", FlagUse::Result, OptionGroup::Compilation, "", ""},
#include "llvm/Mneme/Replay/Flags.def"
};

/// A row of Flags.def.
struct ReplayFlags::Flag {
  virtual ~Flag() = default;
  virtual bool isGiven() const = 0;
  virtual Error apply(ReplayOptions &R) const = 0;
  /// Returns the values for the description of a study; unset: no line.
  virtual std::optional<std::string> describe() const = 0;
};

namespace {
/// The value type of a member.
template <typename T> struct ValueOf {
  using Type = T;
};
template <typename T> struct ValueOf<std::optional<T>> {
  using Type = T;
};

template <typename T> using GetFn = T &(*)(ReplayOptions & R);

/// Sets a member that is a value or an optional value.
template <typename T> class ValueFlag : public ReplayFlags::Flag {
  using Value = typename ValueOf<T>::Type;
  static constexpr bool IsOptional = !std::is_same_v<T, Value>;
  GetFn<T> Get;
  std::conditional_t<IsChoice<Value>, EnumOption<Value>, cl::opt<std::string>>
      Option;

public:
  ValueFlag(const FlagInfo &Info, GetFn<T> Get, ReplayOptions Defaults)
      : Get(Get),
        Option(StringRef(Info.Option), cl::desc(Info.Help),
               cl::value_desc(Info.ValueDesc), cl::cat(getCategory(Info.Group)),
               cl::sub(cl::SubCommand::getAll())) {
    if constexpr (IsChoice<Value>)
      for (const Choice<Value> &C : getChoices<Value>())
        Option.getParser().addLiteralOption(C.Name, C.Value, C.Help);
    if constexpr (IsChoice<Value> && !IsOptional)
      Option.setInitialValue(Get(Defaults));
    else if constexpr (!IsOptional)
      Option.setInitialValue(print(Get(Defaults)));
  }
  bool isGiven() const override { return Option.getNumOccurrences() != 0; }
  Error apply(ReplayOptions &R) const override {
    if (IsOptional && !isGiven())
      return Error::success();
    Value V;
    if constexpr (IsChoice<Value>)
      V = Option.getValue();
    else if (Error E = parse(Option.getValue(), V))
      return E;
    Get(R) = std::move(V);
    return Error::success();
  }
  std::optional<std::string> describe() const override {
    if constexpr (!IsChoice<Value>)
      return Option.getValue();
    else
      return IsOptional && !isGiven() ? "auto" : print(Option.getValue());
  }
};

/// Appends to a member; can be repeated.
template <typename T>
class ValueFlag<std::vector<T>> : public ReplayFlags::Flag {
  GetFn<std::vector<T>> Get;
  cl::list<std::string> Option;

public:
  ValueFlag(const FlagInfo &Info, GetFn<std::vector<T>> Get,
            const ReplayOptions &)
      : Get(Get),
        Option(StringRef(Info.Option), cl::desc(Info.Help),
               cl::value_desc(Info.ValueDesc), cl::cat(getCategory(Info.Group)),
               cl::sub(cl::SubCommand::getAll())) {}
  bool isGiven() const override { return Option.getNumOccurrences() != 0; }
  Error apply(ReplayOptions &R) const override {
    for (const std::string &Text : Option)
      if (Error E = parse(Text, Get(R).emplace_back()))
        return E;
    return Error::success();
  }
  std::optional<std::string> describe() const override {
    return join(Option, ",");
  }
};

/// Sets a member to false.
class OffFlag : public ReplayFlags::Flag {
  GetFn<bool> Get;
  cl::opt<bool> Option;

public:
  OffFlag(const FlagInfo &Info, GetFn<bool> Get)
      : Get(Get), Option(StringRef(Info.Option), cl::desc(Info.Help),
                         cl::cat(getCategory(Info.Group)),
                         cl::sub(cl::SubCommand::getAll())) {}
  bool isGiven() const override { return Option; }
  Error apply(ReplayOptions &R) const override {
    Get(R) = !Option;
    return Error::success();
  }
  std::optional<std::string> describe() const override {
    return Option ? std::optional<std::string>("true") : std::nullopt;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// All options
//===----------------------------------------------------------------------===//

struct ReplayFlags::Options {
  SettingFlags Settings;
  /// Parallel to FlagInfos; null for SETTING_FLAGS.
  std::vector<std::unique_ptr<Flag>> Flags;
  cl::list<std::string> LLVMOptions;
  /// Null for a study, which searches their values.
  std::unique_ptr<cl::list<std::string>> Defines;
  cl::opt<bool> AllowPrograms;

  explicit Options(bool OfStudy);
};

ReplayFlags::Options::Options(bool OfStudy)
    : Settings([&](const SettingInfo &S) -> cl::OptionCategory * {
        if (OfStudy && S.Tuning != SettingTuning::Fixed)
          return nullptr;
        return &getCategory(isLaunchField(S.Key) ? OptionGroup::Launch
                                                 : OptionGroup::Compilation);
      }),
      LLVMOptions("mllvm", cl::desc("Option for LLVM itself, as with clang"),
                  cl::value_desc("option"),
                  cl::cat(getCategory(OptionGroup::Compilation)),
                  cl::sub(cl::SubCommand::getAll())),
      AllowPrograms("allow-programs",
                    cl::desc("Trust the settings in files to run programs, "
                             "load plugins, and read and write other files"),
                    cl::cat(getCategory(OptionGroup::Compilation)),
                    cl::sub(cl::SubCommand::getAll())) {
  if (!OfStudy)
    Defines = std::make_unique<cl::list<std::string>>(
        "define", cl::desc("Macro for --source, default value 1"),
        cl::value_desc("name[=value]"),
        cl::cat(getCategory(OptionGroup::Compilation)),
        cl::sub(cl::SubCommand::getAll()));
  ReplayOptions Defaults;
  if (OfStudy)
    Defaults.Host.Finish = HostFinish::None;
  const FlagInfo *Info = FlagInfos;
#define FLAG(Option, Type, Member, Use, Group, ValueDesc, Help)                \
  Flags.push_back(std::make_unique<ValueFlag<Type>>(                           \
      *Info++, [](ReplayOptions &R) -> Type & { return R.Member; },            \
      Defaults));
#define FLAG_OFF(Option, Member, Group, Help)                                  \
  Flags.push_back(std::make_unique<OffFlag>(                                   \
      *Info++, [](ReplayOptions &R) -> bool & { return R.Member; }));
#define SETTING_FLAGS                                                          \
  Flags.push_back(nullptr);                                                    \
  ++Info;
#include "llvm/Mneme/Replay/Flags.def"
}

ReplayFlags::ReplayFlags(bool OfStudy)
    : O(std::make_unique<Options>(OfStudy)) {}

ReplayFlags::~ReplayFlags() = default;

bool ReplayFlags::isGiven(StringRef Key) const {
  return O->Settings.isGiven(Key);
}

bool ReplayFlags::hasHostFinish() const {
  for (auto [Info, F] : zip(FlagInfos, O->Flags))
    if (Info.Option == "host-finish")
      return F->isGiven();
  llvm_unreachable("no such option");
}

bool ReplayFlags::allowsPrograms() const { return O->AllowPrograms; }

/// Includes only given settings, so that a study started before a setting
/// existed can be continued.
static std::string describeSettings(const SettingFlags &Settings) {
  KernelConfig Given;
  Settings.apply(Given);
  json::Object Config = makeConfig(Given);
  std::string Text;
  for (const SettingInfo &S : getSettings())
    if (const json::Value *V = Config.get(S.Key))
      for (const std::string &Option : makeOptions(json::Object{{S.Key, *V}}))
        Text += Option + "\n";
  return Text;
}

std::string ReplayFlags::describe() const {
  std::string Text;
  for (auto [Info, F] : zip(FlagInfos, O->Flags)) {
    if (!F)
      Text += describeSettings(O->Settings);
    else if (Info.Use == FlagUse::Result || Info.Use == FlagUse::ResultPath)
      if (std::optional<std::string> Value = F->describe())
        Text += formatv("--{0}={1}\n", Info.Option, *Value).str();
  }
  return Text + "--mllvm=" + join(O->LLVMOptions, ",") + "\n";
}

/// Parses "-name=value", or "-name" and "value" in the form that clang's driver
/// accepts.
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
  for (const std::unique_ptr<Flag> &F : O->Flags)
    if (F)
      if (Error E = F->apply(R))
        return E;
  if (O->Defines)
    for (const std::string &Text : *O->Defines) {
      Expected<LLVMOption> Macro = parseDefine(Text);
      if (!Macro)
        return Macro.takeError();
      overrideLLVMOptions(R.Defines, *Macro);
    }
  return parseLLVMOptions(R.LLVMOptions, O->LLVMOptions);
}

//===----------------------------------------------------------------------===//
// Back to a command line
//===----------------------------------------------------------------------===//

/// Returns the values unless they equal the default.
template <typename T>
static std::vector<std::string> printValues(const T &V, const T &Default) {
  return V == Default ? std::vector<std::string>() : std::vector{print(V)};
}
template <typename T>
static std::vector<std::string> printValues(const std::optional<T> &V,
                                            const std::optional<T> &) {
  return V ? std::vector{print(*V)} : std::vector<std::string>();
}
template <typename T>
static std::vector<std::string> printValues(const std::vector<T> &V,
                                            const std::vector<T> &) {
  std::vector<std::string> Texts;
  for (const T &E : V)
    Texts.push_back(print(E));
  return Texts;
}

static std::string makeAbsolute(StringRef File) {
  SmallString<128> Path(File);
  return sys::fs::make_absolute(Path) ? File.str() : std::string(Path);
}

std::vector<std::string> mneme::makeFlags(const ReplayOptions &R) {
  static const ReplayOptions Defaults;
  std::vector<std::string> Flags;
  auto Add = [&](StringRef Option, FlagUse Use,
                 const std::vector<std::string> &Values) {
    bool IsPath = Use == FlagUse::Path || Use == FlagUse::ResultPath;
    for (const std::string &V : Values)
      Flags.push_back(
          ("--" + Option + "=" + (IsPath ? makeAbsolute(V) : V)).str());
  };
#define FLAG(Option, Type, Member, Use, Group, ValueDesc, Help)                \
  Add(Option, FlagUse::Use, printValues(R.Member, Defaults.Member));
#define FLAG_OFF(Option, Member, Group, Help)                                  \
  if (!R.Member)                                                               \
    Flags.push_back("--" Option);
#include "llvm/Mneme/Replay/Flags.def"
  return Flags;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static std::string makeKey(StringRef Option) {
  std::string Key = Option.str();
  std::replace(Key.begin(), Key.end(), '-', '_');
  return Key;
}

template <typename T>
static void writeOption(json::Object &O, StringRef Option, const T &V) {
  O[makeKey(Option)] = print(V);
}
template <typename T>
static void writeOption(json::Object &O, StringRef Option,
                        const std::optional<T> &V) {
  if (V)
    writeOption(O, Option, *V);
}
template <typename T>
static void writeOption(json::Object &O, StringRef Option,
                        const std::vector<T> &V) {
  O[makeKey(Option)] = json::Array(printValues(V, {}));
}

json::Object mneme::makeResultOptions(const ReplayOptions &R, bool OnHost) {
  static const ReplayOptions Defaults;
  json::Object O;
  auto IsWritten = [&](FlagUse Use, OptionGroup Group, bool IsDefault) {
    return Use == FlagUse::Result &&
           (Group == OptionGroup::Device ? OnHost : !IsDefault);
  };
#define FLAG(Option, Type, Member, Use, Group, ValueDesc, Help)                \
  if (IsWritten(FlagUse::Use, OptionGroup::Group,                              \
                printValues(R.Member, Defaults.Member).empty()))               \
    writeOption(O, Option, R.Member);
#define FLAG_OFF(Option, Member, Group, Help)                                  \
  if (!R.Member)                                                               \
    O[makeKey(Option)] = true;
#include "llvm/Mneme/Replay/Flags.def"
  return O;
}

template <typename T> static Error readOption(const json::Value &V, T &Out) {
  if (std::optional<StringRef> Text = V.getAsString())
    return parse(*Text, Out);
  return createStringError(formatv("expected a string, got {0}", V));
}
template <typename T>
static Error readOption(const json::Value &V, std::optional<T> &Out) {
  return readOption(V, Out.emplace());
}
template <typename T>
static Error readOption(const json::Value &V, std::vector<T> &Out) {
  if (!V.getAsArray())
    return createStringError(formatv("expected an array, got {0}", V));
  Out.clear();
  for (const json::Value &One : *V.getAsArray())
    if (Error E = readOption(One, Out.emplace_back()))
      return E;
  return Error::success();
}

Error mneme::applyResultOptions(const json::Object &Options, ReplayOptions &R) {
  for (const auto &[Key, V] : Options) {
    bool IsKnown = false;
    Error E = Error::success();
    // A file must not name others.
#define FLAG(Option, Type, Member, Use, Group, ValueDesc, Help)                \
  if (FlagUse::Use == FlagUse::Result && StringRef(Key) == makeKey(Option)) {  \
    IsKnown = true;                                                            \
    E = readOption(V, R.Member);                                               \
  }
#define FLAG_OFF(Option, Member, Group, Help)                                  \
  if (StringRef(Key) == makeKey(Option)) {                                     \
    IsKnown = true;                                                            \
    R.Member = V != json::Value(true);                                         \
  }
#include "llvm/Mneme/Replay/Flags.def"
    if (!IsKnown)
      E = createStringError("unknown option");
    if (E)
      return make_error<KeyError>(
          Key, ("'" + StringRef(Key) + "': " + toString(std::move(E))).str());
  }
  return Error::success();
}

Error ReplayFlags::applyFile(const json::Object &Options,
                             ReplayOptions &R) const {
  json::Object Rest(Options);
  for (auto [Info, F] : zip(FlagInfos, O->Flags))
    if (F && F->isGiven())
      Rest.erase(makeKey(Info.Option));
  return applyResultOptions(Rest, R);
}
