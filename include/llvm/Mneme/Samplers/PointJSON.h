//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Points and spaces as JSON, for users and programs (docs/Samplers.rst).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SAMPLERS_POINTJSON_H
#define LLVM_MNEME_SAMPLERS_POINTJSON_H

#include "llvm/Mneme/Study/SearchSpace.h"

namespace llvm {
namespace mneme {

/// Parses {"parameter": value, ...}. Beside parameters, the object may contain
/// decisions of pipelines, by the name of the dimension, with the number of a
/// value. Everything else is as in the default configuration.
/// \returns a valid canonical point. Error: \p V is malformed, or a constraint
/// does not hold.
Expected<Point> parsePoint(const SearchSpace &Space, const json::Value &V);

/// The values of all parameters that exist at \p P, by name.
json::Object printPoint(const SearchSpace &Space, const Point &P);

/// The parameters and their possible values.
json::Array describeParameters(const SearchSpace &Space);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SAMPLERS_POINTJSON_H
