//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nvml.h"
#include <dlfcn.h>

using namespace llvm;
using namespace llvm::mneme;

namespace {
using NvmlDevice = struct nvmlDevice_st *;

/// Functions as in nvml.h; all return 0 on success.
struct Nvml {
  int (*Init)() = nullptr;
  int (*GetByUUID)(const char *, NvmlDevice *) = nullptr;
  int (*GetTemperature)(NvmlDevice, int Sensor, unsigned *) = nullptr;
  int (*GetPowerUsage)(NvmlDevice, unsigned *Milliwatts) = nullptr;
  int (*GetClock)(NvmlDevice, int Clock, unsigned *MHz) = nullptr;
  /// Of Volta and later; may be missing.
  int (*GetEnergy)(NvmlDevice, unsigned long long *Millijoules) = nullptr;
  bool Usable = false;

  Nvml();
  static const Nvml &get();
};
} // namespace

Nvml::Nvml() {
  // Never closed, so that later readings are cheap.
  void *Library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!Library)
    return;
  auto Find = [&](auto &Function, const char *Name) {
    Function = reinterpret_cast<std::decay_t<decltype(Function)>>(
        ::dlsym(Library, Name));
    return Function != nullptr;
  };
  Usable = Find(Init, "nvmlInit_v2") &&
           Find(GetByUUID, "nvmlDeviceGetHandleByUUID") &&
           Find(GetTemperature, "nvmlDeviceGetTemperature") &&
           Find(GetPowerUsage, "nvmlDeviceGetPowerUsage") &&
           Find(GetClock, "nvmlDeviceGetClockInfo") && Init() == 0;
  Find(GetEnergy, "nvmlDeviceGetTotalEnergyConsumption");
}

const Nvml &Nvml::get() {
  static const Nvml Library;
  return Library;
}

GPUState llvm::mneme::readNvmlState(const std::string &UUID) {
  // Values of nvml.h.
  enum { TemperatureOfGPU = 0, ClockOfMultiprocessors = 1, ClockOfMemory = 2 };
  const Nvml &Library = Nvml::get();
  GPUState State;
  NvmlDevice Device;
  if (!Library.Usable || Library.GetByUUID(UUID.c_str(), &Device) != 0)
    return State;
  unsigned Value;
  if (Library.GetTemperature(Device, TemperatureOfGPU, &Value) == 0)
    State.Temperature = Value;
  if (Library.GetPowerUsage(Device, &Value) == 0)
    State.Power = Value * 1e-3;
  if (Library.GetClock(Device, ClockOfMultiprocessors, &Value) == 0)
    State.ClockMHz = Value;
  if (Library.GetClock(Device, ClockOfMemory, &Value) == 0)
    State.MemoryClockMHz = Value;
  return State;
}

std::optional<double> llvm::mneme::readNvmlEnergy(const std::string &UUID) {
  const Nvml &Library = Nvml::get();
  NvmlDevice Device;
  unsigned long long Millijoules;
  if (!Library.Usable || !Library.GetEnergy ||
      Library.GetByUUID(UUID.c_str(), &Device) != 0 ||
      Library.GetEnergy(Device, &Millijoules) != 0)
    return std::nullopt;
  return Millijoules * 1e-3;
}
