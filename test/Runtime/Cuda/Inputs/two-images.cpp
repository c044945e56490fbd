// two-images A B [IR_OF_A IR_OF_B]: registers IR for two images that have a kernel
// add(int *P, int N) each, and launches both by turns. Each is loaded anew, once the
// other has been unloaded while its launch may still be recorded.
#include "driver.h"
#include <mneme/record.h>

int main(int Argc, char **Argv) {
  makeContext();
  CUdeviceptr P;
  int H = 0, N = 7;
  CHECK(cuMemAlloc(&P, sizeof(H)));
  CHECK(cuMemcpyHtoD(P, &H, sizeof(H)));
  void *Args[] = {&P, &N};
  for (int Round = 0; Round != 4; ++Round) {
    std::string Image = read(Argv[1 + Round % 2]);
    if (Argc > 4) {
      std::string IR = read(Argv[3 + Round % 2]);
      mneme_register_ir(Image.data(), Image.size(), "add", IR.data(), IR.size(), nullptr);
    }
    CUmodule Module;
    CUfunction Function;
    CHECK(cuModuleLoadData(&Module, Image.c_str()));
    CHECK(cuModuleGetFunction(&Function, Module, "add"));
    CHECK(cuLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr));
    CHECK(cuModuleUnload(Module));
  }
  CHECK(cuMemcpyDtoH(&H, P, sizeof(H)));
  printf("result %d\n", H);
}
