//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record show: the contents of recordings in detail.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Replay/Compare.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand &mneme::getShowCommand() {
  static cl::SubCommand Command(
      "show", "Show launches: arguments, buffers and what the kernel changed");
  return Command;
}

static cl::opt<std::string> Input(cl::Positional, cl::Required,
                                  cl::desc("<folder or static hash.json>"),
                                  cl::sub(getShowCommand()),
                                  cl::cat(CommandCategory));
static cl::opt<bool> ShowJSON("json", cl::desc("Print JSON"),
                              cl::sub(getShowCommand()),
                              cl::cat(CommandCategory));

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

static std::string nameOf(const SnapshotRegion &R) {
  if (R.IsGlobal)
    return "variable '" + printable(R.Name) + "'";
  StringRef Where = R.Kind == MNEME_REGION_MANAGED   ? "managed "
                    : R.Kind == MNEME_REGION_PINNED  ? "pinned "
                    : R.Kind == MNEME_REGION_DEVICE  ? "device "
                    : R.Kind == MNEME_REGION_TEXTURE ? "texture object in "
                                                     : "";
  return (Where + "buffer " + utostr(R.Id)).str();
}

/// Returns "buffer 2 + 16" for an address of the recording; empty for others.
static std::string describeAddress(const Snapshot &S, uint64_t Address) {
  for (const SnapshotRegion &R : S.regions()) {
    // Programs pass pointers to one past the end, too.
    if (Address < R.Address || Address - R.Address > R.Size)
      continue;
    uint64_t Offset = Address - R.Address;
    if (Offset == R.Size && llvm::any_of(S.regions(), [&](const auto &Next) {
          return Next.Address == Address;
        }))
      continue;
    return nameOf(R) + (Offset ? " + " + utostr(Offset) : "");
  }
  return "";
}

template <typename T> static T readAs(StringRef Bytes) {
  return support::endian::read<T, llvm::endianness::little>(Bytes.data());
}

static std::string formatFloat(const fltSemantics &Semantics, uint64_t Bits,
                               unsigned Width) {
  SmallString<32> Text;
  APFloat(Semantics, APInt(Width, Bits)).toString(Text);
  return std::string(Text);
}

/// Formats an argument's value according to its type; otherwise its bytes.
static std::string formatValue(StringRef Type, StringRef Bytes) {
  unsigned Width;
  if (Type.starts_with("ptr") && Bytes.size() == 8)
    return formatv("{0:x}", readAs<uint64_t>(Bytes)).str();
  if (Type == "float" && Bytes.size() == 4)
    return formatFloat(APFloat::IEEEsingle(), readAs<uint32_t>(Bytes), 32);
  if (Type == "double" && Bytes.size() == 8)
    return formatFloat(APFloat::IEEEdouble(), readAs<uint64_t>(Bytes), 64);
  if (Type == "half" && Bytes.size() == 2)
    return formatFloat(APFloat::IEEEhalf(), readAs<uint16_t>(Bytes), 16);
  if (Type == "bfloat" && Bytes.size() == 2)
    return formatFloat(APFloat::BFloat(), readAs<uint16_t>(Bytes), 16);
  if (Type.consume_front("i") && !Type.getAsInteger(10, Width)) {
    switch (Bytes.size()) {
    case 1:
      return itostr(readAs<int8_t>(Bytes));
    case 2:
      return itostr(readAs<int16_t>(Bytes));
    case 4:
      return itostr(readAs<int32_t>(Bytes));
    case 8:
      return itostr(readAs<int64_t>(Bytes));
    }
  }
  static constexpr size_t MaxBytes = 64;
  std::string Text = "bytes " + toHex(Bytes.take_front(MaxBytes), true);
  if (Bytes.size() > MaxBytes)
    Text += "...";
  return Text;
}

/// Returns the pointers into recorded memory in an argument: their offsets and
/// targets.
static std::vector<std::pair<uint64_t, std::string>>
findPointers(const Snapshot &S, const KernelArg &Arg, StringRef Bytes) {
  std::vector<std::pair<uint64_t, std::string>> Pointers;
  if (Arg.Kind == MNEME_ARG_VALUE)
    return Pointers;
  for (uint64_t Offset = 0; Offset + 8 <= Bytes.size(); Offset += 8) {
    std::string Target =
        describeAddress(S, readAs<uint64_t>(Bytes.drop_front(Offset)));
    if (!Target.empty())
      Pointers.push_back({Offset, Target});
  }
  return Pointers;
}

/// Returns "abs:1e-06", as accepted by llvm-mneme-replay --tolerance.
static std::string toleranceOf(const SnapshotAnnotation &A) {
  CompareRule Rule;
  Rule.Tolerance = A.Tolerance;
  Rule.Value = A.Value;
  return getToleranceText(Rule);
}

