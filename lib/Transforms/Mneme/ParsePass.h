//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parsing of passes with parameters, such as "mneme-fill<byte=0x3f>".
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_PARSEPASS_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_PARSEPASS_H

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"

namespace llvm {
namespace mneme {

/// Adds a \p PassT to \p MPM if \p Name is \p PassName with parameters.
/// \p Parse converts the text between the angle brackets to an Expected<T>,
/// from which the pass is constructed.
template <typename PassT, typename ParserT>
bool parsePass(StringRef Name, StringRef PassName, ParserT Parse,
               ModulePassManager &MPM) {
  if (!PassBuilder::checkParametrizedPassName(Name, PassName))
    return false;
  auto Options = PassBuilder::parsePassParameters(Parse, Name, PassName);
  if (!Options) {
    // The callback cannot return an error; LLVM's own plugins print theirs,
    // too.
    errs() << toString(Options.takeError()) << '\n';
    return false;
  }
  MPM.addPass(PassT(std::move(*Options)));
  return true;
}

/// Registers \p PassName with \p PB. See parsePass().
template <typename PassT, typename ParserT>
void registerPass(PassBuilder &PB, StringLiteral PassName, ParserT Parse) {
  PB.registerPipelineParsingCallback(
      [=](StringRef Name, ModulePassManager &MPM,
          ArrayRef<PassBuilder::PipelineElement>) {
        return parsePass<PassT>(Name, PassName, Parse, MPM);
      });
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_PARSEPASS_H
