// For programs that launch kernels of images through the driver.
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <string>

#define CHECK(X)                                                                        \
  if (int E = (X))                                                                      \
    printf("%s: %d\n", #X, E), exit(1)

static std::string read(const char *Path) {
  std::string Bytes;
  FILE *F = fopen(Path, "rb");
  if (!F)
    exit(2);
  for (int C; (C = fgetc(F)) != EOF;)
    Bytes += C;
  fclose(F);
  return Bytes;
}

static void makeContext() {
  CUdevice Device;
  CUcontext Context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&Device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&Context, Device));
  CHECK(cuCtxSetCurrent(Context));
}