/// Reads [\p Address, +Out.size()) of a prologue, one data range at a time to
/// limit memory use for large regions.
static Error readRange(const Snapshot &S, uint64_t Address,
                       MutableArrayRef<char> Out) {
  llvm::fill(Out, 0);
  uint64_t End = Address + Out.size();
  auto It = llvm::partition_point(S.data(), [&](const SnapshotData &D) {
    return D.Address + D.RawSize <= Address;
  });
  std::vector<char> Raw;
  for (; It != S.data().end() && It->Address < End; ++It) {
    Raw.resize(It->RawSize);
    if (Error E = S.decode(*It, Raw))
      return E;
    uint64_t First = std::max(It->Address, Address);
    uint64_t Last = std::min(It->Address + It->RawSize, End);
    std::copy(Raw.begin() + (First - It->Address),
              Raw.begin() + (Last - It->Address),
              Out.begin() + (First - Address));
  }
  return Error::success();
}

/// Returns, for each region, the number of bytes that the launch changed.
static Expected<std::vector<uint64_t>>
countChangedBytes(const Snapshot &Prologue, const Snapshot &Epilogue) {
  std::vector<uint64_t> Changed(Prologue.regions().size());
  std::vector<char> Before, After;
  size_t Index = 0;
  for (const SnapshotData &D : Epilogue.data()) {
    Before.resize(D.RawSize);
    After.resize(D.RawSize);
    if (Error E = Epilogue.decode(D, After))
      return std::move(E);
    if (Error E = readRange(Prologue, D.Address, Before))
      return std::move(E);
    while (Index < Changed.size() &&
           D.Address - Prologue.regions()[Index].Address >=
               Prologue.regions()[Index].Size)
      ++Index;
    if (Index == Changed.size())
      return createStringError("epilogue has other regions than its prologue");
    for (size_t I = 0; I != D.RawSize; ++I)
      Changed[Index] += Before[I] != After[I];
  }
  return Changed;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

namespace {
struct LoadedInstance {
  const RecordedInstance &I;
  Snapshot Prologue;
  std::vector<uint64_t> Changed; ///< In bytes, by region.
};
} // namespace

static Expected<LoadedInstance> load(StringRef File, const RecordedKernel &K,
                                     const RecordedInstance &I) {
  StringRef Dir = sys::path::parent_path(File);
  Expected<Snapshot> Prologue = openSnapshot(Dir, /*Epilogue=*/false, K, I);
  if (!Prologue)
    return Prologue.takeError();
  Expected<Snapshot> Epilogue = openSnapshot(Dir, /*Epilogue=*/true, K, I);
  if (!Epilogue)
    return Epilogue.takeError();
  if (Prologue->args().size() != K.Args.size())
    return createFileError(
        I.Prologue, createStringError("%zu arguments, the kernel has %zu",
                                      Prologue->args().size(), K.Args.size()));
  Expected<std::vector<uint64_t>> Changed =
      countChangedBytes(*Prologue, *Epilogue);
  if (!Changed)
    return createFileError(I.Epilogue, Changed.takeError());
  return LoadedInstance{I, std::move(*Prologue), std::move(*Changed)};
}

static void printRecord(const RecordedKernel &K) {
  textOuts() << K.displayName() << '\n'
             << "  symbol:      " << printable(K.KernelName) << '\n'
             << "  static hash: " << K.StaticHash << '\n'
             << "  target:      "
             << printable(K.Arch + " (" + K.Triple + "), -O" + K.OptLevel +
                          ", " + K.Toolchain)
             << "\n  recorded on: " << printable(K.Device) << '\n'
             << formatv("  arena:       {0:x}, {1}\n", K.VAddr,
                        formatSize(K.VASize));
}

static void printRecord(const RecordedKernel &K, const LoadedInstance &L) {
  textOuts() << "  instance " << L.I.DynamicHash << ": grid "
             << formatDims(L.I.Grid) << ", block " << formatDims(L.I.Block)
             << ", dynamic shared memory " << L.I.SharedMem << ", launches "
             << L.I.Occurrences << (L.I.Cooperative ? ", cooperative" : "");
  if (L.I.Cluster != Dim3())
    textOuts() << ", clusters of " << formatDims(L.I.Cluster);
  textOuts() << '\n';
  if (const RecordedDevice &D = L.I.Device; !D.Name.empty())
    textOuts() << "    device: "
               << printable(D.Name + " (" + D.Arch + "), driver " + D.Driver +
                            ", runtime " +
                            (D.Runtime.empty() ? "unknown" : D.Runtime))
               << '\n';
  else if (K.Device != "host")
    textOuts() << "    device: host\n";
  for (const auto &[Index, Arg] : llvm::enumerate(K.Args)) {
    StringRef Bytes = L.Prologue.args()[Index];
    textOuts() << "    argument " << Index << ": " << printable(Arg.Type);
    if (!Arg.Name.empty())
      textOuts() << ' ' << printable(Arg.Name);
    textOuts() << " = " << formatValue(Arg.Type, Bytes);
    if (is_contained(L.I.VaryingArgs, Index))
      textOuts() << ", other values in other launches";
    for (const auto &[Offset, Target] : findPointers(L.Prologue, Arg, Bytes))
      textOuts() << (Bytes.size() == 8
                         ? " -> " + Target
                         : formatv(", at {0} -> {1}", Offset, Target).str());
    textOuts() << '\n';
  }
  for (const auto &[R, Changed] : llvm::zip(L.Prologue.regions(), L.Changed)) {
    textOuts() << "    " << nameOf(R) << ": " << formatSize(R.Size)
               << formatv(" at {0:x}, ", R.Address);
    if (Changed)
      textOuts() << formatv("{0} bytes changed ({1:P1})\n", Changed,
                            double(Changed) / R.Size);
    else
      textOuts() << "unchanged\n";
  }
  if (all_of(L.Changed, [](uint64_t Bytes) { return Bytes == 0; }))
    textOuts() << "    no memory changed: an empty kernel may verify\n";
  if (L.I.OmittedRegions)
    textOuts() << "    omitted, because no pointer leads there: "
               << formatCount(L.I.OmittedRegions, "buffer") << " of "
               << formatSize(L.I.OmittedBytes) << '\n';
  for (const SnapshotAnnotation &A : L.Prologue.annotations()) {
    textOuts() << "    annotation";
    if (!A.Tag.empty())
      textOuts() << " '" << printable(A.Tag) << '\'';
    textOuts() << " on " << describeAddress(L.Prologue, A.Address) << ": "
               << A.Size << " bytes as " << getDTypeName(A.DType) << ", "
               << toleranceOf(A);
    if (A.Norm != MNEME_NORM_NONE)
      textOuts() << ", norm " << getNormName(A.Norm);
    textOuts() << '\n';
  }
}

static json::Value makeJSON(const RecordedKernel &K, const LoadedInstance &L) {
  json::Array Args, Buffers, Annotations;
  for (const auto &[Index, Arg] : llvm::enumerate(K.Args)) {
    StringRef Bytes = L.Prologue.args()[Index];
    json::Array Pointers;
    for (const auto &[Offset, Target] : findPointers(L.Prologue, Arg, Bytes))
      Pointers.push_back(
          json::Object{{"Offset", Offset}, {"Target", json::fixUTF8(Target)}});
    Args.push_back(json::Object{{"Name", json::fixUTF8(Arg.Name)},
                                {"Type", json::fixUTF8(Arg.Type)},
                                {"Value", formatValue(Arg.Type, Bytes)},
                                {"Bytes", toHex(Bytes, /*LowerCase=*/true)},
                                {"Pointers", std::move(Pointers)}});
  }
  for (const auto &[R, Changed] : llvm::zip(L.Prologue.regions(), L.Changed))
    Buffers.push_back(json::Object{{"Id", R.Id},
                                   {"Variable", json::fixUTF8(R.Name)},
                                   {"Address", R.Address},
                                   {"Size", R.Size},
                                   {"ChangedBytes", Changed}});
  for (const SnapshotAnnotation &A : L.Prologue.annotations())
    Annotations.push_back(json::Object{
        {"Tag", json::fixUTF8(A.Tag)},
        {"Target", json::fixUTF8(describeAddress(L.Prologue, A.Address))},
        {"Address", A.Address},
        {"Size", A.Size},
        {"DType", getDTypeName(A.DType)},
        {"Tolerance", toleranceOf(A)},
        {"Norm", getNormName(A.Norm)}});
  return json::Object{{"DynamicHash", L.I.DynamicHash},
                      {"Args", std::move(Args)},
                      {"Buffers", std::move(Buffers)},
                      {"Annotations", std::move(Annotations)}};
}

Expected<int> mneme::runShow(ToolArgs) {
  bool IsWhole = true;
  json::Array All;
  Expected<int> ExitCode =
      forEachKernel(Input, [&](StringRef File, const RecordedKernel &K) {
        if (!ShowJSON)
          printRecord(K);
        json::Array Launches;
        for (const RecordedInstance &I : K.Instances) {
          Expected<LoadedInstance> L = load(File.str(), K, I);
          IsWhole &= bool(L);
          if (!L)
            printError(L.takeError());
          else if (ShowJSON)
            Launches.push_back(makeJSON(K, *L));
          else
            printRecord(K, *L);
        }
        if (ShowJSON)
          All.push_back(json::Object{{"Kernel", toJSON(K)},
                                     {"Launches", std::move(Launches)}});
      });
  if (!ExitCode)
    return ExitCode;
  if (ShowJSON)
    jsonOuts() << formatv("{0:2}\n", json::Value(std::move(All)));
  return IsWhole ? *ExitCode : 1;
}
