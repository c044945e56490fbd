//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the source of a recorded kernel through the commands of its build, and
/// proves it: compiled again, it is the recorded kernel.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_FINDSOURCE_H
#define LLVM_MNEME_SOURCE_FINDSOURCE_H

#include "llvm/Mneme/Record/EmbeddedSource.h"
#include "llvm/Mneme/Source/CompileCommand.h"
#include "llvm/Mneme/Source/SourceUnit.h"

namespace llvm {
namespace mneme {
struct RecordedKernel;

/// Searches the sources of \p Commands for kernel \p K. \p ToolFolder is that
/// of Mneme's tools. Fails if no source is proved to be the kernel's.
Expected<SourceUnit> findSource(const RecordedKernel &K,
                                ArrayRef<CompileCommand> Commands,
                                StringRef ToolFolder);

/// The same for the units of a program.
Expected<SourceUnit> findSource(const RecordedKernel &K,
                                ArrayRef<EmbeddedSource> Units,
                                StringRef ToolFolder);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_FINDSOURCE_H
