//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Application.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Signals.h"
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned DriverSeconds = 30;

/// Asks the driver and leaves it initialized, with its threads. One line per
/// device.
static Expected<std::string> askDriver() {
  Expected<std::vector<GPUDescription>> GPUs = findGPUs();
  if (!GPUs)
    return GPUs.takeError();
  std::string Text;
  for (const GPUDescription &G : *GPUs)
    Text += G.Info.Arch + " " + G.Info.Name + "\n";
  return Text;
}

Expected<std::vector<CudaDeviceFacts>> mneme::findCudaDevices() {
  int Pipe[2];
  if (::pipe(Pipe) != 0)
    return createStringError("cannot make a pipe: " + sys::StrError());
  // In a process of its own: the launcher forks its compile jobs and must not
  // have the driver's threads.
  pid_t Child = ::fork();
  if (Child == 0) {
    // A driver that crashes or never answers means no device.
    sys::unregisterHandlers();
    ::alarm(DriverSeconds);
    Expected<std::string> Answer = askDriver();
    bool Ok = static_cast<bool>(Answer);
    std::string Text = Ok ? *Answer : toString(Answer.takeError());
    [[maybe_unused]] ssize_t N = ::write(Pipe[1], Text.data(), Text.size());
    ::_exit(Ok ? 0 : 1);
  }
  ::close(Pipe[1]);
  std::string Text;
  char Chunk[1024];
  for (ssize_t N; Child > 0 && (N = ::read(Pipe[0], Chunk, sizeof(Chunk))) > 0;)
    Text.append(Chunk, N);
  ::close(Pipe[0]);
  int Status = 0;
  if (Child < 0 || ::waitpid(Child, &Status, 0) != Child || !WIFEXITED(Status))
    return createStringError("the CUDA driver crashes or does not answer");
  if (WEXITSTATUS(Status) != 0)
    return createStringError(Text);
  std::vector<CudaDeviceFacts> Devices;
  SmallVector<StringRef> Lines;
  StringRef(Text).split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines) {
    auto [Arch, Name] = Line.split(' ');
    Devices.push_back({Name.str(), Arch.str()});
  }
  return Devices;
}

/// Whether a driver can compile PTX for \p CodeArch for a device of
/// \p DeviceArch.
static bool canCompile(StringRef CodeArch, StringRef DeviceArch) {
  unsigned Code, Device;
  return CodeArch.consume_front("sm_") && DeviceArch.consume_front("sm_") &&
         !CodeArch.getAsInteger(10, Code) &&
         !DeviceArch.getAsInteger(10, Device) && Code <= Device;
}

Expected<std::string>
mneme::checkArchitectures(ArrayRef<std::string> Archs,
                          ArrayRef<CudaDeviceFacts> Devices) {
  bool MayHavePTX = false;
  for (const std::string &Arch : Archs)
    for (const CudaDeviceFacts &D : Devices) {
      if (isArchCompatible(Arch, D.Arch))
        return "";
      MayHavePTX |= canCompile(Arch, D.Arch);
    }
  std::string Text = "its kernels are for " + join(Archs, ", ") +
                     ", the device is an " + Devices.front().Arch + " (" +
                     Devices.front().Name + ")";
  if (!MayHavePTX)
    return createStringError(Text + ": nothing of it runs there");
  return Text + ": what is recorded is the code that its PTX was made from";
}
