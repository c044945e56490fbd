//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/WithColor.h"
#include <cstdlib>

using namespace llvm;
using namespace llvm::mneme;

/// Writes "\x1b" for each byte, or in JSON, where all text is UTF-8, "\u001b"
/// for the character.
static void writeEscaped(raw_ostream &OS, StringRef Bytes, UTF32 Character,
                         PrintableStream::Syntax S) {
  if (S == PrintableStream::Syntax::JSON) {
    OS << format("\\u%04x", Character);
    return;
  }
  for (unsigned char C : Bytes)
    OS << format("\\x%02x", C);
}

/// \param MayStay Do not escape newlines and tabs.
static void writePrintable(raw_ostream &OS, StringRef Text,
                           PrintableStream::Syntax S, bool MayStay) {
  while (!Text.empty()) {
    auto *Begin = reinterpret_cast<const UTF8 *>(Text.begin()), *Next = Begin;
    UTF32 Character = 0;
    bool IsWhole =
        convertUTF8Sequence(&Next, reinterpret_cast<const UTF8 *>(Text.end()),
                            &Character, strictConversion) == conversionOK;
    size_t Size = IsWhole ? Next - Begin : 1;
    StringRef Bytes = Text.take_front(Size);
    Text = Text.drop_front(Size);
    if (!IsWhole)
      Character = static_cast<unsigned char>(Bytes[0]);
    bool Stays = IsWhole && (sys::unicode::isPrintable(Character) ||
                             (MayStay && (Bytes == "\n" || Bytes == "\t")));
    // JSON would escape a character above U+FFFF as a surrogate pair. Terminals
    // do not interpret such characters.
    Stays |= S == PrintableStream::Syntax::JSON && Character > 0xffff;
    if (Stays)
      OS << Bytes;
    else
      writeEscaped(OS, Bytes, Character, S);
  }
}

static std::string convert(StringRef Text, bool MayStay) {
  std::string Result;
  raw_string_ostream OS(Result);
  writePrintable(OS, Text, PrintableStream::Syntax::Text, MayStay);
  return Result;
}

std::string mneme::printable(StringRef Text) {
  return convert(Text, /*MayStay=*/false);
}

std::string mneme::printableLines(StringRef Text) {
  return convert(Text, /*MayStay=*/true);
}

std::string mneme::printableMessage(StringRef Text) {
  constexpr size_t MaxLine = 2000, Begin = 1200, End = 400;
  std::string Result;
  while (true) {
    auto [Line, Rest] = Text.split('\n');
    bool IsLast = Line.size() == Text.size();
    if (Line.size() <= MaxLine)
      Result += printableLines(Line);
    else
      Result += printableLines(Line.take_front(Begin)) + "[... " +
                utostr(Line.size() - Begin - End) + " bytes ...]" +
                printableLines(Line.take_back(End));
    if (IsLast)
      return Result;
    Result += '\n';
    Text = Rest;
  }
}

PrintableStream::PrintableStream(raw_ostream &OS, Syntax S)
    : raw_ostream(/*unbuffered=*/true), OS(OS), S(S) {}

PrintableStream::~PrintableStream() {
  flush();
  writePrintable(OS, Pending, S, /*MayStay=*/true);
}

void PrintableStream::write_impl(const char *Ptr, size_t Size) {
  Pending.append(Ptr, Size);
  // The last character may be incomplete.
  size_t Begin = Pending.size();
  while (Begin && Pending.size() - Begin < 3 &&
         (Pending[Begin - 1] & 0xc0) == 0x80)
    --Begin;
  bool IsCut = Begin && getNumBytesForUTF8(Pending[Begin - 1]) >
                            Pending.size() - (Begin - 1);
  size_t Whole = IsCut ? Begin - 1 : Pending.size();
  writePrintable(OS, StringRef(Pending).take_front(Whole), S, /*MayStay=*/true);
  Pending.erase(0, Whole);
}

raw_ostream &PrintableStream::changeColor(Colors C, bool Bold,
                                          bool Background) {
  OS.changeColor(C, Bold, Background);
  return *this;
}

raw_ostream &PrintableStream::resetColor() {
  OS.resetColor();
  return *this;
}

raw_ostream &mneme::textOuts() {
  static PrintableStream OS(outs());
  return OS;
}

raw_ostream &mneme::jsonOuts() {
  static PrintableStream OS(outs(), PrintableStream::Syntax::JSON);
  return OS;
}

void mneme::reportLostOutput() {
  // The stream has to be made before the handler is registered, which then runs
  // before its destructor.
  outs();
  std::atexit([] {
    outs().flush();
    std::error_code EC = outs().error();
    if (!EC)
      return;
    outs().clear_error();
    WithColor::error(errs()) << "standard output: " << EC.message() << '\n';
    std::_Exit(1);
  });
}

std::string mneme::encodeURI(StringRef Path) {
  std::string Text;
  raw_string_ostream OS(Text);
  for (char C : Path)
    if (isAlnum(C) || StringRef("-_.~/").contains(C))
      OS << C;
    else
      OS << '%' << format_hex_no_prefix(uint8_t(C), 2, /*Upper=*/true);
  return Text;
}

std::string mneme::printShortest(double D) {
  std::string S;
  for (int Digits = 1; Digits <= std::numeric_limits<double>::max_digits10;
       ++Digits) {
    S.clear();
    raw_string_ostream(S) << format("%.*g", Digits, D);
    double Back;
    if (!StringRef(S).getAsDouble(Back) && Back == D)
      break;
  }
  return S;
}
