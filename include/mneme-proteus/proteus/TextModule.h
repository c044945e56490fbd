//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the modules of Proteus have in common, by mneme/jit_module.h. Errors
/// end the program, as with Proteus.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_PROTEUS_TEXTMODULE_H
#define MNEME_PROTEUS_TEXTMODULE_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mneme/jit_module.h>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using LaunchDims = mneme::jit_dims;

namespace proteus {

[[noreturn]] inline void reportFatalError(const std::string &Reason) {
  std::fflush(stdout);
  std::fprintf(stderr, "mneme: error: %s\n", Reason.c_str());
  std::abort();
}

enum class TargetModelType { HOST, CUDA, HIP, HOST_HIP, HOST_CUDA };

inline TargetModelType parseTargetModel(const std::string &Target) {
  if (Target == "host")
    return TargetModelType::HOST;
  if (Target == "cuda")
    return TargetModelType::CUDA;
  if (Target == "host_cuda")
    return TargetModelType::HOST_CUDA;
  if (Target == "hip")
    return TargetModelType::HIP;
  if (Target == "host_hip")
    return TargetModelType::HOST_HIP;
  reportFatalError("unknown target '" + Target +
                   "': expected 'host', 'cuda', 'host_cuda', 'hip' or "
                   "'host_hip'");
}

inline bool isHostTargetModel(TargetModelType T) {
  return T != TargetModelType::CUDA && T != TargetModelType::HIP;
}

enum class JitFuncAttribute { MaxDynamicSharedMemorySize };

using DispatchResult = mneme::jit_result;

namespace detail {
inline mneme::jit_target toTarget(TargetModelType T) {
  switch (T) {
  case TargetModelType::HOST:
    return mneme::jit_target::host;
  case TargetModelType::CUDA:
    return mneme::jit_target::cuda;
  case TargetModelType::HOST_CUDA:
    return mneme::jit_target::host_cuda;
  case TargetModelType::HIP:
    return mneme::jit_target::hip;
  case TargetModelType::HOST_HIP:
    return mneme::jit_target::host_hip;
  }
  return mneme::jit_target::host;
}

inline int toCuda(JitFuncAttribute) {
  return 8; // cudaFuncAttributeMaxDynamicSharedMemorySize
}
} // namespace detail

/// A module of text in one of the languages.
class TextModule {
public:
  TextModule(TargetModelType Target, const std::string &Code,
             mneme::jit_language Language,
             const std::vector<std::string> &Options = {},
             mneme::jit_compiler Compiler = mneme::jit_compiler::clang)
      : Target(Target),
        M(std::make_unique<mneme::jit_module>(detail::toTarget(Target), Code,
                                              Options, Language, Compiler)) {}

  void compile(bool = false) {
    if (!M->compile())
      reportFatalError(M->error());
  }
  TargetModelType getTargetModel() const { return Target; }

  template <typename Sig> class FunctionHandle;
  template <typename R, typename... A> class FunctionHandle<R(A...)> {
  public:
    explicit FunctionHandle(mneme::jit_function<R(A...)> F) : F(F) {}
    R run(A... Args) { return F(std::forward<A>(Args)...); }

  private:
    mneme::jit_function<R(A...)> F;
  };

  template <typename Sig> class KernelHandle;
  template <typename... A> class KernelHandle<void(A...)> {
  public:
    explicit KernelHandle(mneme::jit_kernel<void(A...)> K) : K(K) {}
    void setFuncAttribute(JitFuncAttribute Name, int Value) {
      if (int E = K.set_attribute(detail::toCuda(Name), Value))
        reportFatalError("cannot set an attribute of a kernel: error " +
                         std::to_string(E));
    }
    DispatchResult launch(LaunchDims Grid, LaunchDims Block,
                          uint64_t SharedBytes, void *Stream, A... Args) {
      return K.launch(Grid, Block, SharedBytes, Stream, Args...);
    }

  private:
    mneme::jit_kernel<void(A...)> K;
  };

  template <typename Sig>
  FunctionHandle<Sig> getFunction(const std::string &N) {
    if (!isHostTargetModel(Target))
      reportFatalError("getFunction() applies only to host modules");
    auto F = M->function<Sig>(N);
    if (!F)
      reportFatalError(M->error());
    return FunctionHandle<Sig>(F);
  }
  template <typename Sig> KernelHandle<Sig> getKernel(const std::string &N) {
    if (Target == TargetModelType::HOST)
      reportFatalError("getKernel() applies only to device modules");
    auto K = M->kernel<Sig>(N);
    if (!K)
      reportFatalError(M->error());
    return KernelHandle<Sig>(K);
  }

protected:
  TargetModelType Target;
  std::unique_ptr<mneme::jit_module> M;
};

} // namespace proteus

#endif // MNEME_PROTEUS_TEXTMODULE_H
