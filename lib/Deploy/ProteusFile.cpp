//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the files that Proteus reads through PROTEUS_TUNED_KERNELS: an object
// with an entry per kernel. Proteus ignores keys that it does not know and
// values of another type; here, a warning names them.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class EntryReader {
public:
  EntryReader(StringRef Kernel, const json::Object &Source) {
    E.Kernel = Kernel.str();
    E.Source = Source;
  }
  ProteusEntry read();

private:
  /// Returns a value, or the default with a warning if it is of another type.
  bool readBool(StringRef Key, bool Default) {
    return read(Key, "a boolean", Default,
                [](const json::Value &V) { return V.getAsBoolean(); });
  }
  int64_t readInteger(StringRef Key, int64_t Default) {
    return read(Key, "an integer", Default,
                [](const json::Value &V) { return V.getAsInteger(); });
  }
  std::string readText(StringRef Key, StringRef Default) {
    return read(Key, "a string", Default.str(),
                [](const json::Value &V) -> std::optional<std::string> {
                  if (std::optional<StringRef> S = V.getAsString())
                    return S->str();
                  return std::nullopt;
                });
  }
  template <typename T, typename ReadFn>
  T read(StringRef Key, StringRef Expected, T Default, ReadFn Read);
  std::optional<Dim3> readDims(StringRef Key);

  void readPipeline();
  void readLaunch();
  void readBounds();

  void warn(const Twine &Text) { E.Warnings.push_back(Text.str()); }
  void refuse(const Twine &Why) {
    if (E.Problem.empty())
      E.Problem = Why.str();
  }

  ProteusEntry E;
  std::vector<StringRef> Known;
};
} // namespace

template <typename T, typename ReadFn>
T EntryReader::read(StringRef Key, StringRef Expected, T Default, ReadFn Read) {
  Known.push_back(Key);
  const json::Value *V = E.Source.get(Key);
  if (!V)
    return Default;
  if (auto Found = Read(*V))
    return *Found;
  warn(formatv("'{0}': expected {1}, got {2}: Proteus ignores it and uses {3}",
               Key, Expected, *V, json::Value(Default)));
  return Default;
}

std::optional<Dim3> EntryReader::readDims(StringRef Key) {
  Known.push_back(Key);
  const json::Value *V = E.Source.get(Key);
  if (!V)
    return std::nullopt;
  Dim3 D;
  const json::Object *O = V->getAsObject();
  for (auto [Axis, Member] :
       {std::pair("x", &D.X), std::pair("y", &D.Y), std::pair("z", &D.Z)}) {
    std::optional<int64_t> N = O ? O->getInteger(Axis) : std::nullopt;
    if (!N || *N < 1 || *N > UINT32_MAX) {
      refuse(formatv("'{0}': expected positive x, y and z, got {1}", Key, *V)
                 .str());
      return std::nullopt;
    }
    *Member = *N;
  }
  return D;
}

void EntryReader::readPipeline() {
  // A number here is the commonest mistake: Proteus' own test has one.
  std::string Level = readText("OptLevel", "3").substr(0, 1);
  if (Level.empty() || !StringRef("0123sz").contains(Level)) {
    refuse("'OptLevel': expected 0, 1, 2, 3, s or z");
    Level = "3";
  }
  E.Options.Config.Passes = readText("Pipeline", "default<O" + Level + ">");
  int64_t CodeGen = readInteger("CodeGenOptLevel", 3);
  if (CodeGen < 0 || CodeGen > 3)
    return refuse(
        formatv("'CodeGenOptLevel': expected 0 to 3, got {0}", CodeGen).str());
  E.Options.Config.CodeGenLevel = CodeGen;
  // The choice of a code generator does not change the code for NVIDIA GPUs.
  std::string Method = StringRef(readText("CodeGen", "rtc")).lower();
  if (!is_contained({"rtc", "serial", "parallel"}, StringRef(Method)))
    refuse("'CodeGen': expected rtc, serial or parallel, got '" + Method + "'");
}

