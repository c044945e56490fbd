//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces OffloadBackend.cpp if the header of liboffload is missing.
//
//===----------------------------------------------------------------------===//

#include "OffloadBackend.h"

using namespace llvm;
using namespace llvm::mneme;

bool llvm::mneme::hasOffload() { return false; }

Expected<std::unique_ptr<GPUBackend>>
llvm::mneme::createOffloadBackend(const CudaDriver &, unsigned) {
  return createStringError("this build has no liboffload");
}
