//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplicationCheck.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include <poll.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr double DriverSeconds = 30;

/// Asks the drivers, which stay initialized with its threads. \returns "+" and
/// one line for each device, or "-" and an error message.
static std::string askDriver(StringRef Kind) {
  Expected<std::vector<GPUDescription>> GPUs = findGPUs(Kind);
  if (!GPUs)
    return "-" + toString(GPUs.takeError());
  std::string Text = "+";
  for (const GPUDescription &G : *GPUs)
    Text += G.Info.Arch + " " + G.Info.Name + "\n";
  return Text;
}

Expected<GpuProbe> GpuProbe::start(StringRef Kind) {
  // A driver that does not answer in time means that there is no device.
  Expected<ChildTask> Driver =
      ChildTask::start("the driver",
                       [Kind = Kind.str()]() -> Expected<std::string> {
                         return askDriver(Kind);
                       },
                       {DriverSeconds});
  if (!Driver)
    return Driver.takeError();
  return GpuProbe(std::move(*Driver));
}

Expected<std::vector<GpuFacts>> GpuProbe::finish() {
  while (!poll()) {
    pollfd Wait = {fd(), POLLIN, 0};
    ::poll(&Wait, 1, -1);
  }
  Expected<std::string> Answer = Driver.finish();
  if (!Answer) {
    consumeError(Answer.takeError());
    return createStringError("the GPU driver crashes or does not answer");
  }
  StringRef Text = *Answer;
  if (!Text.consume_front("+"))
    return createStringError(Text.drop_front());
  std::vector<GpuFacts> Devices;
  SmallVector<StringRef> Lines;
  Text.split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines) {
    auto [Arch, Name] = Line.split(' ');
    Devices.push_back({Name.str(), Arch.str()});
  }
  return Devices;
}

bool mneme::isForHip(StringRef Arch) { return Arch.starts_with("gfx"); }

/// \returns whether a driver can compile PTX for \p CodeArch to code for \p
/// DeviceArch.
static bool canCompile(StringRef CodeArch, StringRef DeviceArch) {
  unsigned Code, Device;
  return CodeArch.consume_front("sm_") && DeviceArch.consume_front("sm_") &&
         !CodeArch.getAsInteger(10, Code) &&
         !DeviceArch.getAsInteger(10, Device) && Code <= Device;
}

Expected<std::string> mneme::checkArchitectures(ArrayRef<std::string> Archs,
                                                ArrayRef<GpuFacts> Devices) {
  bool MayHavePTX = false;
  for (const std::string &Arch : Archs)
    for (const GpuFacts &D : Devices) {
      if (isArchCompatible(Arch, D.Arch))
        return "";
      MayHavePTX |= canCompile(Arch, D.Arch);
    }
  std::string Text = "its kernels are for " + join(Archs, ", ") +
                     ", the device is " +
                     (isForHip(Devices.front().Arch) ? "a " : "an ") +
                     Devices.front().Arch + " (" + Devices.front().Name + ")";
  if (!MayHavePTX)
    return createStringError(Text + ": none of them runs there");
  return Text + ": the recordings hold the code that its PTX was compiled from";
}
