//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Slots of programs without a GPU: only the functions of mneme/jit.h.
///
//===----------------------------------------------------------------------===//

#include "JitEntries.h"
#include "Program.h"

using namespace mneme;

void mneme::patchSlots(MnemeHook *Begin, MnemeHook *End) {
  for (MnemeHook *H = Begin; H < End; ++H)
    // Linkers pad merged sections with zeros.
    if (void *Fn = H->Name ? findJitFunction(H->Name) : nullptr)
      H->Fn = Fn;
}

void mneme::visitVariables(const void *, VariableCallback *, void *) {}
