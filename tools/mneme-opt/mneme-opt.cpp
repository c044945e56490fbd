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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Mneme/Dialect/Mneme.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/WithColor.h"
#include <unistd.h>

static constexpr llvm::mneme::CommandHelp Help[] = {
    {"",
     "llvm-mneme-tune rec --preset=launch --print-study > launch.mlir\n"
     "mneme-opt launch.mlir\n"
     "mneme-opt launch.mlir --canonicalize -o simple.mlir\n",
     "0    the study is valid\n"
     "1    error\n"}};

int main(int argc, char **argv) {
  llvm::mneme::addCommandHelp(Help, argc, argv);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::DialectRegistry Registry;
  Registry.insert<mlir::arith::ArithDialect, mlir::mneme::MnemeDialect>();
  auto [Input, Output] = mlir::registerAndParseCLIOptions(
      argc, argv, "Mneme's studies\n", Registry);
  // MLIR would wait for the other end of a FIFO, and read from a device without
  // end.
  if (Input != "-") {
    llvm::Expected<int> FD =
        llvm::mneme::openToRead(Input, llvm::mneme::MaxTextFile);
    if (!FD) {
      llvm::WithColor::error(llvm::errs(), "mneme-opt")
          << toString(FD.takeError()) << '\n';
      return 1;
    }
    ::close(*FD);
  }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, Input, Output, Registry));
}
