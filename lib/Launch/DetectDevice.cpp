//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Application.h"
#include "llvm/Support/Signals.h"
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned DriverSeconds = 30;

/// Asks the driver. Leaves it initialized, with its threads.
static bool askDriver() {
  void *Driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!Driver)
    return false;
  auto *Init = reinterpret_cast<int (*)(unsigned)>(::dlsym(Driver, "cuInit"));
  auto *GetCount =
      reinterpret_cast<int (*)(int *)>(::dlsym(Driver, "cuDeviceGetCount"));
  int Count = 0;
  return Init && GetCount && Init(0) == 0 && GetCount(&Count) == 0 && Count > 0;
}

bool mneme::hasCudaDevice() {
  // In a process of its own: the launcher forks its compile jobs and must not
  // have the driver's threads.
  pid_t Child = ::fork();
  if (Child == 0) {
    // A driver that crashes or never answers means no device.
    sys::unregisterHandlers();
    ::alarm(DriverSeconds);
    ::_exit(askDriver() ? 0 : 1);
  }
  int Status;
  return Child > 0 && ::waitpid(Child, &Status, 0) == Child &&
         WIFEXITED(Status) && WEXITSTATUS(Status) == 0;
}