void EntryReader::readLaunch() {
  E.Options.Grid = readDims("GridDim");
  E.Options.Block = readDims("BlockDim");
  if (E.Options.Grid.has_value() != E.Options.Block.has_value())
    refuse("it needs the JIT: GridDim and BlockDim are not both given");
  E.Policy.Dims = E.Options.SpecializeDims = readBool("SpecializeDims", true);
  E.Policy.Ranges = readBool("SpecializeDimsRange", false);
  if (E.Policy.Ranges)
    refuse("it needs the JIT: SpecializeDimsRange is true");
  E.Policy.Args = readBool("SpecializeArgs", true);
  if (E.Policy.Args)
    refuse("it needs the JIT: SpecializeArgs is true, or missing");
}

/// Proteus sets the bounds of each launch, and the number of blocks only for
/// launches with the tuned number of threads.
void EntryReader::readBounds() {
  KernelConfig &C = E.Options.Config;
  int64_t Threads = readInteger("TunedMaxThreads", -1);
  int64_t Blocks = readInteger("MinBlocksPerSM", 0);
  C.SetLaunchBounds = readBool("LaunchBounds", true);
  E.Policy.Bounds = C.SetLaunchBounds;
  if (Blocks >= 0 && Blocks <= UINT16_MAX) {
    E.Policy.TunedMaxThreads = Threads;
    E.Policy.MinBlocks = Blocks;
  }
  if (!C.SetLaunchBounds)
    return;
  int64_t Launched =
      E.Options.Block ? int64_t(E.Options.Block->count()) : Threads;
  if (Launched < 1)
    return refuse("it needs the JIT: LaunchBounds is true, or missing, without "
                  "TunedMaxThreads");
  if (Launched > MNEME_HOST_MAX_THREADS)
    return refuse(formatv("a block has {0} threads: at most {1} are possible",
                          Launched, MNEME_HOST_MAX_THREADS)
                      .str());
  if (Blocks < 0 || Blocks > UINT16_MAX)
    return refuse(formatv("'MinBlocksPerSM': expected 0 to {0}, got {1}",
                          UINT16_MAX, Blocks)
                      .str());
  C.MaxThreads = Launched;
  C.MinBlocks = Launched == Threads ? Blocks : 0;
}

ProteusEntry EntryReader::read() {
  readPipeline();
  readLaunch();
  readBounds();
  Known.push_back("Mneme");
  if (const json::Object *Own = E.Source.getObject("Mneme")) {
    E.StaticHash = Own->getString("static_hash").value_or("").str();
    const json::Object *Rest = Own->getObject("not_said_above");
    if (Rest && !Rest->empty())
      warn("settings of the winner that Proteus does not support are ignored: "
           "pack the study instead");
  }
  std::vector<StringRef> Unknown;
  for (const auto &[Key, V] : E.Source)
    if (!is_contained(Known, StringRef(Key)))
      Unknown.push_back(Key);
  llvm::sort(Unknown);
  for (StringRef Key : Unknown)
    warn("unknown key '" + Key + "' is ignored");
  return std::move(E);
}

Expected<std::vector<ProteusEntry>> mneme::readProteusFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Path);
  if (!File)
    return File.takeError();
  Expected<json::Value> V = parseJSON((*File)->getBuffer());
  if (!V)
    return quoteText(Path, (*File)->getBuffer(), V.takeError());
  const json::Object *Root = V->getAsObject();
  if (!Root)
    return createStringError("'" + Path +
                             "' is not an object with an entry "
                             "per kernel");
  std::vector<ProteusEntry> Entries;
  for (const auto &[Name, Entry] : *Root) {
    if (const json::Object *O = Entry.getAsObject()) {
      Entries.push_back(EntryReader(Name, *O).read());
      continue;
    }
    ProteusEntry &E = Entries.emplace_back();
    E.Kernel = Name.str();
    E.Problem = "the entry is not an object";
  }
  llvm::sort(Entries, [](const ProteusEntry &A, const ProteusEntry &B) {
    return A.Kernel < B.Kernel;
  });
  return Entries;
}
