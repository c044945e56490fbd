//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cupti.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Runtime/Cupti.h"
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

using namespace llvm;
using namespace cupti;

namespace {
struct KernelRecord {
  uint32_t Device;
  double Nanoseconds;
  std::string Name;
};

class Cupti {
public:
  CuptiFunctions F = {};
  std::mutex Lock;
  std::vector<KernelRecord> Records; ///< Guarded by Lock.
  std::vector<uint8_t *> Buffers;    ///< Unused ones. Guarded by Lock.
  std::mutex UsersLock;
  unsigned Users = 0; ///< Of enableCupti(). Guarded by UsersLock.

  static Expected<Cupti *> get();
};
} // namespace

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

static Cupti *TheCupti = nullptr;

static constexpr size_t BufferSize = 1 << 20;

static void requestBuffer(uint8_t **Buffer, size_t *Size, size_t *MaxRecords) {
  *Size = BufferSize;
  *MaxRecords = 0; // as many as fit
  std::lock_guard<std::mutex> Guard(TheCupti->Lock);
  if (!TheCupti->Buffers.empty()) {
    *Buffer = TheCupti->Buffers.back();
    TheCupti->Buffers.pop_back();
    return;
  }
  *Buffer = static_cast<uint8_t *>(std::aligned_alloc(64, BufferSize));
  if (!*Buffer)
    *Size = 0;
}

static void completeBuffer(void *, uint32_t, uint8_t *Buffer, size_t,
                           size_t Valid) {
  if (!Buffer)
    return;
  std::lock_guard<std::mutex> Guard(TheCupti->Lock);
  void *Record = nullptr;
  while (Valid && TheCupti->F.ActivityGetNextRecord(Buffer, Valid, &Record) ==
                      CUPTI_SUCCESS) {
    auto *K = static_cast<const ActivityKernel *>(Record);
    // Times that could not be measured are 0.
    if (K->Kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && K->Name &&
        K->End > K->Start)
      TheCupti->Records.push_back(
          {K->DeviceId, double(K->End - K->Start), K->Name});
  }
  TheCupti->Buffers.push_back(Buffer);
}

Expected<Cupti *> Cupti::get() {
  static std::mutex &Loading = *new std::mutex;
  std::lock_guard<std::mutex> Guard(Loading);
  if (TheCupti)
    return TheCupti;
  CuptiFunctions F;
  std::string Problem;
  if (!F.load(Problem))
    return createStringError(Problem);
  // Never freed, because CUPTI keeps threads.
  auto *C = new Cupti;
  C->F = F;
  TheCupti = C;
  if (CUptiResult R =
          F.ActivityRegisterCallbacks(requestBuffer, completeBuffer)) {
    TheCupti = nullptr;
    return createStringError("CUPTI cannot start: " + F.describe(R));
  }
  return C;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

Error llvm::mneme::enableCupti() {
  Expected<Cupti *> C = Cupti::get();
  if (!C)
    return C.takeError();
  std::lock_guard<std::mutex> Guard((*C)->UsersLock);
  if ((*C)->Users == 0)
    if (CUptiResult R =
            (*C)->F.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
      return createStringError("CUPTI cannot report kernels: " +
                               (*C)->F.describe(R));
  ++(*C)->Users;
  return Error::success();
}

void llvm::mneme::disableCupti() {
  std::lock_guard<std::mutex> Guard(TheCupti->UsersLock);
  if (--TheCupti->Users == 0)
    TheCupti->F.ActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

static void takeRecords(unsigned Ordinal, StringRef Kernel, double &Sum,
                        unsigned &Count) {
  std::lock_guard<std::mutex> Guard(TheCupti->Lock);
  llvm::erase_if(TheCupti->Records, [&](const KernelRecord &R) {
    if (R.Device != Ordinal)
      return false;
    if (R.Name == Kernel) {
      Sum += R.Nanoseconds;
      ++Count;
    }
    return true;
  });
}

std::optional<double> llvm::mneme::takeCuptiTime(unsigned Ordinal,
                                                 StringRef Kernel,
                                                 unsigned Launches) {
  if (!TheCupti)
    return std::nullopt;
  // A record is complete shortly after its kernel. A buffer with an incomplete
  // record is returned only by a forced flush.
  constexpr unsigned Attempts = 50;
  constexpr auto Nap = std::chrono::microseconds(200);
  double Sum = 0;
  unsigned Count = 0;
  for (unsigned I = 1; I <= Attempts; ++I) {
    bool IsLast = I == Attempts;
    if (TheCupti->F.ActivityFlushAll(IsLast ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
                                            : 0))
      break;
    takeRecords(Ordinal, Kernel, Sum, Count);
    if (Count >= Launches)
      break;
    if (!IsLast)
      std::this_thread::sleep_for(Nap);
  }
  if (Count != Launches)
    return std::nullopt;
  return Sum;
}
