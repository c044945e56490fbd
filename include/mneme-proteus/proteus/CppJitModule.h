//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// C++ that is compiled while the program runs, as in Proteus, by
/// mneme/jit_module.h.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_PROTEUS_CPPJITMODULE_H
#define MNEME_PROTEUS_CPPJITMODULE_H

#include "TextModule.h"
#include <deque>

namespace proteus {

enum class CppJitCompilerBackend { Clang, Nvcc };

class CppJitModule : public TextModule {
public:
  explicit CppJitModule(
      TargetModelType Target, const std::string &Code,
      const std::vector<std::string> &ExtraArgs = {},
      CppJitCompilerBackend Backend = CppJitCompilerBackend::Clang)
      : TextModule(Target, Code, mneme::jit_language::cpp, ExtraArgs,
                   Backend == CppJitCompilerBackend::Nvcc
                       ? mneme::jit_compiler::nvcc
                       : mneme::jit_compiler::clang) {
    if (Backend == CppJitCompilerBackend::Nvcc &&
        Target == TargetModelType::HOST)
      reportFatalError("nvcc compiles only for 'cuda' and 'host_cuda'");
  }
  explicit CppJitModule(
      const std::string &Target, const std::string &Code,
      const std::vector<std::string> &ExtraArgs = {},
      CppJitCompilerBackend Backend = CppJitCompilerBackend::Clang)
      : CppJitModule(parseTargetModel(Target), Code, ExtraArgs, Backend) {}

  /// An instance of a template.
  class CodeInstance {
  public:
    CodeInstance(mneme::jit_module &M, mneme::jit_instance &I) : M(M), I(I) {}
    template <typename R, typename... A> R run(A &&...Args) {
      if (!I.prepare_call<R, A...>())
        reportFatalError(M.error());
      return I.call<R>(std::forward<A>(Args)...);
    }
    template <typename... A>
    DispatchResult launch(LaunchDims Grid, LaunchDims Block,
                          uint64_t SharedBytes, void *Stream, A... Args) {
      if (!I.prepare_launch<A...>())
        reportFatalError(M.error());
      return I.launch(Grid, Block, SharedBytes, Stream, Args...);
    }
    void setFuncAttribute(JitFuncAttribute, int Value) {
      I.set_max_shared_bytes(Value);
    }

  private:
    friend class CppJitModule;
    mneme::jit_module &M;
    mneme::jit_instance &I;
  };

  template <typename... A>
  CodeInstance &instantiate(const std::string &Name, A... Args) {
    mneme::jit_instance &I = M->instantiate(Name, std::string(Args)...);
    for (CodeInstance &Known : Instances)
      if (&Known.I == &I)
        return Known;
    Instances.emplace_back(*M, I);
    return Instances.back();
  }

private:
  std::deque<CodeInstance> Instances;
};

} // namespace proteus

#endif // MNEME_PROTEUS_CPPJITMODULE_H
