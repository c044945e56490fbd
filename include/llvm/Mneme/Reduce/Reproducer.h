//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes a reproducer of a wrong result that needs no Mneme: a small program
/// with the kernel, its launch and its memory, and LLVM's own commands.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REDUCE_REPRODUCER_H
#define LLVM_MNEME_REDUCE_REPRODUCER_H

#include "llvm/Mneme/Reduce/Differential.h"

namespace llvm {
namespace mneme {

/// What a program of a reproducer runs on.
enum class ReproducerKind {
  GPU, ///< The driver's API: main.cu, main.hip.
  CPU, ///< The kernel's IR as code of the CPU, thread by thread: main.cpp.
};
StringRef getReproducerKindName(ReproducerKind K); ///< "gpu", "cpu"
/// Errors quote the invalid name.
Expected<ReproducerKind> parseReproducerKind(StringRef Name);

struct ReproducerOptions {
  std::string Output; ///< The folder: new or empty.
  /// The program to write. Unset: each one that is possible.
  std::optional<ReproducerKind> Only;
};

struct WrittenReproducer {
  std::vector<std::string> Programs; ///< "main.cu", "main.cpp"
  std::vector<std::string> Notes;    ///< Messages for the user.
};

/// Writes a reproducer of the bad side \p Bad and the good side \p Good, whose
/// comparison \p D found different memory. Its expected memory is that of the
/// good side. Runs the program for the CPU to check that it shows the
/// difference. Fails if no program is possible, and then leaves no folder.
Expected<WrittenReproducer> writeReproducer(const ReplayPlan &Bad,
                                            const ReplayOptions &Good,
                                            const DifferentialResult &D,
                                            const ReproducerOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REDUCE_REPRODUCER_H
