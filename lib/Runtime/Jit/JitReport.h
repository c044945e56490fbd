//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The JIT's report at the end of the process.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_JITREPORT_H
#define MNEME_LIB_RUNTIME_JIT_JITREPORT_H

#include <string>

namespace mneme {

class JSONWriter;
class Jit;
class JitSite;
struct JitVariant;

class JitReport {
public:
  explicit JitReport(Jit &Of) : Of(Of) {}
  /// Writes it where the settings say. May throw.
  void write();

private:
  struct Totals;
  Totals addAll();
  void writeVariant(JSONWriter &J, const JitSite &S, const JitVariant &V);
  void writeSite(JSONWriter &J, JitSite &S);
  std::string makeJSON();
  std::string makeText();
  std::string describe(const JitSite &S, const JitVariant &V);

  Jit &Of;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_JITREPORT_H
