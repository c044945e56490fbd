//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace llvm;
using namespace llvm::mneme;

SmallVector<char, 0> mneme::writeExactBitcode(const Module &M) {
  SmallVector<char, 0> Buffer;
  // Omit the symbol table: writeSymtab() writes one only if the target is
  // registered, so the bytes would differ between processes.
  BitcodeWriter Writer(Buffer);
  Writer.writeModule(M, /*ShouldPreserveUseListOrder=*/true);
  Writer.writeStrtab();
  return Buffer;
}

std::unique_ptr<Module> mneme::readExactBitcode(ArrayRef<char> Bitcode,
                                                StringRef Identifier,
                                                LLVMContext &Context) {
  return cantFail(parseBitcodeFile(
      MemoryBufferRef(StringRef(Bitcode.data(), Bitcode.size()), Identifier),
      Context));
}

std::unique_ptr<Module> mneme::copyModule(const Module &M,
                                          LLVMContext &Context) {
  return readExactBitcode(writeExactBitcode(M), M.getModuleIdentifier(),
                          Context);
}
