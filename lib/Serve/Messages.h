//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The messages of Serve/Messages.def as C++, in namespace serve.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SERVE_MESSAGES_H
#define LLVM_MNEME_LIB_SERVE_MESSAGES_H

#include "llvm/Mneme/Farm/MessageTable.h"
#include "llvm/Mneme/Serve/Serve.h"

namespace llvm {
namespace mneme {
namespace serve {

/// Largest size of IR that a client sends.
inline constexpr uint64_t MaxIRBytes = uint64_t(64) << 20;

struct ServedArgument {
  std::string Name, Type, Kind;
  std::string Value; ///< Hexadecimal.
};

struct ServedBuffer {
  uint32_t Id = 0;
  std::string Name, Kind;
  uint64_t Address = 0, Size = 0;
};

struct ServedAnnotation {
  uint64_t Address = 0, Size = 0;
  std::string Type, Tolerance, Tag;
};

struct ServedOption {
  std::string Name, Text;
};

struct ServedObjective {
  std::string Metric, Direction;
};

struct ServedProposal {
  uint64_t Number = 0;
  json::Object Point, Config;
};

namespace rules {
using namespace mneme::rules;

struct FiniteLimits {
  static constexpr double Min = std::numeric_limits<double>::lowest(),
                          Max = std::numeric_limits<double>::max();
  static StringRef describe() { return "number"; }
};
using AnyNumber = Real<FiniteLimits>;
using Values = ListOf<AnyNumber, 64>;
using LongText = BasicText<size_t(1) << 24, false>;
using Configurations = ListOf<Configuration, MaxCompared>;
using Ids = ListOf<Number, 65536>;

/// Any object; its content is documented elsewhere.
struct Object {
  using Type = json::Object;
  static bool read(const json::Value &V, json::Object &Out, json::Path P);
  static json::Value write(const json::Object &V) { return json::Object(V); }
  static std::string describe() { return "object"; }
};

/// Any array; its content is documented elsewhere.
struct Array {
  using Type = json::Array;
  static bool read(const json::Value &V, json::Array &Out, json::Path P);
  static json::Value write(const json::Array &V) { return json::Array(V); }
  static std::string describe() { return "list"; }
};

/// A failure of Verdicts.def, or "".
struct FailureText {
  using Type = FailureKind;
  static bool read(const json::Value &V, FailureKind &Out, json::Path P);
  static json::Value write(FailureKind V) { return V.name(); }
  static std::string describe() { return "empty, or the name of a failure"; }
};
} // namespace rules

#define MESSAGE_TABLE "llvm/Mneme/Serve/Messages.def"
#include "llvm/Mneme/Farm/DeclareMessages.inc"
#undef MESSAGE_TABLE

} // namespace serve
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SERVE_MESSAGES_H
