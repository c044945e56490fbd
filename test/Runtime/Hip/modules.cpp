// Launches of HIP's module API and its extended launches: what is recorded, and what is
// not, with the reason. What the program's calls return is what it is without Mneme.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %hip_ir -I%S/Inputs -O2 --offload-arch=gfx90a --no-gpu-bundle-output -c %s -o %t/app.co
// RUN: %hip_ir -I%S/Inputs -O2 --offload-arch=gfx90a -emit-llvm -c %s -o %t/app.bc
// RUN: %hip_cc -O2 --offload-arch=gfx90a -I%S/Inputs %s -o %t/app %hip_libs
// RUN: %emulated_amd MNEME_EMULATED_KERNELS=%t/app.bc %t/app %t/app.co | FileCheck %s
// RUN: %emulated_amd MNEME_EMULATED_KERNELS=%t/app.bc llvm-mneme-record --device=hip --max-recordings=0 -o %t/rec -- %t/app %t/app.co > %t/out 2> %t/err
// RUN: FileCheck %s < %t/out
// RUN: FileCheck %s --check-prefix=ERR < %t/err
// RUN: llvm-mneme-record check %t/rec
// RUN: %python %S/../Cuda/Inputs/replay-all.py "%emulated_amd MNEME_EMULATED_KERNELS=%t/app.bc llvm-mneme-replay" %t/rec hip:0 \
// RUN:   | FileCheck %s --check-prefix=REPLAY

// CHECK: extended: 1 2
// CHECK-NEXT: module: 15
// CHECK-NEXT: flags: 8
// CHECK-NEXT: cooperative: 16
// CHECK-NEXT: no error, then error 1, then error 1, then no error
// ERR: 9 launches seen, 8 recorded, 1 skipped
// ERR-NEXT: 1 skipped: same launch configuration recorded before
// REPLAY: add grid 1 cooperative: Match
// REPLAY-NEXT: add grid 1: Match
// REPLAY-NEXT: add grid 1: Match
// REPLAY-NEXT: add grid 2: Match
// REPLAY-NEXT: add grid 2: Match
// REPLAY-NEXT: add grid 3: Match
// REPLAY-NEXT: add grid 4: Match
// REPLAY-NEXT: add grid 5: Match

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x] += N; }

extern "C" {
hipError_t hipExtLaunchKernel(const void *, dim3, dim3, void **, size_t,
                              hipStream_t, void *Start, void *Stop, int Flags);
hipError_t hipLaunchCooperativeKernel(const void *, dim3, dim3, void **,
                                      unsigned, hipStream_t);
hipError_t hipExtMallocWithFlags(void **, size_t, unsigned);
hipError_t hipModuleLoadData(void **, const void *);
hipError_t hipModuleGetFunction(void **, void *, const char *);
hipError_t hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, unsigned, hipStream_t,
                                 void **, void **);
}

// HIP's header declares these without extern "C".
using hipFunction_t = struct ihipModuleSymbol_t *;
using hipEvent_t = struct ihipEvent_t *;
hipError_t hipExtModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, unsigned, size_t,
                                    hipStream_t, void **, void **,
                                    hipEvent_t Start = nullptr,
                                    hipEvent_t Stop = nullptr,
                                    unsigned Flags = 0);
hipError_t hipHccModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, unsigned, size_t,
                                    hipStream_t, void **, void **,
                                    hipEvent_t Start = nullptr,
                                    hipEvent_t Stop = nullptr);

// Newer releases have its name in C, too.
decltype(hipExtModuleLaunchKernel) launchByNameInC
    __asm__("hipExtModuleLaunchKernel");

int main(int, char **Argv) {
  int *D, *Fine, H[5], One = 1;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  auto *Add = reinterpret_cast<const void *>(add);
  void *Args[] = {&D, &One};
  OK(hipExtLaunchKernel(Add, dim3(2), dim3(1), Args, 0, nullptr, nullptr,
                        nullptr, 0));
  add<<<1, 1>>>(D + 1, 1);
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("extended: %d %d\n", H[0], H[1]);

  std::ifstream File(Argv[1], std::ios::binary);
  std::string Image((std::istreambuf_iterator<char>(File)), {});
  void *Module, *Function;
  OK(hipModuleLoadData(&Module, Image.data()));
  OK(hipModuleGetFunction(&Function, Module, "add"));
  OK(hipModuleLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, nullptr, Args,
                           nullptr));
  // Threads in blocks of one.
  auto *F = static_cast<hipFunction_t>(Function);
  OK(hipExtModuleLaunchKernel(F, 2, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr));
  OK(hipHccModuleLaunchKernel(F, 3, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr));
  OK(launchByNameInC(F, 4, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr, nullptr,
                     nullptr, 0));
  auto *Found = reinterpret_cast<decltype(&hipExtModuleLaunchKernel)>(
      dlsym(dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_NOLOAD),
            "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12"
            "ihipStream_tPPvS4_P11ihipEvent_tS6_j"));
  OK(Found(F, 5, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr, nullptr, nullptr,
           0));
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("module: %d\n", H[0] + H[1] + H[2] + H[3] + H[4] - 3);

  constexpr unsigned FineGrained = 1;
  OK(hipExtMallocWithFlags(reinterpret_cast<void **>(&Fine), 4, FineGrained));
  OK(cudaMemset(Fine, 0, 4));
  int Eight = 8, Sixteen = 16;
  OK(cudaMemcpy(Fine, &Eight, 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(H, Fine, 4, cudaMemcpyDeviceToHost));
  printf("flags: %d\n", H[0]);
  OK(cudaMemset(D, 0, 4));
  void *More[] = {&D, &Sixteen};
  OK(hipLaunchCooperativeKernel(Add, dim3(1), dim3(1), More, 0, nullptr));
  OK(cudaMemcpy(H, D, 4, cudaMemcpyDeviceToHost));
  printf("cooperative: %d\n", H[0]);

  // The last error is that of the program's own calls.
  printf("%s, ", cudaGetErrorString(cudaGetLastError()));
  EXPECT(cudaErrorInvalidValue, cudaFree(D + 1));
  OK(cudaMemcpy(H, D, 4, cudaMemcpyDeviceToHost));
  add<<<1, 1>>>(D, 1);
  printf("then error %d, ", int(cudaPeekAtLastError()));
  printf("then error %d, ", int(cudaGetLastError()));
  printf("then %s\n", cudaGetErrorString(cudaGetLastError()));
}
