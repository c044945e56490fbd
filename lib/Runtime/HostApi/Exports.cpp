//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Defines the public names of the functions in Functions.def, for programs
/// that link the shared runtime, and a lookup by name for the slots of all
/// instrumented programs.
///
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "JitEntries.h"

#include <algorithm>
#include <iterator>
#include <string_view>

using namespace mneme;

#ifndef __x86_64__
#error "the runtime's entry points are written for x86-64"
#endif

// A jump instead of an alias, which would have to be in the file of its target.
// The target is hidden, so that no other library can interpose it.
#define ALIAS(Name, Target)                                                    \
  asm(".text\n"                                                                \
      ".globl " #Name "\n"                                                     \
      ".type " #Name ",@function\n" #Name ":\n"                                \
      "  jmp rt_" #Target "\n"                                                 \
      ".size " #Name ", .-" #Name "\n");
#include "Functions.def"

#define ALIAS(Name, Target) extern "C" void rt_##Target();
#include "Functions.def"

extern "C" void __mneme_annotate();
extern "C" void __mneme_register_ir();

namespace {
struct Function {
  std::string_view Name;
  void (*Address)();
};
} // namespace

static bool isBefore(const Function &A, const Function &B) {
  return A.Name < B.Name;
}

void *mneme::lookupFunction(const char *Name) {
  static Function Table[] = {
#define ALIAS(Name, Target) {#Name, rt_##Target},
#include "Functions.def"
      {"__mneme_annotate", __mneme_annotate},
      {"__mneme_register_ir", __mneme_register_ir},
  };
  static const bool IsSorted =
      (std::sort(std::begin(Table), std::end(Table), isBefore), true);
  (void)IsSorted;
  auto I = std::lower_bound(std::begin(Table), std::end(Table),
                            Function{Name, nullptr}, isBefore);
  if (I != std::end(Table) && I->Name == Name)
    return reinterpret_cast<void *>(I->Address);
  void *Region = findRegionFunction(Name);
  return Region ? Region : findJitFunction(Name);
}
