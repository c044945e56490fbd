//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand &mneme::getShowCommand() {
  static cl::SubCommand Command("show", "Show the kernels of a package");
  return Command;
}

static cl::opt<std::string> ShowInput(cl::Positional, cl::Required,
                                      cl::desc("<package>"),
                                      cl::sub(getShowCommand()),
                                      cl::cat(CommandCategory));
static FormatOption ShowFormat(getShowCommand());

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static StringRef getWhat(const MnemePackageGuard &G) {
  static constexpr StringLiteral Names[] = {
      "argument",  "grid",      "block",       "shared_mem", "cooperative",
      "device",    "variable",  "before",      "behind",     "same_buffer",
      "alignment", "own_pages", "in_variable", "cluster"};
  return Names[G.What - MNEME_GUARD_ARG];
}

static StringRef getTest(const MnemePackageGuard &G) {
  static constexpr StringLiteral Names[] = {"range", "signed", "multiple",
                                            "equal"};
  return Names[G.Test - MNEME_TEST_RANGE];
}

static StringRef getRule(const MnemePackageVariant &V) {
  static constexpr StringLiteral Names[] = {"same", "cover", "fixed"};
  return Names[V.Launch];
}

/// Returns the provenance; null if it is not a JSON object.
static json::Value getProvenance(const PackagedVariant &V) {
  Expected<json::Value> P = parseJSON(V.Provenance);
  if (P && P->getAsObject())
    return std::move(*P);
  if (!P)
    consumeError(P.takeError());
  return nullptr;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value makeGuard(const PackagedGuard &G) {
  const MnemePackageGuard &F = G.Fields;
  json::Object O{{"what", getWhat(F)},
                 {"test", getTest(F)},
                 {"soft", (F.Flags & MNEME_GUARD_SOFT) != 0}};
  if (F.What == MNEME_GUARD_DEVICE) {
    O["device"] = json::fixUTF8(G.Name);
    return std::move(O);
  }
  if (F.What == MNEME_GUARD_VARIABLE) {
    O["variable"] = json::fixUTF8(G.Name);
    O["size"] = F.Low;
    O["slot"] = F.High == MNEME_VARIABLE_COPY ? json::Value(nullptr)
                                              : json::Value(F.High);
    return std::move(O);
  }
  O["index"] = F.Index;
  O["low"] = F.Low;
  O["high"] = F.High;
  if (mneme_guard_reads_argument(F.What))
    O["offset"] = F.Offset;
  if (F.What == MNEME_GUARD_ARG)
    O["size"] = F.Size;
  if (F.What == MNEME_GUARD_SAME_BUFFER) {
    O["other_index"] = F.Other;
    O["other_offset"] = F.Size;
  }
  return std::move(O);
}

static json::Value makeDims(const uint32_t (&Dims)[3]) {
  return json::Object{{"x", Dims[0]}, {"y", Dims[1]}, {"z", Dims[2]}};
}

static json::Value makeVariant(const PackagedVariant &V) {
  const MnemePackageVariant &F = V.Fields;
  json::Object Image{{"kind", F.ImageKind == MNEME_IMAGE_CUBIN ? "cubin"
                              : F.ImageKind == MNEME_IMAGE_OBJECT
                                  ? "object"
                                  : "code object"},
                     {"arch", json::fixUTF8(V.ArchName)},
                     {"size", F.ImageSize},
                     {"digest", toHexString(digest128(V.Image))},
                     {"entry", json::fixUTF8(V.Entry)}};
  json::Object Launch{{"rule", getRule(F)},
                      {"grade", getGradeName(F.Grade)},
                      {"block", nullptr},
                      {"grid", nullptr},
                      {"shared_mem", nullptr}};
  if (F.Launch != MNEME_LAUNCH_SAME)
    Launch["block"] = makeDims(F.Block);
  if (F.Launch == MNEME_LAUNCH_FIXED)
    Launch["grid"] = makeDims(F.Grid);
  if (F.DynamicShared != MNEME_SHARED_SAME)
    Launch["shared_mem"] = F.DynamicShared;
  json::Array Guards;
  for (const PackagedGuard &G : V.Guards)
    Guards.push_back(makeGuard(G));
  return json::Object{
      {"image", std::move(Image)},       {"launch", std::move(Launch)},
      {"max_threads", F.MaxThreads},     {"registers", F.Registers},
      {"static_shared", F.StaticShared}, {"cooperative", F.Cooperative != 0},
      {"code", getCodeName(F.Code)},     {"guards", std::move(Guards)},
      {"provenance", getProvenance(V)}};
}

static json::Value makeKernel(const PackagedKernel &K) {
  json::Array Args, Variants;
  for (const MnemePackageArg &A : K.Args)
    Args.push_back(json::Object{{"size", A.Size}, {"offset", A.Offset}});
  for (const PackagedVariant &V : K.Variants)
    Variants.push_back(makeVariant(V));
  return json::Object{{"kernel", json::fixUTF8(K.Name)},
                      {"demangled_name", json::fixUTF8(demangle(K.Name))},
                      {"static_hash", toHexString(K.StaticHash)},
                      {"args", std::move(Args)},
                      {"variants", std::move(Variants)}};
}

static json::Value makePackage(const TunedPackage &P) {
  json::Array Kernels, Links;
  for (const PackagedKernel &K : P.Kernels)
    Kernels.push_back(makeKernel(K));
  for (const LinkedKernel &L : P.Links)
    Links.push_back(json::Object{{"kernel", json::fixUTF8(L.Name)},
                                 {"link_hash", toHexString(L.LinkHash)},
                                 {"static_hash", toHexString(L.StaticHash)}});
  return json::Object{{"kernels", std::move(Kernels)},
                      {"links", std::move(Links)}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "argument 0", or "argument 0+8" for a part of a structure.
static std::string describeArgument(uint32_t Index, uint32_t Offset) {
  return "argument " + utostr(Index) + (Offset ? "+" + utostr(Offset) : "");
}

static std::string describe(const PackagedGuard &G) {
  const MnemePackageGuard &F = G.Fields;
  std::string Subject = getWhat(F).str();
  if (F.What == MNEME_GUARD_SAME_BUFFER)
    return describeArgument(F.Index, F.Offset) + " and " +
           describeArgument(F.Other, F.Size) +
           (F.Low ? " in one buffer" : " in different buffers");
  if (F.What == MNEME_GUARD_ALIGNMENT)
    return "address of " + describeArgument(F.Index, F.Offset) + " = " +
           utostr(F.Low) + " modulo " + utostr(MNEME_BUFFER_ALIGNMENT);
  if (F.What == MNEME_GUARD_OWN_PAGES)
    return describeArgument(F.Index, F.Offset) + " in pages of its own";
  if (F.What == MNEME_GUARD_IN_VARIABLE)
    return describeArgument(F.Index, F.Offset) + " not in a variable";
  if (F.What == MNEME_GUARD_DEVICE)
    return Subject + " '" + printable(G.Name) + "'";
  if (F.What == MNEME_GUARD_GRID || F.What == MNEME_GUARD_BLOCK ||
      F.What == MNEME_GUARD_CLUSTER)
    Subject += std::string(".") + "xyz"[F.Index];
  if (F.What == MNEME_GUARD_ARG)
    Subject = describeArgument(F.Index, F.Offset);
  if (F.What == MNEME_GUARD_BEFORE || F.What == MNEME_GUARD_BEHIND)
    Subject = "bytes " + Subject + " " + describeArgument(F.Index, F.Offset);
  if (F.Test == MNEME_TEST_MULTIPLE)
    return Subject + " a multiple of " + utostr(F.Low);
  bool IsSigned = F.Test == MNEME_TEST_SIGNED;
  auto Number = [&](uint64_t N) { return IsSigned ? itostr(N) : utostr(N); };
  if (F.Low == F.High)
    return Subject + " = " + Number(F.Low);
  return Subject + " = " + Number(F.Low) + " to " + Number(F.High);
}

/// Returns the guards of one kind: for a correct result, or as measured.
static std::string describeGuards(const PackagedVariant &V, bool IsSoft) {
  std::vector<std::string> Texts;
  for (const PackagedGuard &G : V.Guards)
    if (G.Fields.What != MNEME_GUARD_VARIABLE &&
        ((G.Fields.Flags & MNEME_GUARD_SOFT) != 0) == IsSoft)
      Texts.push_back(describe(G));
  return Texts.empty() ? "any launch" : join(Texts, ", ");
}

/// Returns the application's variables that a variant uses; empty if none.
static std::string describeVariables(const PackagedVariant &V) {
  std::vector<std::string> Texts;
  for (const PackagedGuard &G : V.Guards)
    if (G.Fields.What == MNEME_GUARD_VARIABLE)
      Texts.push_back(
          printable(demangle(G.Name)) +
          (G.Fields.High == MNEME_VARIABLE_COPY ? " (copied)" : ""));
  return join(Texts, ", ");
}

static std::string describeLaunch(const MnemePackageVariant &V) {
  auto Dims = [](const uint32_t (&D)[3]) {
    return formatv("{0}x{1}x{2}", D[0], D[1], D[2]).str();
  };
  std::string Text = "as the application's";
  if (V.Launch == MNEME_LAUNCH_COVER)
    Text = "blocks of " + Dims(V.Block) + ", as many as have the same threads";
  if (V.Launch == MNEME_LAUNCH_FIXED)
    Text = "blocks of " + Dims(V.Block) + ", grid of " + Dims(V.Grid);
  if (V.DynamicShared != MNEME_SHARED_SAME)
    Text += formatv(", {0} bytes of shared memory", V.DynamicShared).str();
  if (V.Grade != MNEME_GRADE_SAME)
    Text += (" (" + getGradeName(V.Grade) + ")").str();
  return Text;
}

/// Returns the number of launches that were made to test other code.
static int64_t countTests(const json::Value &Provenance) {
  const json::Object *O = Provenance.getAsObject();
  int64_t Count = 0;
  if (const json::Array *Tested = O ? O->getArray("tested") : nullptr)
    for (const json::Value &V : *Tested)
      if (const json::Object *L = V.getAsObject())
        Count += L->getInteger("launches").value_or(0);
  return Count;
}

/// Returns the memory that was as recorded in all launches that were made to
/// test other code; empty if there is none.
static std::string listUnvaried(const json::Value &Provenance) {
  std::vector<std::string> Names;
  const json::Object *O = Provenance.getAsObject();
  if (const json::Array *Tested = O ? O->getArray("tested") : nullptr)
    for (const json::Value &V : *Tested)
      if (const json::Object *L = V.getAsObject())
        if (const json::Array *Unvaried = L->getArray("unvaried"))
          for (const json::Value &I : *Unvaried)
            if (const json::Object *Input = I.getAsObject())
              Names.push_back(Input->getString("input").value_or("").str());
  llvm::sort(Names);
  Names.erase(llvm::unique(Names), Names.end());
  llvm::erase_if(Names, [](StringRef Name) {
    return Name.empty() || Name.starts_with("argument ");
  });
  return join(Names, ", ");
}

/// Returns the lowest speed-up that tests measured at the ends of the ranges of
/// scalars; empty if there are none.
static std::string describeSlowest(const json::Value &Provenance) {
  const json::Object *O = Provenance.getAsObject();
  std::optional<double> Slowest;
  if (const json::Array *Tested = O ? O->getArray("tested") : nullptr)
    for (const json::Value &V : *Tested)
      if (const json::Object *L = V.getAsObject())
        if (const json::Array *Speedup = L->getArray("speedup");
            Speedup && !Speedup->empty())
          if (std::optional<double> Value = Speedup->front().getAsNumber())
            Slowest = std::min(Slowest.value_or(*Value), *Value);
  return Slowest ? formatv(", {0:f2} times as fast at the slowest end of the "
                           "arguments' ranges",
                           *Slowest)
                       .str()
                 : "";
}

/// What the code is made from, and how far it was verified.
static std::string describeCode(const PackagedVariant &V) {
  switch (V.Fields.Code) {
  case MNEME_CODE_PROVEN:
    return "the recorded kernel's (proven)";
  case MNEME_CODE_TESTED: {
    json::Value Provenance = getProvenance(V);
    return formatv("another source (tested on {0} launches{1})",
                   countTests(Provenance), describeSlowest(Provenance));
  }
  case MNEME_CODE_VERIFIED: {
    json::Value Provenance = getProvenance(V);
    std::string Unvaried = listUnvaried(Provenance),
                Slowest = describeSlowest(Provenance);
    if (!Unvaried.empty())
      Unvaried = ", none of which changed " + Unvaried;
    return "another source (verified, for launches like the recorded one" +
           (Unvaried.empty() && Slowest.empty()
                ? ""
                : formatv("; tested on {0} launches{1}{2}",
                          countTests(Provenance), Unvaried, Slowest)
                      .str()) +
           ")";
  }
  default:
    return "another source (unproven)";
  }
}

static void printVariant(const PackagedVariant &V, unsigned Number) {
  const MnemePackageVariant &F = V.Fields;
  raw_ostream &OS = textOuts();
  OS << formatv("  variant {0}\n", Number);
  auto Line = [&](StringRef Name, const Twine &Text) {
    OS << formatv("    {0,-10} {1}\n", Name, printable(Text.str()));
  };
  std::string Registers =
      F.Registers ? formatv(", {0} registers", F.Registers).str() : "";
  Line("image",
       formatv("{0}, {1}, at most {2} threads per block{3}", V.ArchName,
               formatBytes(F.ImageSize), F.MaxThreads, Registers)
           .str());
  Line("digest", toHexString(digest128(V.Image)));
  Line("code", describeCode(V));
  Line("launch", describeLaunch(F));
  Line("correct", describeGuards(V, /*IsSoft=*/false));
  if (std::string Variables = describeVariables(V); !Variables.empty())
    Line("variables", Variables);
  json::Value P = getProvenance(V);
  const json::Object *O = P.getAsObject();
  bool IsImported = O && O->getObject("imported");
  Line("measured", IsImported ? "no: imported from a file for Proteus"
                              : describeGuards(V, /*IsSoft=*/true));
  const json::Object *Expected = O ? O->getObject("expected") : nullptr;
  if (const json::Object *S =
          Expected ? Expected->getObject("speedup") : nullptr)
    Line("speed-up",
         formatv("{0:f2} ({1:f2} to {2:f2})", S->getNumber("value").value_or(0),
                 S->getNumber("low").value_or(0),
                 S->getNumber("high").value_or(0))
             .str());
}

Expected<int> mneme::runShow(ToolArgs) {
  Expected<TunedPackage> P = readPackage(ShowInput);
  if (!P)
    return P.takeError();
  if (ShowFormat == OutputFormat::JSON) {
    jsonOuts() << formatv("{0:2}\n", makePackage(*P));
    return 0;
  }
  for (const PackagedKernel &K : P->Kernels) {
    textOuts() << printable(demangle(K.Name)) << '\n'
               << "  static hash  " << toHexString(K.StaticHash) << '\n';
    for (auto [I, V] : enumerate(K.Variants))
      printVariant(V, I + 1);
  }
  textOuts() << formatCount(P->Kernels.size(), "kernel") << '\n';
  return 0;
}
