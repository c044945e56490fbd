//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The MLIR dialect of studies. To read and write studies without a dependency
/// on MLIR headers, include Import.h.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DIALECT_MNEME_H
#define LLVM_MNEME_DIALECT_MNEME_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/Mneme/Dialect/MnemeDialect.h.inc"
#include "llvm/Mneme/Dialect/MnemeEnums.h.inc"
#include "llvm/Mneme/Dialect/MnemeInterfaces.h.inc"
#define GET_TYPEDEF_CLASSES
#include "llvm/Mneme/Dialect/MnemeTypes.h.inc"
#define GET_OP_CLASSES
#include "llvm/Mneme/Dialect/MnemeOps.h.inc"

#endif // LLVM_MNEME_DIALECT_MNEME_H
