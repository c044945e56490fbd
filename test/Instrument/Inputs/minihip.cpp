// The runtime for minihip.h: device memory is host memory, a launch is a line
// of output. Stands where libamdhip64.so would.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {
struct Dim3 {
  unsigned X, Y, Z;
};
struct Configuration {
  Dim3 Grid, Block;
  size_t SharedMem;
  void *Stream;
};
} // namespace

static std::map<const void *, std::string> &kernels() {
  static std::map<const void *, std::string> Kernels;
  return Kernels;
}

static std::vector<Configuration> Configurations;

extern "C" {
void **__hipRegisterFatBinary(const void *) {
  static void *Handle;
  return &Handle;
}
void __hipUnregisterFatBinary(void **) {}
void __hipRegisterFunction(void **, const void *Host, char *, const char *Name,
                           int, void *, void *, void *, void *, int *) {
  kernels()[Host] = Name;
}
void __hipRegisterVar(void **, void *, char *, const char *, int, size_t, int,
                      int) {}
void __hipRegisterManagedVar(void *, void **, void *, const char *, size_t,
                             unsigned) {}
// Used by what the linker wrapper generates.
void __hipRegisterSurface(void **, void *, char *, const char *, int, int) {}
void __hipRegisterTexture(void **, void *, char *, const char *, int, int,
                          int) {}
int __hipPushCallConfiguration(Dim3 Grid, Dim3 Block, size_t SharedMem,
                               void *Stream) {
  Configurations.push_back({Grid, Block, SharedMem, Stream});
  return 0;
}
int __hipPopCallConfiguration(Dim3 *Grid, Dim3 *Block, size_t *SharedMem,
                              void **Stream) {
  Configuration C = Configurations.back();
  Configurations.pop_back();
  *Grid = C.Grid;
  *Block = C.Block;
  *SharedMem = C.SharedMem;
  *Stream = C.Stream;
  return 0;
}
int hipLaunchKernel(const void *Host, Dim3 Grid, Dim3 Block, void **, size_t,
                    void *) {
  printf("launch %s grid %u block %u\n", kernels()[Host].c_str(), Grid.X,
         Block.X);
  return 0;
}
int hipMalloc(void **Pointer, size_t Size) {
  *Pointer = malloc(Size);
  return 0;
}
int hipFree(void *Pointer) {
  free(Pointer);
  return 0;
}
int hipDeviceSynchronize() { return 0; }
}
