//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's management library, as far as Nvml.cpp asks it: one GPU, which does
// not tell the clock of its memory.
//
//===----------------------------------------------------------------------===//

#include <cstring>

static constexpr int NotFound = 6, NotSupported = 3;

extern "C" {
int nvmlInit_v2() { return 0; }

int nvmlDeviceGetHandleByUUID(const char *UUID, void **Device) {
  *Device = nullptr;
  return std::strcmp(UUID, "GPU-fake") == 0 ? 0 : NotFound;
}

int nvmlDeviceGetTemperature(void *, int Sensor, unsigned *Degrees) {
  *Degrees = 41;
  return Sensor == 0 ? 0 : NotSupported;
}

int nvmlDeviceGetPowerUsage(void *, unsigned *Milliwatts) {
  *Milliwatts = 130500;
  return 0;
}

int nvmlDeviceGetClockInfo(void *, int Clock, unsigned *MHz) {
  *MHz = 1980;
  return Clock == 1 ? 0 : NotSupported;
}
}
