//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral Prefix = "hex:";

bool mneme::hasControlsText(StringRef Setting) {
  return Setting.starts_with(Prefix);
}

Expected<std::string> mneme::loadControls(StringRef Setting) {
  constexpr StringLiteral Option = "--ptxas-controls: ";
  if (Setting.empty())
    return "";
  if (hasControlsText(Setting)) {
    StringRef Digits = Setting.drop_front(Prefix.size());
    if (Digits.empty() || Digits.size() % 2 || !all_of(Digits, isHexDigit))
      return createStringError(
          formatv("{0}expected an even number of hexadecimal digits after "
                  "'{1}', got '{2}'",
                  Option, Prefix, Digits.take_front(32))
              .str());
    if (Digits.size() > 2 * MaxControls)
      return createStringError(
          formatv("{0}{1} bytes of controls are no controls file: at most {2}",
                  Option, Digits.size() / 2, MaxControls)
              .str());
    return (Prefix + Digits.lower()).str();
  }
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Setting, MaxControls);
  if (!File)
    return createStringError(Option + toString(File.takeError()));
  StringRef Bytes = (*File)->getBuffer();
  if (Bytes.empty())
    return createStringError(Option + "'" + Setting +
                             "' is empty: name a controls file");
  return (Prefix + toHex(Bytes, /*LowerCase=*/true)).str();
}

void mneme::loadControls(json::Object &Config,
                         const StringMap<std::string> &Known) {
  std::optional<StringRef> Setting = Config.getString(ControlsKey);
  if (!Setting)
    return;
  if (auto It = Known.find(*Setting); It != Known.end()) {
    Config[ControlsKey] = It->second;
    return;
  }
  if (hasControlsText(*Setting))
    return;
  Expected<std::string> Loaded = loadControls(*Setting);
  if (Loaded)
    Config[ControlsKey] = std::move(*Loaded);
  else
    consumeError(Loaded.takeError());
}

std::string mneme::getControlsBytes(StringRef Loaded) {
  return fromHex(Loaded.drop_front(Prefix.size()));
}

json::Value mneme::describeControls(StringRef Loaded) {
  if (Loaded.empty())
    return nullptr;
  std::string Bytes = getControlsBytes(Loaded);
  return json::Object{{"bytes", Bytes.size()},
                      {"digest", toHexString(digest128(Bytes))}};
}
