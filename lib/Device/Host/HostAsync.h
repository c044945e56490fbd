//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lowering of asynchronous copies and mbarrier objects to calls of the
/// executor, from intrinsics and from inline PTX.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_HOST_HOSTASYNC_H
#define LLVM_MNEME_LIB_DEVICE_HOST_HOSTASYNC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"
#include <optional>

namespace llvm {
namespace mneme {
namespace host {

/// cp.async: \p Read bytes of \p Size are copied, the others become 0. A null
/// \p Read copies all.
void createAsyncCopy(IRBuilderBase &B, Value *To, Value *From, Value *Size,
                     Value *Read = nullptr);
/// cp.async.bulk to shared memory, which \p Barrier tracks. \p Blocks: a mask
/// of ranks, whose blocks get a copy each at the same place, and have the
/// barrier there; null: the block of \p To alone.
void createBulkLoad(IRBuilderBase &B, Value *To, Value *From, Value *Size,
                    Value *Barrier, Value *Blocks = nullptr);
/// cp.async.bulk to global memory.
void createBulkStore(IRBuilderBase &B, Value *To, Value *From, Value *Size);
void createAsyncCommit(IRBuilderBase &B, bool IsBulk);
/// Waits for all but the latest \p Pending groups.
void createAsyncWait(IRBuilderBase &B, bool IsBulk, Value *Pending);
/// cp.async.mbarrier.arrive. \p IsExpected: noinc.
void createAsyncArrive(IRBuilderBase &B, Value *Barrier, bool IsExpected);

/// An operation on an mbarrier object.
struct BarrierOperation {
  enum KindTy { Init, Inval, Arrive, Expect, Complete, Pending, Test };
  KindTy Kind = Init;
  bool Drops = false;    ///< Arrive.
  bool Expects = false;  ///< Arrive: the operand is a number of bytes.
  bool IsParity = false; ///< Test.

  bool hasResult() const { return Kind >= Pending || Kind == Arrive; }
};

/// Parses the parts after "mbarrier" of an opcode or an intrinsic's name, whose
/// words are divided by dots. \returns std::nullopt for unknown ones.
std::optional<BarrierOperation> parseBarrier(ArrayRef<StringRef> Parts);

/// Emits \p O for the object at \p Barrier (the state for Pending). \p Operand:
/// a count, a number of bytes, a state or a parity; null if there is none.
/// \returns the result: i64 for Arrive, i32 for Pending, i1 for Test.
Value *createBarrier(IRBuilderBase &B, const BarrierOperation &O,
                     Value *Barrier, Value *Operand);

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_HOSTASYNC_H
