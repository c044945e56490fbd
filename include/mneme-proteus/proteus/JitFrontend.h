//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The embedded language of Proteus, by mneme/jit_builder.h. Errors end the
/// program, as with Proteus. The back end has no effect: both have the same
/// code.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_PROTEUS_JITFRONTEND_H
#define MNEME_PROTEUS_JITFRONTEND_H

#include "Init.h"
#include "TextModule.h"
#include <array>
#include <mneme/jit_builder.h>

namespace proteus {

using mneme::builder::absf;
using mneme::builder::AddressSpace;
using mneme::builder::cosf;
using mneme::builder::EmissionPolicy;
using mneme::builder::expf;
using mneme::builder::fabs;
using mneme::builder::FuncBase;
using mneme::builder::logf;
using mneme::builder::LoopHints;
using mneme::builder::max;
using mneme::builder::min;
using mneme::builder::powf;
using mneme::builder::sinf;
using mneme::builder::sqrtf;
using mneme::builder::truncf;
using mneme::builder::Var;
namespace builtins = mneme::builder::builtins;

class JitModule {
public:
  explicit JitModule(const std::string &Target = "host",
                     const std::string &Backend = "llvm")
      : M(detail::toTarget(parseTargetModel(Target))) {
    if (Backend != "llvm" && Backend != "mlir")
      reportFatalError("unknown back end '" + Backend +
                       "': expected 'llvm' or 'mlir'");
  }
  JitModule(const JitModule &) = delete;
  JitModule &operator=(const JitModule &) = delete;

  template <typename Sig> auto &addFunction(const std::string &Name) {
    auto &F = M.addFunction<Sig>(Name);
    F.onFailure([this] { reportFatalError(M.error()); });
    return F;
  }
  template <typename Sig> auto addKernel(const std::string &Name) {
    auto K = M.addKernel<Sig>(Name);
    K.F.onFailure([this] { reportFatalError(M.error()); });
    return K;
  }
  void compile(bool = false) {
    if (!M.compile())
      reportFatalError(M.error());
  }
  bool isCompiled() const { return M.isCompiled(); }
  void print() { M.print(); }
  void printLLVMIR() { M.print(); }

private:
  mneme::builder::Module M;
};

} // namespace proteus

#endif // MNEME_PROTEUS_JITFRONTEND_H
