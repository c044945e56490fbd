// launch-image IMAGE KERNEL [IR [OPTIONS [SYMBOL [OTHER]]]]: registers IR for an image, or for
// the image OTHER, loads the image through the driver, and launches KERNEL(int *P, int N),
// which adds N to P[i].
#include "driver.h"
#include <mneme/record.h>

int main(int Argc, char **Argv) {
  std::string Image = read(Argv[1]);
  CUmodule Module;
  CUfunction Function;
  makeContext();
  if (Argc > 3) {
    std::string IR = read(Argv[3]);
    const char *Options = Argc > 4 && *Argv[4] ? Argv[4] : nullptr;
    std::string Bound = Argc > 6 ? read(Argv[6]) : Image;
    printf("registered %d\n",
           mneme_register_ir(Bound.data(), Bound.size(), Argc > 5 ? Argv[5] : Argv[2],
                             IR.data(), IR.size(), Options));
  }
  CHECK(cuModuleLoadData(&Module, Image.c_str()));
  CHECK(cuModuleGetFunction(&Function, Module, Argv[2]));
  CUdeviceptr P;
  int H[64] = {}, N = 7;
  CHECK(cuMemAlloc(&P, sizeof(H)));
  CHECK(cuMemcpyHtoD(P, H, sizeof(H)));
  void *Args[] = {&P, &N};
  CHECK(cuLaunchKernel(Function, 2, 1, 1, 32, 1, 1, 0, nullptr, Args, nullptr));
  CHECK(cuMemcpyDtoH(H, P, sizeof(H)));
  printf("result %d %d\n", H[0], H[63]);
}
