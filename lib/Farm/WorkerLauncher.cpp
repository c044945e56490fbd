//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The commands that start workers: --hosts and --launcher.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral HostMark = "{host}", CommandMark = "{command}";

/// Maximum number of workers of one host, and of a study.
static constexpr unsigned MaxShare = 1024, MaxWorkers = 4096;

static bool contains(ArrayRef<std::string> Words, StringRef Mark) {
  return any_of(Words, [&](StringRef W) { return W.contains(Mark); });
}

static std::string replaceAll(StringRef Text, StringRef Mark, StringRef By) {
  std::string Result;
  while (true) {
    auto [Before, After] = Text.split(Mark);
    Result += Before;
    if (Before.size() == Text.size())
      return Result;
    Result += By;
    Text = After;
  }
}

/// Parses "a" or "a*4".
static Error parseHost(StringRef Text, std::string &Host, unsigned &Count) {
  auto [Name, Number] = Text.split('*');
  Count = 1;
  if (Name.size() != Text.size() &&
      (!to_integer(Number, Count, 10) || Count == 0 || Count > MaxShare))
    return createStringError(formatv("invalid host '{0}': expected a number of "
                                     "workers from 1 to {1} after '*'",
                                     Text, MaxShare)
                                 .str());
  // A launcher would take other names for an option, or for several words.
  if (Name.empty() || Name.front() == '-' ||
      any_of(Name, [](char C) { return C <= ' ' || C == '\x7f'; }))
    return createStringError(
        formatv("invalid host '{0}': expected NAME or NAME*NUMBER", Text)
            .str());
  Host = Name.str();
  return Error::success();
}

static WorkerCommand makeCommand(ArrayRef<std::string> Launcher, StringRef Host,
                                 ArrayRef<std::string> Command) {
  WorkerCommand C;
  C.Host = Host.str();
  std::string Quoted = quoteCommand(Command);
  for (StringRef Word : Launcher)
    C.Words.push_back(
        replaceAll(replaceAll(Word, HostMark, Host), CommandMark, Quoted));
  if (contains(Launcher, CommandMark))
    return C;
  // ssh joins its words to one text, which a remote shell parses.
  if (sys::path::filename(Launcher.front()) == "ssh")
    C.Words.push_back(Quoted);
  else
    append_range(C.Words, Command);
  return C;
}

Expected<std::vector<WorkerCommand>>
mneme::makeWorkerCommands(ArrayRef<std::string> Hosts, StringRef Launcher,
                          StringRef Tool, ArrayRef<std::string> Options) {
  std::vector<std::string> Words = splitWords(Launcher);
  if (Words.empty())
    return createStringError("--launcher is empty");
  bool NeedsHosts = contains(Words, HostMark);
  if (NeedsHosts && Hosts.empty())
    return createStringError("--launcher has {host}, and there are no --hosts");
  if (!NeedsHosts && !Hosts.empty())
    return createStringError("--launcher='" + Launcher +
                             "' lacks {host}, for the names in --hosts");
  std::vector<WorkerCommand> Commands;
  auto Add = [&](StringRef Host, unsigned Count) {
    for (unsigned I = 0; I != Count; ++I) {
      std::vector<std::string> Command = {Tool.str(), "--worker=-"};
      if (Count > 1)
        Command.push_back(formatv("--worker-share={0}/{1}", I, Count));
      append_range(Command, Options);
      Commands.push_back(makeCommand(Words, Host, Command));
    }
  };
  if (Hosts.empty())
    Add(sys::path::filename(Words.front()), 1);
  for (StringRef Text : Hosts) {
    std::string Host;
    unsigned Count = 1;
    if (Error E = parseHost(Text, Host, Count))
      return std::move(E);
    if (Commands.size() + Count > MaxWorkers)
      return createStringError(
          formatv("--hosts asks for more than {0} workers", MaxWorkers).str());
    Add(Host, Count);
  }
  return std::move(Commands);
}
