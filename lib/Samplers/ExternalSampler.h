//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "external" with a time limit that the caller chooses.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SAMPLERS_EXTERNALSAMPLER_H
#define LLVM_MNEME_LIB_SAMPLERS_EXTERNALSAMPLER_H

#include "llvm/Mneme/Samplers/Sampler.h"
#include <chrono>

namespace llvm {
namespace mneme {

/// \param Timeout Limit for each answer, and for the program to read a line.
Expected<std::unique_ptr<Sampler>>
createExternalSampler(const SamplerContext &Context, StringRef Command,
                      std::chrono::milliseconds Timeout);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SAMPLERS_EXTERNALSAMPLER_H
