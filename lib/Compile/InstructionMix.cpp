//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/InstructionMix.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns the function of a line ".section .text.NAME,..."; empty for other
/// sections; std::nullopt if the line starts no section.
static std::optional<StringRef> parseSection(StringRef Line) {
  // Do not match ".sectioninfo".
  if (!Line.consume_front(".section") || Line.empty() || !isSpace(Line[0]))
    return std::nullopt;
  Line = Line.ltrim();
  Line.consume_front("\"");
  if (!Line.consume_front(".text."))
    return StringRef();
  return Line.take_until([](char C) { return C == ',' || C == '"'; });
}

/// Returns "LDG" for "/*0010*/  @!P0 LDG.E R2, [R4] ;"; empty if the line has
/// no instruction.
static StringRef parseOpcode(StringRef Line) {
  if (!Line.consume_front("/*"))
    return StringRef();
  auto [Offset, Text] = Line.split("*/");
  if (Offset.empty() || !all_of(Offset, isHexDigit))
    return StringRef();
  Text = Text.ltrim();
  // A brace opens a pair of instructions that are issued together.
  if (Text.consume_front("{"))
    Text = Text.ltrim();
  if (Text.starts_with("@"))
    Text = Text.drop_until(isSpace).ltrim();
  return Text.take_while([](char C) { return isAlnum(C) || C == '_'; });
}

InstructionMix mneme::parseInstructionMix(StringRef Disassembly,
                                          StringRef Kernel) {
  InstructionMix Mix;
  bool InKernel = false;
  for (StringRef Line : split(Disassembly, '\n')) {
    Line = Line.trim();
    if (std::optional<StringRef> Function = parseSection(Line))
      InKernel = *Function == Kernel;
    if (!InKernel)
      continue;
    StringRef Opcode = parseOpcode(Line);
    if (!Opcode.empty() && Opcode != "NOP")
      ++Mix[Opcode.str()];
  }
  return Mix;
}

Expected<InstructionMix> mneme::readInstructionMix(StringRef Image,
                                                   StringRef Kernel,
                                                   StringRef CudaPath) {
  Expected<std::string> Text = disassembleCubin(Image, CudaPath);
  if (!Text)
    return Text.takeError();
  InstructionMix Mix = parseInstructionMix(*Text, Kernel);
  if (Mix.empty())
    return createStringError(
        formatv("no instructions of '{0}' in what nvdisasm prints", Kernel)
            .str());
  return std::move(Mix);
}
