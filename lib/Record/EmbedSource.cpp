//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of EmbeddedSource.h that MnemePass needs: without readers of object
/// files.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Record/EmbeddedSource.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::mneme;

Expected<std::string> mneme::makeSourceRecord(const EmbeddedSource &Unit) {
  if (!compression::zstd::isAvailable())
    return createStringError("this LLVM has no zstd, which MNEME_SOURCE needs");
  json::Object Head{{"input", json::fixUTF8(Unit.Input)},
                    {"words", json::Array(Unit.Words)}};
  std::string Plain =
      formatv("{0}\n", json::Value(std::move(Head))).str() + Unit.Rewritten;
  SmallVector<uint8_t, 0> Stored;
  compression::zstd::compress(arrayRefFromStringRef(Plain), Stored);
  uint64_t Sizes[] = {alignTo(SourceHeaderSize + Stored.size(), 8),
                      Stored.size(), Plain.size()};
  std::string Bytes = SourceMagic.str();
  for (uint64_t Size : Sizes) {
    char Raw[sizeof(Size)];
    support::endian::write64le(Raw, Size);
    Bytes.append(Raw, sizeof(Raw));
  }
  Bytes += toStringRef(Stored);
  Bytes.resize(Sizes[0]);
  return Bytes;
}

std::vector<std::string> mneme::dropOutputs(ArrayRef<std::string> Words) {
  constexpr StringLiteral Actions[] = {
      "-S",         "-E",        "-emit-obj",    "-emit-llvm-bc",
      "-emit-llvm", "-emit-pch", "-fsyntax-only"};
  constexpr StringLiteral Outputs[] = {
      "-o",  "-dependency-file",           "-MT",
      "-MQ", "-serialize-diagnostic-file", "-opt-record-file"};
  std::vector<std::string> Kept;
  for (size_t I = 0; I + 1 < Words.size(); ++I)
    if (is_contained(Outputs, Words[I]))
      ++I;
    else if (!is_contained(Actions, Words[I]))
      Kept.push_back(Words[I]);
  return Kept;
}
