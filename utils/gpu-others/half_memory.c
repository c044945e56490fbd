/* A CUDA driver that says that a GPU has half of its memory; everything else is the driver's. LLVM 22's libomptarget needs it
   to record (docs/OtherCompilers.rst). It is loaded as libcuda.so and depends on libcuda.so.1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int cuDeviceTotalMem_v2(size_t *Bytes, int Device) {
  int (*Next)(size_t *, int) = (int (*)(size_t *, int))dlsym(RTLD_NEXT, "cuDeviceTotalMem_v2");
  int Result = Next(Bytes, Device);
  if (!Result)
    *Bytes /= 2;
  return Result;
}
