//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "TypedPointers.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

uint64_t mneme::getIRMemoryLimit(uint64_t Bytes) {
  return (uint64_t(1) << 30) + 256 * Bytes;
}

/// Handwritten IR often lacks a data layout, which determines the offsets of
/// arguments.
static std::optional<std::string> findDataLayout(StringRef TargetTriple,
                                                 StringRef DataLayout) {
  if (!DataLayout.empty())
    return std::nullopt;
  return Triple(TargetTriple).computeDataLayout();
}

/// \returns what bitcode or text says about the LLVM that has written it, to
/// follow an error.
static std::string findVersion(MemoryBufferRef IR) {
  Expected<std::string> Producer = getBitcodeProducerString(IR);
  if (Producer)
    return Producer->empty() || *Producer == "LLVM" LLVM_VERSION_STRING
               ? ""
               : " (written by " + *Producer + ", this is LLVM " +
                     LLVM_VERSION_STRING + ")";
  consumeError(Producer.takeError());
  StringRef Ident = IR.getBuffer();
  size_t At = Ident.find(" version ");
  bool HasIdent = Ident.contains("!llvm.ident") && At != StringRef::npos;
  if (!HasIdent)
    return "";
  StringRef Line = Ident.take_front(At).rsplit('"').second;
  StringRef Number = Ident.substr(At + 9).take_until(
      [](char C) { return C == '"' || C == ' ' || C == '\n'; });
  return " (written by " + Line.str() + " " + Number.str() + ", this is LLVM " +
         LLVM_VERSION_STRING + ")";
}

static Expected<std::unique_ptr<Module>> parse(MemoryBufferRef IR,
                                               LLVMContext &Context) {
  // The parser for textual IR needs a null terminator.
  std::unique_ptr<MemoryBuffer> Copy =
      MemoryBuffer::getMemBufferCopy(IR.getBuffer(), IR.getBufferIdentifier());
  IR = *Copy;
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M =
      parseIR(IR, Diagnostic, Context, ParserCallbacks(findDataLayout));
  // Text of earlier versions. If it is damaged as well, the first message
  // remains.
  if (!M &&
      !isBitcode(reinterpret_cast<const unsigned char *>(IR.getBufferStart()),
                 reinterpret_cast<const unsigned char *>(IR.getBufferEnd())))
    if (std::optional<std::string> Upgraded =
            upgradeTypedPointers(IR.getBuffer())) {
      SMDiagnostic Second;
      M = parseIR(MemoryBufferRef(*Upgraded, IR.getBufferIdentifier()), Second,
                  Context, ParserCallbacks(findDataLayout));
      if (!M)
        Diagnostic = Second;
    }
  if (!M) {
    std::string Version = findVersion(IR);
    std::string Where = Diagnostic.getLineNo() > 0
                            ? formatv("{0}:{1}: ", Diagnostic.getLineNo(),
                                      Diagnostic.getColumnNo() + 1)
                                  .str()
                            : "";
    return createStringError(Where + Diagnostic.getMessage() + Version);
  }
  std::string Broken;
  raw_string_ostream OS(Broken);
  if (verifyModule(*M, &OS))
    return createStringError("invalid IR: " + StringRef(Broken).rtrim());
  return std::move(M);
}

Expected<std::string>
mneme::inspectIR(MemoryBufferRef IR, double Seconds,
                 function_ref<Expected<std::string>(const Module &)> Inspect) {
  auto Work = [&]() -> Expected<std::string> {
    LLVMContext Context;
    Expected<std::unique_ptr<Module>> M = parse(IR, Context);
    if (!M)
      return M.takeError();
    return Inspect(**M);
  };
  return runInChild("damaged IR: its reader", Work,
                    {Seconds, getIRMemoryLimit(IR.getBufferSize())});
}

Expected<std::unique_ptr<Module>> mneme::readIR(MemoryBufferRef IR,
                                                double Seconds,
                                                LLVMContext &Context,
                                                SmallVector<char, 0> &Bitcode) {
  Expected<std::string> Written =
      inspectIR(IR, Seconds, [](const Module &M) -> Expected<std::string> {
        return std::string(toStringRef(writeExactBitcode(M)));
      });
  if (!Written)
    return Written.takeError();
  Bitcode.assign(Written->begin(), Written->end());
  // Not every valid module survives a round trip: the bitcode writer truncates
  // attribute names at a null character.
  Expected<std::unique_ptr<Module>> M = parseBitcodeFile(
      {toStringRef(Bitcode), IR.getBufferIdentifier()}, Context);
  if (!M)
    return createStringError("damaged IR: " + toString(M.takeError()));
  return M;
}
