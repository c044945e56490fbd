//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Application.h"
#include "CudaDriver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Signals.h"
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::CudaDriver;

static constexpr unsigned DriverSeconds = 30;

/// One line per device, or the error. Leaves the driver initialized, with its
/// threads.
static Expected<std::string> askDriver() {
  std::string Problem;
  const CudaDriver *D = CudaDriver::load(Problem);
  if (!D)
    return createStringError(Problem);
  int Count = 0;
  int R = D->Init(0);
  if (R == ::mneme::CUDA_ERROR_NO_DEVICE)
    return std::string();
  if (!R)
    R = D->DeviceGetCount(&Count);
  std::string Answer;
  for (int I = 0; !R && I != Count; ++I) {
    constexpr int AttributeMajor = 75, AttributeMinor = 76;
    int Device = 0, Major = 0, Minor = 0;
    char Name[256] = {};
    R = D->DeviceGet(&Device, I);
    if (!R)
      R = D->DeviceGetName(Name, sizeof(Name) - 1, Device);
    if (!R)
      R = D->DeviceGetAttribute(&Major, AttributeMajor, Device);
    if (!R)
      R = D->DeviceGetAttribute(&Minor, AttributeMinor, Device);
    Answer += utostr(Major * 10 + Minor) + " " + Name + "\n";
  }
  if (R)
    return createStringError("the CUDA driver does not start: " +
                             D->describe(R));
  return Answer;
}

Expected<std::vector<CudaDeviceFacts>> llvm::mneme::findCudaDevices() {
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
    CudaDeviceFacts D;
    auto [Arch, Name] = Line.split(' ');
    if (Arch.getAsInteger(10, D.Arch))
      continue;
    D.Name = Name.str();
    Devices.push_back(std::move(D));
  }
  return Devices;
}

/// "sm_90 (NVIDIA H200)"
static std::string describe(const CudaDeviceFacts &D) {
  return "sm_" + utostr(D.Arch) + " (" + D.Name + ")";
}

Expected<std::string>
llvm::mneme::checkArchitectures(ArrayRef<std::string> Archs,
                          ArrayRef<CudaDeviceFacts> Devices) {
  bool MayHavePTX = false;
  for (StringRef Arch : Archs) {
    StringRef Digits = Arch;
    unsigned N = 0;
    if (!Digits.consume_front("sm_") || Digits.consumeInteger(10, N))
      continue;
    for (const CudaDeviceFacts &D : Devices) {
      // sm_90a is for that very architecture.
      if (!Digits.empty() ? N == D.Arch
                          : N / 10 == D.Arch / 10 && N <= D.Arch)
        return "";
      MayHavePTX |= Digits.empty() && N <= D.Arch;
    }
  }
  std::string Text = "its kernels are for " + join(Archs, ", ") +
                     ", the device is an " + describe(Devices.front());
  if (!MayHavePTX)
    return createStringError(Text + ": nothing of it runs there");
  return Text + ": what is recorded is the code that its PTX was made from";
}
