//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cupti.h"
#include "CuptiTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
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
  std::string describe(CUptiResult R) const;
};
} // namespace

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static void *openCupti() {
  const char *const Names[] = {"libcupti.so.13", "libcupti.so.12",
                               "libcupti.so"};
  for (const char *Name : Names)
    if (void *Library = dlopen(Name, RTLD_NOW | RTLD_LOCAL))
      return Library;
  SmallVector<std::string, 3> Roots;
  for (const char *Variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *Root = std::getenv(Variable))
      Roots.push_back(Root);
  Roots.push_back("/usr/local/cuda");
  for (const std::string &Root : Roots)
    for (const char *Folder : {"extras/CUPTI/lib64", "lib64", "lib"})
      for (const char *Name : Names) {
        SmallString<128> Path(Root);
        sys::path::append(Path, Folder, Name);
        if (void *Library = dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL))
          return Library;
      }
  return nullptr;
}

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
  // Neither closed nor freed, because CUPTI keeps threads.
  void *Library = openCupti();
  if (!Library)
    return createStringError("no CUPTI: cannot load libcupti.so");
  CuptiFunctions F;
  const char *Missing = nullptr;
  auto Find = [&](auto &Function, const char *Symbol) {
    Function = reinterpret_cast<std::decay_t<decltype(Function)>>(
        dlsym(Library, Symbol));
    if (!Function && !Missing)
      Missing = Symbol;
  };
  Find(F.ActivityEnable, "cuptiActivityEnable");
  Find(F.ActivityDisable, "cuptiActivityDisable");
  Find(F.ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
  Find(F.ActivityFlushAll, "cuptiActivityFlushAll");
  Find(F.ActivityGetNextRecord, "cuptiActivityGetNextRecord");
  Find(F.GetResultString, "cuptiGetResultString");
  if (Missing)
    return createStringError("CUPTI has no " + Twine(Missing));
  auto *C = new Cupti;
  C->F = F;
  TheCupti = C;
  if (CUptiResult R =
          F.ActivityRegisterCallbacks(requestBuffer, completeBuffer)) {
    TheCupti = nullptr;
    return createStringError("CUPTI cannot start: " + C->describe(R));
  }
  return C;
}

std::string Cupti::describe(CUptiResult R) const {
  const char *Text = nullptr;
  if (F.GetResultString(R, &Text) || !Text)
    return "CUPTI error " + std::to_string(R);
  return Text;
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
                               (*C)->describe(R));
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
