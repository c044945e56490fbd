//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunFlags.h"
#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Deploy/PackWinner.h"

using namespace llvm;
using namespace llvm::mneme;

RunFlags::RunFlags(cl::SubCommand &Command)
    : Words(cl::Positional,
            cl::desc("<package>... -- application arguments..."),
            cl::sub(Command), cl::cat(CommandCategory)),
      Device("device", cl::desc("Device that the kernels run on"),
             cl::values(
                 clEnumValN(LaunchDevice::Auto, "auto",
                            "a GPU when there is one, else the host (default)"),
                 clEnumValN(LaunchDevice::Host, "host", "this machine's CPU"),
                 clEnumValN(LaunchDevice::Cuda, "cuda", "an NVIDIA GPU"),
                 clEnumValN(LaunchDevice::Hip, "hip", "an AMD GPU")),
             cl::init(LaunchDevice::Auto), cl::sub(Command),
             cl::cat(CommandCategory)),
      Scope(
          "scope",
          cl::desc("Launches to serve: recorded or kernel (default recorded)"),
          cl::value_desc("recorded|kernel"), cl::sub(Command),
          cl::cat(CommandCategory)),
      LaunchShape("launch-shape",
                  cl::desc("Changed launch shapes to admit: proven, verified "
                           "or unproven (default proven)"),
                  cl::value_desc("proven|verified|unproven"), cl::sub(Command),
                  cl::cat(CommandCategory)),
      Code("code",
           cl::desc("Other sources and IR than the recorded ones to admit: "
                    "proven, tested, verified or unproven (default verified)"),
           cl::value_desc("proven|tested|verified|unproven"), cl::sub(Command), cl::cat(CommandCategory)),
      DeviceMatch("device-match",
                  cl::desc("GPUs to serve: those with the name of the measured "
                           "one, or all that the code runs on (default name)"),
                  cl::value_desc("name|arch"), cl::sub(Command),
                  cl::cat(CommandCategory)) {}

Expected<RunFlags::Values> RunFlags::read(ToolArgs Args) const {
  // All words behind the separator are the application's.
  auto Separator = find_if(Args, [](StringRef Word) { return Word == "--"; });
  size_t NumCommand = Separator == Args.end() ? 0 : Args.end() - Separator - 1;
  if (!NumCommand)
    return createStringError("no application: give it after '--'");
  ArrayRef<std::string> All = Words;
  Values V;
  V.Command = All.take_back(NumCommand).vec();
  if (Error E = resolvePackages(All.drop_back(NumCommand)).moveInto(V.Packages))
    return std::move(E);
  if (V.Packages.empty())
    return createStringError("no package: give it before '--'");
  PackOptions Checked;
  for (auto [Option, Parse] : {std::pair(&Scope, &parseScope),
                               {&LaunchShape, &parseLaunchShape},
                               {&Code, &parseCode},
                               {&DeviceMatch, &parseDeviceMatch}})
    if (Option->getNumOccurrences())
      if (Error E = Parse(Option->getValue(), Checked))
        return std::move(E);
  V.Serve = {Scope, LaunchShape, Code, DeviceMatch};
  V.Device = Device;
  return V;
}
