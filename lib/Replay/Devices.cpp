//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

/// Returns the GPUs; empty if there are none or the query fails.
static std::vector<GPUDescription> findGPUsIfAny() {
  Expected<std::vector<GPUDescription>> GPUs = findGPUs();
  if (GPUs)
    return std::move(*GPUs);
  consumeError(GPUs.takeError());
  return {};
}

Expected<std::unique_ptr<Device>> mneme::openDevice(StringRef Name) {
  if (Name == "host")
    return createHostDevice();
  if (isGPUDeviceName(Name))
    return createGPUDevice(Name);
  std::string Known = "host";
  for (const GPUDescription &GPU : findGPUsIfAny())
    Known += ", " + (Name.starts_with("offload") && !GPU.OffloadName.empty()
                         ? GPU.OffloadName
                         : GPU.Name);
  return createStringError(
      formatv("no device '{0}': this machine has {1}", Name, Known).str());
}

Expected<std::unique_ptr<Device>>
mneme::openDevice(StringRef Name, ArrayRef<RecordedRegion> Regions,
                  HeldAddresses &Held) {
  // Start the driver first: addresses that are in use when the CUDA driver
  // starts can never be allocated from it (seen with 580.159). Hold the
  // addresses before a context exists: the driver takes most of its own
  // addresses when it creates one.
  if (isGPUDeviceName(Name))
    findGPUsIfAny();
  Held.hold(Regions);
  return openDevice(Name);
}

std::string mneme::chooseDevice(const ReplayPlan &Plan) {
  for (const GPUDescription &GPU : findGPUsIfAny())
    if (isArchCompatible(Plan.compiler().arch(), GPU.Info.Arch))
      return GPU.Name;
  return "host";
}

void mneme::listDevices(raw_ostream &OS) {
  OS << "host: " << sys::getHostCPUName() << ", "
     << std::thread::hardware_concurrency() << " cores\n";
  for (const GPUDescription &GPU : findGPUsIfAny())
    OS << formatv("{0}: {1}, {2}, {3} GB, driver {4}\n", GPU.Name,
                  GPU.Info.Name, GPU.Info.Arch,
                  (GPU.Info.MemoryBytes + 500000000) / 1000000000,
                  GPU.Info.Driver);
}
