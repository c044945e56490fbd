//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MLIR's opt for studies: checks, simplifies and prints them.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Dialect/Mneme.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::DialectRegistry Registry;
  Registry.insert<mlir::arith::ArithDialect, mlir::mneme::MnemeDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Mneme's studies\n", Registry));
}
