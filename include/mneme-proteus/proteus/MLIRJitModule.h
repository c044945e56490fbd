//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Modules of MLIR, as in Proteus, by mneme/jit_module.h.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_PROTEUS_MLIRJITMODULE_H
#define MNEME_PROTEUS_MLIRJITMODULE_H

#include "TextModule.h"

namespace proteus {

class MLIRJitModule : public TextModule {
public:
  explicit MLIRJitModule(TargetModelType Target, const std::string &Code)
      : TextModule(Target, Code, mneme::jit_language::mlir) {}
  explicit MLIRJitModule(const std::string &Target, const std::string &Code)
      : MLIRJitModule(parseTargetModel(Target), Code) {}
};

} // namespace proteus

#endif // MNEME_PROTEUS_MLIRJITMODULE_H
