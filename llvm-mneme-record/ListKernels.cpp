//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record list-kernels: what MnemePass left in executables.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::ListKernelsCommand(
    "list-kernels", "List the kernels that an executable or library carries");

static cl::list<std::string>
    Files(cl::Positional, cl::OneOrMore,
          cl::desc("<executable, library, object file or archive>..."),
          cl::sub(ListKernelsCommand), cl::cat(RecordCategory));
static cl::opt<std::string>
    ExtractDir("extract",
               cl::desc("Write each module's bitcode to dir/<IR hash>.bc"),
               cl::value_desc("dir"), cl::sub(ListKernelsCommand),
               cl::cat(RecordCategory));
static cl::opt<bool> PrintJSON("json", cl::desc("Print JSON"),
                               cl::sub(ListKernelsCommand),
                               cl::cat(RecordCategory));

static void printKernel(const Payload &P, const PayloadKernel &K) {
  outs() << "  " << demangle(K.Name) << '\n'
         << "    symbol:    " << K.Name << '\n'
         << "    arguments: ";
  if (K.Args.empty())
    outs() << "none";
  ListSeparator LS;
  for (const KernelArg &A : K.Args)
    outs() << LS << A.Size << (A.Kind == MNEME_ARG_POINTER ? " (pointer)" : "");
  outs() << "\n    target:    " << P.Arch << " (" << P.Triple << ")\n"
         << "    source:    " << P.Source << ", -O" << P.OptLevel
         << (P.IsRDC ? ", relocatable" : "") << '\n'
         << "    IR hash:   " << P.Hash << '\n';
}

static json::Value makeJSON(StringRef File, const Payload &P,
                            const PayloadKernel &K) {
  static constexpr StringLiteral Kinds[] = {"value", "pointer", "aggregate"};
  json::Array Args;
  for (const KernelArg &A : K.Args)
    Args.push_back(json::Object{
        {"Size", A.Size}, {"Offset", A.Offset}, {"Kind", Kinds[A.Kind]}});
  return json::Object{{"File", json::fixUTF8(File)},
                      {"KernelName", json::fixUTF8(K.Name)},
                      {"DemangledName", json::fixUTF8(demangle(K.Name))},
                      {"Args", std::move(Args)},
                      {"Triple", json::fixUTF8(P.Triple)},
                      {"Arch", json::fixUTF8(P.Arch)},
                      {"OptLevel", std::string(1, P.OptLevel)},
                      {"RDC", P.IsRDC},
                      {"Source", json::fixUTF8(P.Source)},
                      {"IRHash", P.Hash}};
}

static Error extract(const Payload &P) {
  SmallString<128> Path(ExtractDir);
  sys::path::append(Path, P.Hash + ".bc");
  return writeFileAtomically(Path, P.Bitcode);
}

Expected<int> mneme::runListKernels() {
  if (!ExtractDir.empty())
    if (std::error_code EC = sys::fs::create_directories(ExtractDir))
      return createFileError(ExtractDir, EC);
  int ExitCode = 0;
  json::Array All;
  for (const std::string &File : Files) {
    Expected<std::vector<Payload>> Payloads = readPayloads(File);
    if (!Payloads) {
      printError(Payloads.takeError());
      ExitCode = 1;
      continue;
    }
    size_t Count = 0;
    for (const Payload &P : *Payloads)
      Count += P.Kernels.size();
    if (!PrintJSON)
      outs() << File << ": " << Count << (Count == 1 ? " kernel" : " kernels")
             << '\n';
    for (const Payload &P : *Payloads) {
      for (const PayloadKernel &K : P.Kernels)
        if (PrintJSON)
          All.push_back(makeJSON(File, P, K));
        else
          printKernel(P, K);
      if (!ExtractDir.empty())
        if (Error E = extract(P))
          return std::move(E);
    }
  }
  if (PrintJSON)
    outs() << formatv("{0:2}\n", json::Value(std::move(All)));
  return ExitCode;
}
