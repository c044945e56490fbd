//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-specialize: specializes IR for a single launch.
///
///   mneme-specialize<kernel=NAME;arg0=0x2a;block=256x1x1;grid=16x1x1;range;
///                    no-constants;max-threads=256;min-blocks=2;
///                    value1@8=2a000000;pointee2=0000803f>
///
/// argN is the value of argument N as an integer: the bits of an integer, a
/// floating-point number or a pointer. block and grid replace reads of the
/// launch dimensions (unless no-constants); with range, they also give the
/// range of thread and block indices. max-threads and min-blocks set launch
/// bounds. valueN@O gives bytes of argument N from offset O on: of a scalar of
/// any size (all of them), or of the memory of an argument that is passed by
/// value. pointeeN@O gives bytes behind pointer argument N, from offset O on,
/// which do not change while the code runs: they replace loads. All parameters
/// are optional.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_SPECIALIZE_H
#define LLVM_MNEME_TRANSFORMS_SPECIALIZE_H

#include "llvm/IR/PassManager.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class PassBuilder;
namespace mneme {

/// Bytes that are known.
struct KnownBytes {
  enum Place { Value, Pointee };
  Place Where = Value;
  unsigned Arg = 0;
  uint64_t Offset = 0;
  std::string Bytes;
};

struct SpecializeOptions {
  /// Empty: every kernel of the module. May also be a function that is no
  /// kernel.
  std::string Kernel;
  /// Values by position, zero-extended bits.
  std::map<unsigned, uint64_t> Args;
  std::vector<KnownBytes> Known;
  std::optional<Dim3> Block, Grid;
  /// Replace reads of Block and Grid.
  bool Constants = true;
  /// Set the ranges of indices that Block and Grid imply.
  bool Ranges = false;
  /// Threads per block that the code must support; 0: unchanged.
  uint32_t MaxThreads = 0;
  /// Minimum number of resident blocks per multiprocessor (CUDA) or waves per
  /// execution unit (AMDGPU); 0: unchanged.
  uint32_t MinBlocks = 0;

  bool empty() const {
    return Args.empty() && Known.empty() && !Block && !Grid && !MaxThreads &&
           !MinBlocks;
  }
};

/// Parses the text between the angle brackets.
Expected<SpecializeOptions> parseSpecializeOptions(StringRef Text);

/// Replaces dimensions in the whole module if it contains a single kernel (as
/// extractKernel leaves it), otherwise only in the kernel's body: the launch of
/// a function shared by several kernels is unknown.
class SpecializePass : public PassInfoMixin<SpecializePass> {
public:
  explicit SpecializePass(SpecializeOptions Options)
      : Options(std::move(Options)) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  SpecializeOptions Options;
};

/// Has the pipelines of \p PB replace further loads of known bytes
/// (KnownBytes::Pointee), whose addresses are constant only after some
/// optimizations. \p O has to outlive the run.
void registerKnownLoads(PassBuilder &PB, const SpecializeOptions &O);

/// Registers "mneme-specialize" in \p PB.
void registerSpecializePass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_SPECIALIZE_H
