//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record list-kernels: the kernels that MnemePass embedded in
/// executables.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::ListKernelsCommand(
    "list-kernels", "List the kernels that an executable or library carries");

static cl::list<std::string>
    Files(cl::Positional, cl::OneOrMore,
          cl::desc("<executable, library, object file or archive>..."),
          cl::sub(ListKernelsCommand), cl::cat(CommandCategory));
static cl::opt<std::string>
    ExtractDir("extract",
               cl::desc("Write each module's bitcode to dir/<IR hash>.bc"),
               cl::value_desc("dir"), cl::sub(ListKernelsCommand),
               cl::cat(CommandCategory));
static cl::opt<bool> StaticHash(
    "static-hash",
    cl::desc("Link and extract each kernel as a recording does, and print "
             "its static hash, or why it cannot be recorded. Without, only the "
             "hashes that the file contains are printed"),
    cl::sub(ListKernelsCommand), cl::cat(CommandCategory));
static cl::opt<bool> KernelsJSON("json", cl::desc("Print JSON"),
                                 cl::sub(ListKernelsCommand),
                                 cl::cat(CommandCategory));

/// Returns the kernels of all \p Payloads, in order.
static std::vector<KernelHash> findCode(ArrayRef<Payload> Payloads) {
  std::vector<KernelHash> All;
  for (size_t I = 0; I != Payloads.size(); ++I) {
    Expected<std::vector<KernelHash>> Code = computeHashes(Payloads, I);
    if (Code)
      append_range(All, *Code);
    else
      All.insert(All.end(), Payloads[I].Kernels.size(),
                 {"", toString(Code.takeError())});
  }
  return All;
}

static void printKernel(const Payload &P, const PayloadKernel &K,
                        const KernelHash *Code) {
  textOuts() << "  " << printable(demangleSymbol(K.Name)) << '\n'
             << "    symbol:    " << K.Name << '\n'
             << "    arguments: ";
  if (K.Args.empty())
    textOuts() << "none";
  ListSeparator LS;
  for (const KernelArg &A : K.Args)
    textOuts() << LS << A.Size
               << (A.Kind == MNEME_ARG_POINTER ? " (pointer)" : "");
  textOuts() << "\n    target:    " << P.Arch << " (" << P.Triple << ")\n"
             << "    source:    " << P.Source << ", -O" << P.OptLevel
             << (P.IsRDC ? ", relocatable" : "") << '\n'
             << "    IR hash:   " << P.Hash << '\n';
  if (Code && Code->Problem.empty())
    textOuts() << "    static:    " << Code->StaticHash << '\n';
  else if (Code)
    textOuts() << "    static:    none, " << Code->Problem << '\n';
  else if (!K.StaticHash.empty())
    textOuts() << "    static:    " << K.StaticHash << '\n';
}

static json::Value makeJSON(StringRef File, const Payload &P,
                            const PayloadKernel &K, const KernelHash *Code) {
  static constexpr StringLiteral Kinds[] = {"value", "pointer", "aggregate"};
  json::Array Args;
  for (const KernelArg &A : K.Args)
    Args.push_back(json::Object{
        {"Size", A.Size}, {"Offset", A.Offset}, {"Kind", Kinds[A.Kind]}});
  json::Object O{{"File", json::fixUTF8(File)},
                 {"KernelName", json::fixUTF8(K.Name)},
                 {"DemangledName", json::fixUTF8(demangleSymbol(K.Name))},
                 {"Args", std::move(Args)},
                 {"Triple", json::fixUTF8(P.Triple)},
                 {"Arch", json::fixUTF8(P.Arch)},
                 {"OptLevel", std::string(1, P.OptLevel)},
                 {"RDC", P.IsRDC},
                 {"Source", json::fixUTF8(P.Source)},
                 {"IRHash", P.Hash}};
  if (Code && Code->Problem.empty())
    O["StaticHash"] = Code->StaticHash;
  else if (Code)
    O["Problem"] = json::fixUTF8(Code->Problem);
  else if (!K.StaticHash.empty())
    O["StaticHash"] = K.StaticHash;
  return O;
}

static Error extract(const Payload &P) {
  if (P.IsSlim)
    return createStringError("'" + P.Source + "' " + SlimProblem);
  SmallString<128> Path(ExtractDir);
  sys::path::append(Path, P.Hash + ".bc");
  return writeFileAtomically(Path, P.Bitcode);
}

Expected<int> mneme::runListKernels(ToolArgs) {
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
    if (!KernelsJSON)
      textOuts() << File << ": " << formatCount(Count, "kernel") << '\n';
    std::vector<KernelHash> Code;
    if (StaticHash)
      Code = findCode(*Payloads);
    const KernelHash *Next = StaticHash ? Code.data() : nullptr;
    for (const Payload &P : *Payloads) {
      for (const PayloadKernel &K : P.Kernels) {
        if (KernelsJSON)
          All.push_back(makeJSON(File, P, K, Next));
        else
          printKernel(P, K, Next);
        if (Next)
          ++Next;
      }
      if (!ExtractDir.empty())
        if (Error E = extract(P))
          return std::move(E);
    }
  }
  if (KernelsJSON)
    jsonOuts() << formatv("{0:2}\n", json::Value(std::move(All)));
  return ExitCode;
}
