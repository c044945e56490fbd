//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPORT_EXPORTS_H
#define LLVM_MNEME_LIB_REPORT_EXPORTS_H

#include "llvm/Mneme/Report/Export.h"

namespace llvm {
namespace mneme {

#define EXPORT(Name, Extension, Function, What, Description)                   \
  Error Function(const StudyRecord &R, StringRef Path);
#include "llvm/Mneme/Report/Exports.def"

/// Returns the unit of a metric; unset if there is no such metric.
std::optional<StringRef> getMetricUnit(StringRef Metric);

/// Writes indented JSON.
Error writeJSON(StringRef Path, json::Value V);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPORT_EXPORTS_H
