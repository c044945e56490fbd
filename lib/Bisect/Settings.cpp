//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Sides
//===----------------------------------------------------------------------===//

bool mneme::isOfHostOnly(StringRef Key) { return Key == HostFinishKey; }

namespace {
/// What a file's settings depend on.
struct FileRules {
  StringRef RecordId;
  bool AllowPrograms;
};
} // namespace

static Error addFile(json::Object &Config, StringRef Path, FileRules Rules) {
  Expected<ConfigFile> File = readConfigFile(Path);
  if (!File)
    return File.takeError();
  const json::Object &Own = File->configOf(Rules.RecordId);
  if (!Rules.AllowPrograms)
    if (Error E = refuseSideEffects(Path, findSideEffects(Own)))
      return E;
  for (const auto &KV : Own)
    Config[KV.first] = KV.second;
  return Error::success();
}

static Error parseOption(json::Object &Config, ArrayRef<std::string> Words,
                         size_t &I, FileRules Rules) {
  StringRef Word = Words[I];
  auto [Name, Value] = Word.ltrim('-').split('=');
  bool HasValue = Word.contains('=');
  bool IsFile = Name == "config", IsFinish = Name == "host-finish";
  StringRef Key = IsFinish ? StringRef(HostFinishKey) : getOptionKey(Name);
  if (Key.empty() && !IsFile)
    return createStringError(
        formatv("'{0}' cannot be set for one side alone: expected one of "
                "--config, --host-finish, --mllvm, --{1}",
                Word, join(getOptionNames(), ", --"))
            .str());
  if (!HasValue && (IsFile || needsValue(Key))) {
    if (I + 1 == Words.size())
      return createStringError(formatv("'{0}' needs a value", Word).str());
    Value = Words[++I];
  }
  if (IsFile)
    return addFile(Config, Value, Rules);
  if (IsFinish) {
    Config[Key] = json::fixUTF8(Value);
    return Error::success();
  }
  return addOption(Config, Name, Value);
}

/// Adds the tools at a path.
static Error addTools(json::Object &Config, StringRef Path) {
  Expected<json::Object> Tools = parseTool(Path);
  if (!Tools)
    return Tools.takeError();
  // With one of them, this LLVM's code generator or pipeline would silently
  // replace the other.
  StringRef Opt = "opt_tool", Llc = "llc_tool";
  if (sys::fs::is_directory(Path) && !Tools->get(Opt) != !Tools->get(Llc))
    return createStringError(
        formatv("'{0}' has no {1}: give --{2} alone, or a folder with both",
                Path, Tools->get(Opt) ? "llc" : "opt",
                getOptionName(Tools->get(Opt) ? Opt : Llc))
            .str());
  for (const auto &KV : *Tools)
    Config[KV.first] = KV.second;
  return Error::success();
}

Expected<json::Object> mneme::parseSide(StringRef Text, StringRef RecordId,
                                        bool AllowPrograms) {
  const FileRules Rules{RecordId, AllowPrograms};
  json::Object Config;
  std::vector<std::string> Words = splitWords(Text);
  for (size_t I = 0; I != Words.size(); ++I) {
    StringRef Word = Words[I];
    Error E = Error::success();
    if (Word.starts_with("-"))
      E = parseOption(Config, Words, I, Rules);
    else if (Word.consume_front("@") || Word.ends_with(".json"))
      E = addFile(Config, Word, Rules);
    else if (Word.contains('/') && !Word.contains('('))
      E = addTools(Config, Word);
    else if (Config.get("passes"))
      E = createStringError(formatv("unexpected '{0}'", Word).str());
    else
      Config["passes"] = json::fixUTF8(Word);
    if (E)
      return std::move(E);
  }
  // Check that the settings are consistent.
  ReplayOptions Scratch;
  if (Error E = applySide(Config, Scratch))
    return std::move(E);
  return Config;
}

namespace {
struct ToolName {
  StringLiteral Program, Key;
};
} // namespace

static constexpr ToolName ToolNames[] = {
    {"opt", "opt_tool"},
    {"llc", "llc_tool"},
    {"ptxas", "ptxas"},
    {"clang", "opt_tool"},
};

/// "opt", "opt-21", "opt.exe".
static bool isProgram(StringRef Name, StringRef Program) {
  return Name.consume_front(Program) &&
         (Name.empty() || !isAlnum(Name.front()));
}

Expected<json::Object> mneme::parseTool(StringRef Path) {
  json::Object Config;
  // Identify a program by its --version, whatever its name.
  if (!sys::fs::is_directory(Path)) {
    Expected<ToolInfo> Tool = identifyTool(Path);
    if (Tool) {
      Config[getToolConfigKey(Tool->Kind)] = json::fixUTF8(Path);
      return Config;
    }
    consumeError(Tool.takeError());
  }
  if (!sys::fs::exists(Path))
    return createStringError(formatv("no such tool: '{0}'", Path).str());
  bool IsFolder = sys::fs::is_directory(Path);
  for (const ToolName &T : ToolNames) {
    if (!IsFolder && isProgram(sys::path::filename(Path), T.Program))
      Config[T.Key] = json::fixUTF8(Path);
    if (!IsFolder)
      continue;
    for (StringRef Below : {"", "bin"}) {
      SmallString<128> File(Path);
      sys::path::append(File, Below, T.Program);
      if (!Config.get(T.Key) && sys::fs::can_execute(File))
        Config[T.Key] = json::fixUTF8(File);
    }
  }
  if (Config.empty())
    return createStringError(formatv("'{0}' is neither opt, clang, llc or "
                                     "ptxas nor a folder with one of them",
                                     Path)
                                 .str());
  return Config;
}
