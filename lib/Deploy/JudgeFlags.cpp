//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/JudgeFlags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
enum class JudgedBy { Memory, App };
} // namespace

struct JudgeFlags::Options {
  EnumOption<JudgedBy> By;
  cl::opt<std::string> Check, IgnoreLines;
  cl::list<std::string> OutputFiles;
  cl::opt<double> Timeout;

  Options(cl::SubCommand &Command, cl::OptionCategory &Category)
      : By("judge-by", cl::desc("Judge of a candidate's results"),
           cl::values(clEnumValN(JudgedBy::Memory, "memory",
                                 "a comparison with the recorded memory "
                                 "(default)"),
                      clEnumValN(JudgedBy::App, "app",
                                 "the application after '--', run with the "
                                 "candidate's code")),
           cl::init(JudgedBy::Memory), cl::sub(Command), cl::cat(Category)),
        Check("check",
              cl::desc("With --judge-by=app: command that judges two runs, "
                       "instead of a comparison of standard output and files; "
                       "exit code 0 if they are the same"),
              cl::value_desc("command"), cl::sub(Command), cl::cat(Category)),
        IgnoreLines("ignore-lines",
                    cl::desc("With --judge-by=app: lines of the output that "
                             "are not compared (POSIX extended regular "
                             "expression)"),
                    cl::value_desc("regex"), cl::sub(Command),
                    cl::cat(Category)),
        OutputFiles("output-file",
                    cl::desc("With --judge-by=app: file that the application "
                             "writes, to be compared, too; may be repeated"),
                    cl::value_desc("file"), cl::sub(Command),
                    cl::cat(Category)),
        Timeout("app-timeout",
                cl::desc("With --judge-by=app: limit of each run of the "
                         "application (default 600); 0: no limit"),
                cl::value_desc("seconds"), cl::init(600), cl::sub(Command),
                cl::cat(Category)) {}
};

JudgeFlags::JudgeFlags(cl::SubCommand &Command, cl::OptionCategory &Category)
    : O(std::make_unique<Options>(Command, Category)) {}
JudgeFlags::~JudgeFlags() = default;

void JudgeFlags::takeCommand(SmallVectorImpl<const char *> &Arguments,
                             StringRef Other) {
  auto Separator =
      find_if(Arguments, [](StringRef Word) { return Word == "--"; });
  ArrayRef<const char *> Own(Arguments.begin(), Separator);
  bool IsByApp = any_of(Own, [&](StringRef Word) {
    StringRef Name = Word.ltrim('-');
    return Word.starts_with("-") &&
           (Name == "judge-by=app" || (!Name.empty() && Name == Other));
  });
  for (size_t I = 1; I < Own.size(); ++I)
    IsByApp |= StringRef(Own[I]) == "app" &&
               StringRef(Own[I - 1]).ltrim('-') == "judge-by";
  if (!IsByApp || Separator == Arguments.end())
    return;
  Command.assign(Separator + 1, Arguments.end());
  Arguments.erase(Separator, Arguments.end());
}

Expected<std::optional<ApplicationOptions>>
JudgeFlags::read(const ReplayOptions &R, const char *Argv0) const {
  if (O->By == JudgedBy::Memory && !Command.empty())
    return std::nullopt; // The application is not there to judge.
  if (O->By == JudgedBy::Memory) {
    using AnyOption = std::reference_wrapper<const cl::Option>;
    for (const cl::Option &Option :
         {AnyOption(O->Check), AnyOption(O->IgnoreLines),
          AnyOption(O->OutputFiles), AnyOption(O->Timeout)})
      if (Option.getNumOccurrences())
        return createStringError("--" + Option.ArgStr +
                                 " needs --judge-by=app");
    return std::nullopt;
  }
  if (!R.Tolerances.empty() || !R.ElementTypes.empty() || !R.Unordered.empty())
    return createStringError(
        (!R.Tolerances.empty()     ? "--tolerance"
         : !R.ElementTypes.empty() ? "--dtype"
                                   : "--unordered") +
        Twine(" and --judge-by=app are mutually exclusive: the application "
              "judges, by its output or --check"));
  if (!R.Verify || !R.Execute)
    return createStringError(
        (R.Verify ? "--no-execute" : "--no-verify") +
        Twine(" and --judge-by=app are mutually exclusive"));
  if (Command.empty())
    return createStringError(
        "--judge-by=app: no application: give it after '--'");
  return readApplication(R, Argv0);
}

Expected<std::optional<ApplicationOptions>>
JudgeFlags::readApplication(const ReplayOptions &R, const char *Argv0) const {
  if (Command.empty())
    return std::nullopt;
  if (Error E = checkSeconds("app-timeout", O->Timeout))
    return std::move(E);
  ApplicationOptions A;
  A.Command = Command;
  A.Check = O->Check;
  A.IgnoreLines = O->IgnoreLines;
  A.OutputFiles = O->OutputFiles;
  A.Timeout = O->Timeout;
  A.Device = StringRef(R.Device).starts_with("cuda")  ? LaunchDevice::Cuda
             : StringRef(R.Device).starts_with("hip") ? LaunchDevice::Hip
             : R.Device == "host"                     ? LaunchDevice::Host
                                                      : LaunchDevice::Auto;
  A.LibraryPath = getLibraryFolder(Argv0);
  return A;
}
