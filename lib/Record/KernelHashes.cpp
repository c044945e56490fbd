//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace llvm::mneme;

static Expected<std::string> computeHash(const DeviceLink &Link, size_t Unit,
                                         StringRef Kernel) {
  Expected<std::unique_ptr<Module>> M = Link.extract(Unit, Kernel);
  if (!M)
    return M.takeError();
  if (Link.units()[Unit].IsRDC)
    if (Error E = checkComplete(**M))
      return std::move(E);
  return computeStaticHash(**M);
}

/// Returns the hashes of all kernels of a unit that is linked alone.
static Expected<std::vector<std::string>>
hashTogether(const Payload &P, ArrayRef<std::string> Kernels,
             LLVMContext &Context) {
  if (P.IsRDC)
    return createStringError("the kernels need other units");
  Expected<std::unique_ptr<Module>> M = parsePayloadModule(P, Context);
  if (!M)
    return M.takeError();
  return computeStaticHashes(std::move(*M), Kernels);
}

/// Runs in a child process. Returns, as JSON, the static hash of each kernel of
/// unit \p Unit, or an object with the reason if a kernel has none.
static Expected<std::string> hashUnit(std::vector<Payload> Units, size_t Unit) {
  LLVMContext Context;
  Expected<DeviceLink> Link = DeviceLink::create(std::move(Units), Context);
  if (!Link)
    return Link.takeError();
  const Payload &P = Link->units()[Unit];
  std::vector<std::string> Names;
  for (const PayloadKernel &K : P.Kernels)
    Names.push_back(K.Name);
  json::Array Hashes;
  auto Add = [&](Expected<std::string> Hash) {
    if (Hash)
      Hashes.push_back(*Hash);
    else
      Hashes.push_back(
          json::Object{{"problem", json::fixUTF8(toString(Hash.takeError()))}});
  };
  // All at once if possible, which takes less time.
  Expected<std::vector<std::string>> All = hashTogether(P, Names, Context);
  if (!All)
    consumeError(All.takeError());
  for (auto [I, Name] : enumerate(Names))
    Add(All ? Expected<std::string>((*All)[I])
            : computeHash(*Link, Unit, Name));
  return formatv("{0}", json::Value(std::move(Hashes))).str();
}

Expected<std::vector<KernelHash>>
mneme::computeHashes(ArrayRef<Payload> Payloads, size_t Index) {
  if (const Payload &P = Payloads[Index]; P.IsSlim) {
    std::vector<KernelHash> Known;
    for (const PayloadKernel &K : P.Kernels)
      Known.push_back(
          {K.StaticHash, K.StaticHash.empty()
                             ? "'" + P.Source + "' " + SlimProblem.str()
                             : ""});
    return Known;
  }
  size_t Unit = 0;
  std::vector<Payload> Units = selectUnits(Payloads, Index, Unit);
  uint64_t Bytes = 0;
  for (const Payload &P : Units)
    Bytes += P.Bitcode.size();
  // Each kernel is extracted from a module that is parsed for it.
  double Seconds = DefaultIRSeconds * (1 + Payloads[Index].Kernels.size());
  Expected<std::string> Text =
      runInChild("damaged device code: its reader",
                 [&] { return hashUnit(std::move(Units), Unit); },
                 {Seconds, getIRMemoryLimit(Bytes)});
  if (!Text)
    return Text.takeError();
  Expected<json::Value> Hashes = json::parse(*Text);
  if (!Hashes)
    return Hashes.takeError();
  std::vector<KernelHash> Code;
  for (const json::Value &V : *Hashes->getAsArray())
    if (const json::Object *O = V.getAsObject())
      Code.push_back({"", O->getString("problem")->str()});
    else
      Code.push_back({V.getAsString()->str(), ""});
  return Code;
}

std::string mneme::computeLinkHash(ArrayRef<Payload> Units) {
  if (Units.size() == 1)
    return Units.front().Hash;
  std::string Hashes;
  for (const Payload &P : Units)
    Hashes += toStringRef(*parseDigest128(P.Hash));
  return toHexString(digest128(Hashes));
}
