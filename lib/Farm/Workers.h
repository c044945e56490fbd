//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a farm's processes do: wait for messages, call the backend, answer.
///
/// To a compile process:
///   {"do": "compile", "request": ...}
///   {"stop": bool}                           answers "ask"
/// and from it:
///   {"stage": text}
///   {"ask": "ir" or "assembly", "hash": text}
///   {"code": ...} and the code, or {"invalid": text}
///
/// To a run process:
///   {"do": "open", "device": name}
///   {"do": "code", "code": ...} and the code, which it keeps
///   {"do": "drop", "hash": text}
///   {"do": "run", "number": n, "request": ..., "hash": text}
///   {"do": "compare", "number": n, "requests": [...], "hashes": [...],
///    "rounds": n}
/// and from it:
///   {"opened": {...}, "exclusive": name} or {"failed": text}
///   {"begin": n}
///   {"stage": text, "limit": seconds}
///   {"done": n, "evaluation": ... or "paired": ..., "busy": seconds,
///    "spent": bool}
///
/// From both, before they end: {"fatal": text} (Process.h).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_WORKERS_H
#define LLVM_MNEME_LIB_FARM_WORKERS_H

#include "Frame.h"
#include "llvm/Mneme/Farm/Farm.h"

namespace llvm {
namespace mneme {

/// They return when the coordinator is gone.
void runCompileProcess(FarmBackend &Backend, Channel &Link);
void runRunProcess(FarmBackend &Backend, Channel &Link);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_WORKERS_H
