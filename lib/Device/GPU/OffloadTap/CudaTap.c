//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library between liboffload and the CUDA driver. Its SONAME is libcuda.so,
// the name that liboffload opens, so liboffload gets this library if it is
// loaded first. It needs libcuda.so.1, in which functions that it does not
// define are found.
//
//===----------------------------------------------------------------------===//

#include "CudaTap.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

typedef int (*LaunchKernelFn)(void *, unsigned, unsigned, unsigned, unsigned,
                              unsigned, unsigned, unsigned, void *, void **,
                              void **);
typedef int (*ModuleGetFunctionFn)(void **, void *, const char *);
typedef int (*MemsetD8AsyncFn)(unsigned long long, unsigned char, size_t,
                               void *);
typedef int (*EventRecordFn)(void *, void *);

static struct {
  LaunchKernelFn LaunchKernel;
  ModuleGetFunctionFn ModuleGetFunction;
  MemsetD8AsyncFn MemsetD8Async;
  EventRecordFn EventRecord;
} Driver;

static __thread MnemeCudaTap Tap;

static void findDriver(void) {
  void *Library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!Library)
    return;
  Driver.LaunchKernel = (LaunchKernelFn)dlsym(Library, "cuLaunchKernel");
  Driver.ModuleGetFunction =
      (ModuleGetFunctionFn)dlsym(Library, "cuModuleGetFunction");
  Driver.MemsetD8Async = (MemsetD8AsyncFn)dlsym(Library, "cuMemsetD8Async");
  Driver.EventRecord = (EventRecordFn)dlsym(Library, "cuEventRecord");
}

/// \returns whether the driver has all tapped functions. If not, they return
/// CUDA_ERROR_NOT_FOUND.
static int haveDriver(void) {
  static pthread_once_t Once = PTHREAD_ONCE_INIT;
  pthread_once(&Once, findDriver);
  return Driver.LaunchKernel && Driver.ModuleGetFunction &&
         Driver.MemsetD8Async && Driver.EventRecord;
}

enum { NotFound = 500 };

EXPORT MnemeCudaTap *mneme_cuda_tap(void) { return &Tap; }

EXPORT int cuModuleGetFunction(void **Function, void *Module,
                               const char *Name) {
  if (!haveDriver())
    return NotFound;
  int Result = Driver.ModuleGetFunction(Function, Module, Name);
  if (Result == 0)
    Tap.Function = *Function;
  return Result;
}

EXPORT int cuMemsetD8Async(unsigned long long Address, unsigned char Value,
                           size_t Size, void *Stream) {
  if (!haveDriver())
    return NotFound;
  Tap.Stream = Stream;
  return Driver.MemsetD8Async(Address, Value, Size, Stream);
}

EXPORT int cuLaunchKernel(void *Function, unsigned GridX, unsigned GridY,
                          unsigned GridZ, unsigned BlockX, unsigned BlockY,
                          unsigned BlockZ, unsigned Shared, void *Stream,
                          void **Args, void **Extra) {
  if (!haveDriver())
    return NotFound;
  void *Start = Tap.Start, *Stop = Tap.Stop;
  Tap.Start = Tap.Stop = NULL;
  Tap.Stream = Stream;
  int Result = Start ? Driver.EventRecord(Start, Stream) : 0;
  if (Result == 0)
    Result = Driver.LaunchKernel(Function, GridX, GridY, GridZ, BlockX, BlockY,
                                 BlockZ, Shared, Stream, Args, Extra);
  if (Result == 0 && Stop)
    Result = Driver.EventRecord(Stop, Stream);
  return Tap.Result = Result;
}
