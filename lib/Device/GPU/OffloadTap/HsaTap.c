//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library between liboffload and HSA. Its SONAME is libhsa-runtime64.so, the
// name that liboffload opens, so liboffload gets this library if it is loaded
// first. It needs libhsa-runtime64.so.1, in which functions that it does not
// define are found.
//
//===----------------------------------------------------------------------===//

#include "HsaTap.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

// Of hsa.h and hsa_ext_amd.h.
enum { Success = 0, NotInitialized = 0x100b, MemoryFault = 43 };
enum { MemoryFaultEvent = 0 };
typedef struct {
  uint64_t Value;
} Handle;
typedef struct {
  int Type;
} Event;
typedef void (*QueueCallback)(int, void *, void *);
typedef int (*EventCallback)(const Event *, void *);
typedef int (*QueueCreateFn)(Handle, uint32_t, uint32_t, QueueCallback, void *,
                             uint32_t, uint32_t, void **);
typedef int (*RegisterFn)(EventCallback, void *);

static int Failure;

static void fail(int Status) {
  int None = 0;
  __atomic_compare_exchange_n(&Failure, &None, Status, /*weak=*/0,
                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

EXPORT int mneme_hsa_tap_failure(void) {
  return __atomic_load_n(&Failure, __ATOMIC_SEQ_CST);
}

static void queueFailed(int Status, void *Queue, void *Data) {
  (void)Queue;
  (void)Data;
  fail(Status);
}

static int eventHappened(const Event *E, void *Data) {
  (void)Data;
  if (E->Type == MemoryFaultEvent)
    fail(MemoryFault);
  return Success;
}

static void *find(const char *Name) {
  void *Library = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
  return Library ? dlsym(Library, Name) : NULL;
}

EXPORT int hsa_queue_create(Handle Agent, uint32_t Size, uint32_t Type,
                            QueueCallback Callback, void *Data,
                            uint32_t Private, uint32_t Group, void **Queue) {
  QueueCreateFn Create = (QueueCreateFn)find("hsa_queue_create");
  (void)Callback;
  return Create ? Create(Agent, Size, Type, queueFailed, Data, Private, Group,
                         Queue)
                : NotInitialized;
}

EXPORT int hsa_amd_register_system_event_handler(EventCallback Callback,
                                                 void *Data) {
  RegisterFn Register =
      (RegisterFn)find("hsa_amd_register_system_event_handler");
  (void)Callback;
  return Register ? Register(eventHappened, Data) : NotInitialized;
}
