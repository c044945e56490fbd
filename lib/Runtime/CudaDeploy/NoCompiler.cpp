//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For runtimes that compile nothing.
///
//===----------------------------------------------------------------------===//

#include "LaunchCompiler.h"

using namespace mneme;

LaunchCompiler *mneme::startCompiler() { return nullptr; }

void *mneme::findCompilerFunction(const char *) { return nullptr; }
