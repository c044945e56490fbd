//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The loops of a farm's processes: wait for messages (Messages.def), call the
/// backend, answer.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_PROCESSLOOPS_H
#define LLVM_MNEME_LIB_FARM_PROCESSLOOPS_H

#include "llvm/Mneme/Farm/Farm.h"
#include "llvm/Mneme/Process/Frame.h"

namespace llvm {
namespace mneme {

/// These loops end the process when the coordinator has ended.
void runCompileProcess(FarmBackend &Backend, Channel &Link);
void runRunProcess(FarmBackend &Backend, Channel &Link);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_PROCESSLOOPS_H
