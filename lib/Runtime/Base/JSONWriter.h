//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_JSONWRITER_H
#define MNEME_LIB_RUNTIME_BASE_JSONWRITER_H

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace mneme {

/// Quotes a string. Bytes that are not ASCII, which need not be UTF-8, become
/// question marks.
inline std::string quote(const std::string &Text) {
  std::string Out = "\"";
  for (unsigned char C : Text) {
    if (C == '"' || C == '\\')
      Out += '\\';
    Out += C < ' ' || C > '~' ? '?' : char(C);
  }
  return Out + "\"";
}

/// Returns a number that is not negative with 6 decimal places, whatever the
/// program's locale.
inline std::string decimal(double Value) {
  constexpr uint64_t Unit = 1000000;
  auto Scaled = uint64_t(Value * Unit + 0.5);
  std::string Rest = std::to_string(Unit + Scaled % Unit);
  return std::to_string(Scaled / Unit) + '.' + Rest.substr(1);
}

/// Writes a value of JSON. Functions may throw.
class JSONWriter {
public:
  /// Whether members or elements share a line.
  enum Form { OneLine, Lines };

  template <typename Fn> void object(Form F, Fn Members) {
    nest("{}", F, Members);
  }
  template <typename Fn> void array(Form F, Fn Elements) {
    nest("[]", F, Elements);
  }
  /// Begins a member, whose value follows.
  JSONWriter &key(const std::string &Name) {
    separate();
    Out += quote(Name) + ": ";
    IsAfterKey = true;
    return *this;
  }
  template <typename T> void value(const T &V) {
    separate();
    if constexpr (std::is_same_v<T, bool>)
      Out += V ? "true" : "false";
    else if constexpr (std::is_integral_v<T>)
      Out += std::to_string(V);
    else if constexpr (std::is_floating_point_v<T>)
      Out += decimal(V);
    else
      Out += quote(V);
  }
  template <typename T> void value(const std::atomic<T> &V) { value(V.load()); }
  template <typename T> void member(const std::string &Name, const T &V) {
    key(Name).value(V);
  }
  /// Puts the next member or element on a line of its own.
  void breakLine() { Breaks = true; }

  const std::string &text() const { return Out; }

private:
  struct Level {
    Form F;
    bool IsEmpty;
  };

  template <typename Fn> void nest(const char *Brackets, Form F, Fn Fill) {
    separate();
    Out += Brackets[0];
    Levels.push_back({F, true});
    Fill();
    Levels.pop_back();
    if (F == Lines)
      beginLine();
    Out += Brackets[1];
  }
  void beginLine() { Out += '\n' + std::string(Levels.size(), ' '); }
  void separate() {
    if (IsAfterKey || Levels.empty()) {
      IsAfterKey = false;
      return;
    }
    Level &L = Levels.back();
    if (!L.IsEmpty)
      Out += ',';
    if (L.F == Lines || Breaks)
      beginLine();
    else if (!L.IsEmpty)
      Out += ' ';
    L.IsEmpty = Breaks = false;
  }

  std::string Out;
  std::vector<Level> Levels;
  bool IsAfterKey = false, Breaks = false;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_JSONWRITER_H
