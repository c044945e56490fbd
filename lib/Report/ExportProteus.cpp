//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the winner for Proteus (PROTEUS_TUNED_KERNELS): an object with an
// entry for the kernel. The entry has every key that Proteus reads, since the
// defaults of missing keys are not the measured values. Settings that Proteus
// does not support, such as another launch, are under "Mneme", which Proteus
// ignores.
//
//===----------------------------------------------------------------------===//

#include "Exports.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

/// Keys of Config.def that an entry can express.
static constexpr StringLiteral Said[] = {
    "passes",          "codegen_opt",       "specialize",
    "specialize_dims", "specialize_ranges", "set_launch_bounds",
    "max_threads",     "min_blocks_per_sm"};

/// Returns the threads per block in a launch of this configuration.
static int64_t getThreads(const StudyRecord &R, const json::Object &Config) {
  int64_t Threads = 1;
  for (StringRef Key : {"block.x", "block.y", "block.z"}) {
    int64_t Recorded = 1;
    auto It = R.Space.recorded().find(Key);
    if (It != R.Space.recorded().end())
      if (const int64_t *I = std::get_if<int64_t>(&It->second))
        Recorded = *I;
    Threads *= Config.getInteger(Key).value_or(Recorded);
  }
  return Threads;
}

static StringRef getFact(const StudyRecord &R, StringRef Name) {
  auto It = R.Space.recorded().find(Name);
  if (It == R.Space.recorded().end())
    return "";
  const auto *Text = std::get_if<std::string>(&It->second);
  return Text ? StringRef(*Text) : "";
}

Error mneme::exportProteus(const StudyRecord &R, StringRef Path) {
  const Trial *Winner = R.winner();
  if (!Winner)
    return createFileError(
        Path, createStringError(
                  "nothing to export: nothing is better than the baseline"));
  const json::Object &C = Winner->Config;
  auto IsOn = [&](StringRef Key) { return C.getBoolean(Key).value_or(false); };
  bool Bounds = IsOn("set_launch_bounds");
  StringRef Level = getFact(R, "opt_level");

  json::Object Rest;
  for (const auto &[Key, V] : C)
    if (!is_contained(Said, StringRef(Key)))
      Rest[Key] = V;
  json::Object Entry{
      {"Pipeline", C.getString("passes").value_or(R.RecordedPipeline)},
      {"CodeGen", getFact(R, "arch").starts_with("gfx") ? "serial" : "rtc"},
      {"SpecializeArgs", IsOn("specialize")},
      {"SpecializeDims", IsOn("specialize_dims")},
      {"SpecializeDimsRange", IsOn("specialize_ranges")},
      {"LaunchBounds", Bounds},
      // A string, because Proteus ignores a number.
      {"OptLevel", Level.empty() ? StringRef("3") : Level},
      {"CodeGenOptLevel", C.getInteger("codegen_opt").value_or(3)},
      // Proteus applies the number of blocks only to launches with this number
      // of threads.
      {"TunedMaxThreads",
       Bounds ? C.getInteger("max_threads").value_or(getThreads(R, C)) : -1},
      {"MinBlocksPerSM",
       Bounds ? C.getInteger("min_blocks_per_sm").value_or(0) : 0},
      {"Mneme", json::Object{{"static_hash", R.StaticHash},
                             {"code_hash", Winner->CodeHash},
                             {"not_said_above", std::move(Rest)}}}};
  if (Entry.getString("Pipeline")->empty())
    Entry.erase("Pipeline");
  return writeJSON(Path, json::Object{{R.Kernel, std::move(Entry)}});
}
