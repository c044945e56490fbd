//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Modules of LLVM IR, as in Proteus, by mneme/jit_module.h.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_PROTEUS_LLVMIRJITMODULE_H
#define MNEME_PROTEUS_LLVMIRJITMODULE_H

#include "TextModule.h"

namespace proteus {

/// The server recognizes both by their first bytes.
enum class LLVMIRInputKind { Auto, TextIR, Bitcode };
class LLVMIRJitModule : public TextModule {
public:
  explicit LLVMIRJitModule(TargetModelType Target, const std::string &Code,
                           LLVMIRInputKind = LLVMIRInputKind::Auto)
      : TextModule(Target, Code, mneme::jit_language::llvm_ir) {}
  explicit LLVMIRJitModule(const std::string &Target, const std::string &Code,
                           LLVMIRInputKind Kind = LLVMIRInputKind::Auto)
      : LLVMIRJitModule(parseTargetModel(Target), Code, Kind) {}
};

} // namespace proteus

#endif // MNEME_PROTEUS_LLVMIRJITMODULE_H
