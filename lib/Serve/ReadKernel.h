//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads launches, IR and memory for clients. The functions that compile or run
/// code do so in the calling process, which is a child of the server.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SERVE_READKERNEL_H
#define LLVM_MNEME_LIB_SERVE_READKERNEL_H

#include "Messages.h"
#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {
namespace serve {

/// Describes a recorded launch; sets all members except Id.
message::Launch describeLaunch(const ReplayPlan &Plan);

enum class IRForm { Text, Bitcode, Tables };

/// Returns the IR of a plan, as recorded or after the pipeline. Fails with the
/// compiler's message.
Expected<std::string> readIRForm(const ReplayPlan &Plan, bool Optimized,
                                 IRForm Form);
/// Splits the result of readIRForm() into the description of the tables and
/// what follows the line of a message.
std::pair<json::Object, std::string> splitIRForm(std::string Form);

/// Writes the contents of a region before or after the recorded launch to the
/// memory file \p FD, which has the region's size.
Error fillRecorded(const RecordedState &State, size_t Region, bool After,
                   int FD);
/// Launches the plan's kernel on \p Device in a child process and writes the
/// contents of a region after the launch. Fails if the launch does not end.
Error fillResult(const ReplayPlan &Plan, StringRef Device, size_t Region,
                 int FD);

} // namespace serve
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SERVE_READKERNEL_H
