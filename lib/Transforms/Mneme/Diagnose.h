//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the passes say to the user of the compiler.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_DIAGNOSE_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_DIAGNOSE_H

#include "llvm/ADT/Twine.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace llvm {
namespace mneme {

/// A text of the compiler that loaded the plugin. LLVM's own
/// DiagnosticInfoGeneric came with LLVM 21.
class PassDiagnostic : public DiagnosticInfo {
public:
  /// Refers to \p Message.
  PassDiagnostic(const Twine &Message, DiagnosticSeverity Severity)
      : DiagnosticInfo(getKind(), Severity), Message(Message) {}
  void print(DiagnosticPrinter &DP) const override {
    DP << "mneme: " << Message;
  }

private:
  static int getKind() {
    static const int Kind = getNextAvailablePluginDiagnosticKind();
    return Kind;
  }
  const Twine &Message;
};

inline void reportError(const Module &M, const Twine &Message) {
  M.getContext().diagnose(PassDiagnostic(Message, DS_Error));
}
inline void reportWarning(const Module &M, const Twine &Message) {
  M.getContext().diagnose(PassDiagnostic(Message, DS_Warning));
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_DIAGNOSE_H
