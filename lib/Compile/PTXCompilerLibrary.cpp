//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXCompilerLibrary.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#if MNEME_HAVE_NVPTXCOMPILER
#include <nvPTXCompiler.h>
#endif

using namespace llvm;
using namespace llvm::mneme;

#if MNEME_HAVE_NVPTXCOMPILER

bool mneme::hasPTXCompilerLibrary() { return true; }

/// Reads the compiler's info or error log.
template <typename SizeFn, typename TextFn>
static std::string readLog(nvPTXCompilerHandle Compiler, SizeFn GetSize,
                           TextFn GetText) {
  size_t Size = 0;
  if (GetSize(Compiler, &Size) != NVPTXCOMPILE_SUCCESS || Size == 0)
    return "";
  // Some versions write a terminator that the size does not include.
  std::string Text(Size + 1, '\0');
  if (GetText(Compiler, Text.data()) != NVPTXCOMPILE_SUCCESS)
    return "";
  return StringRef(Text).rtrim('\0').str();
}

Expected<SmallVector<char, 0>>
mneme::runPTXCompilerLibrary(StringRef PTX, ArrayRef<std::string> Args,
                             std::string &Log) {
  nvPTXCompilerHandle Compiler;
  std::string Text = PTX.str();
  nvPTXCompileResult Result =
      nvPTXCompilerCreate(&Compiler, Text.size(), Text.c_str());
  auto Failed = [&](StringRef Said) {
    return createStringError(
        formatv("nvPTXCompiler failed: {0}",
                Said.empty() ? formatv("error {0}", int(Result)).str()
                             : Said.str())
            .str());
  };
  if (Result != NVPTXCOMPILE_SUCCESS)
    return Failed("");
  scope_exit Destroy([&] { nvPTXCompilerDestroy(&Compiler); });
  SmallVector<const char *, 16> Options;
  for (const std::string &Arg : Args)
    Options.push_back(Arg.c_str());
  Result = nvPTXCompilerCompile(Compiler, Options.size(), Options.data());
  Log = readLog(Compiler, nvPTXCompilerGetInfoLogSize,
                nvPTXCompilerGetInfoLog);
  if (Result != NVPTXCOMPILE_SUCCESS)
    return Failed(StringRef(readLog(Compiler, nvPTXCompilerGetErrorLogSize,
                                    nvPTXCompilerGetErrorLog))
                      .trim());
  size_t Size = 0;
  Result = nvPTXCompilerGetCompiledProgramSize(Compiler, &Size);
  if (Result != NVPTXCOMPILE_SUCCESS)
    return Failed("");
  SmallVector<char, 0> Cubin(Size);
  Result = nvPTXCompilerGetCompiledProgram(Compiler, Cubin.data());
  if (Result != NVPTXCOMPILE_SUCCESS)
    return Failed("");
  return Cubin;
}

#else

bool mneme::hasPTXCompilerLibrary() { return false; }

Expected<SmallVector<char, 0>>
mneme::runPTXCompilerLibrary(StringRef, ArrayRef<std::string>, std::string &) {
  llvm_unreachable("nvPTXCompiler is not built in");
}

#endif
