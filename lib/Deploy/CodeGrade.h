//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is known about a kernel that was not made from the recorded IR by
/// passes: another version of its source, or other IR.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEPLOY_CODEGRADE_H
#define LLVM_MNEME_LIB_DEPLOY_CODEGRADE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <set>
#include <string>

namespace llvm {
class Module;
namespace mneme {

/// Returns true if two modules differ in nothing but hints to the optimizer:
/// unrolling, widths of vectors, inlining, launch bounds. Drops the hints of
/// both.
bool differInHintsOnly(Module &A, Module &B);

/// What a kernel does with memory, as far as guards on its arguments depend on
/// it.
struct MemoryUse {
  /// It loads pointers from memory, or addresses as integers: to which buffers
  /// they point cannot be told from its arguments.
  bool LoadsPointers = false;
  /// The address of a variable is more to it than a place in memory.
  bool ComputesWithVariables = false;
  /// Arguments with a use, those whose memory it may write, and pointers whose
  /// address is more to it than a place in memory.
  std::set<unsigned> Used, Written, Numbers;
  /// Offsets of the pointers in each structure that is passed by value.
  std::map<unsigned, std::set<unsigned>> Members;
  /// Offsets of the bytes that it reads of each structure that is passed by
  /// value; all bytes of one that is missing. Padding has any contents.
  std::map<unsigned, std::set<unsigned>> Read;
  /// The application's variables that it uses, with their sizes; 0 for those
  /// that are local to a file.
  std::map<std::string, uint64_t> Variables;
  /// What else no guard compares: "it ..."; may be empty.
  std::string Unguarded;

  /// Adds the use by other code with the same arguments.
  void add(const MemoryUse &Other);
};

/// Transforms the module.
MemoryUse findMemoryUse(Module &M, StringRef Kernel);

/// For another process.
std::string toText(const MemoryUse &U);
Expected<MemoryUse> parseMemoryUse(StringRef Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEPLOY_CODEGRADE_H
