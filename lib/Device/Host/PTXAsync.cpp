//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asynchronous copies and mbarrier objects.
//
//===----------------------------------------------------------------------===//

#include "HostAsync.h"
#include "PTXTranslator.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;
using namespace llvm::mneme::ptx;

/// {commit_group, wait_group, wait_all} of cp.async and cp.async.bulk.
void Translator::lowerAsyncGroup(bool IsBulk) {
  bool WaitsForAll = has("wait_all");
  if (has("commit_group") || WaitsForAll)
    createAsyncCommit(B, IsBulk);
  if (!has("commit_group"))
    createAsyncWait(B, IsBulk,
                    WaitsForAll ? B.getInt32(0) : read(0, B.getInt32Ty()));
}

void Translator::lowerBulkCopy() {
  if (has("tensor") || has("cp_mask")) {
    Failed = true;
    return;
  }
  if (has("prefetch"))
    return;
  bool IsStore = has("bulk_group");
  bool IsMulticast = has("multicast");
  if (S->Operands.size() != (IsStore ? 3u : 4u + IsMulticast)) {
    Failed = true;
    return;
  }
  Value *To = address(0), *From = address(1), *Size = read(2, B.getInt32Ty());
  if (IsStore)
    createBulkStore(B, To, From, Size);
  else
    createBulkLoad(B, To, From, Size, address(3),
                   IsMulticast ? read(4, B.getInt16Ty()) : nullptr);
}

void Translator::lowerAsyncCopy() {
  if (!has("async") || has("reduce")) {
    Failed = true;
    return;
  }
  if (has("commit_group") || has("wait_group") || has("wait_all"))
    return lowerAsyncGroup(has("bulk"));
  if (has("mbarrier"))
    return createAsyncArrive(B, address(0), has("noinc"));
  if (has("bulk"))
    return lowerBulkCopy();
  // An immediate operand of the asm is an argument here.
  const Operand *Size = operand(2);
  if (!Size || S->Operands.size() > 4 ||
      (Size->Kind == Operand::Integer &&
       !is_contained({4, 8, 16}, Size->Bits))) {
    Failed = true;
    return;
  }
  Type *I32 = B.getInt32Ty();
  Value *Bytes = read(2, I32), *Read = nullptr;
  if (S->Operands.size() == 4) {
    // A predicate ignores the source; a number is the bytes to read.
    const Operand &Last = S->Operands[3];
    AllocaInst *Register = Variables.lookup(Last.Text);
    Read = Register && Register->getAllocatedType()->isIntegerTy(1)
               ? B.CreateSelect(read(3, B.getInt1Ty()), B.getInt32(0), Bytes)
               : read(3, I32);
  }
  createAsyncCopy(B, address(0), address(1), Bytes, Read);
}

/// Cache policies have no effect here.
void Translator::lowerPolicy() { write(B.getInt64(0)); }

void Translator::lowerBarrierObject() {
  std::optional<BarrierOperation> O =
      parseBarrier(ArrayRef(S->Opcode).drop_front());
  if (!O) {
    Failed = true;
    return;
  }
  unsigned Next = O->hasResult();
  Type *I64 = B.getInt64Ty();
  Value *Object =
      O->Kind == BarrierOperation::Pending ? read(Next, I64) : address(Next);
  Value *Operand =
      S->Operands.size() > Next + 1
          ? read(Next + 1,
                 O->Kind == BarrierOperation::Test ? I64 : B.getInt32Ty())
          : nullptr;
  bool NeedsOperand = O->Kind == BarrierOperation::Init || O->Expects ||
                      O->Kind == BarrierOperation::Expect ||
                      O->Kind == BarrierOperation::Complete ||
                      O->Kind == BarrierOperation::Test;
  Failed |= NeedsOperand && !Operand;
  if (Failed)
    return;
  Value *R = createBarrier(B, *O, Object, Operand);
  if (O->hasResult())
    write(R);
}
