// Extended launches are served if they say no more than others; else the application's own
// kernel is launched, and the reason is counted. So are launches on several devices at once.
// Those of the module API have no tuned kernel here.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.co
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z4fillPi variant=%t/tuned.co entry=tuned
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc LD_PRELOAD=%mneme_deploy \
// RUN:   MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=- %t/app > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s
// CHECK: extended: tuned
// CHECK-NEXT: event: plain
// CHECK-NEXT: flags: plain
// CHECK-NEXT: last error: 1
// CHECK-NEXT: module: plain
// CHECK: launches: 1 served by tuned kernels, 2 fell back, 0 too early, 0 of kernels without a tuned one
// CHECK: launches through the driver, which are not served: 2
// CHECK: 2 fell back: launched with events or flags of an extended launch

#ifdef TUNED
extern "C" __global__ void tuned(int *P) { *P = 1; }
#else
#include "../../Runtime/Inputs/check.h"

__global__ void fill(int *P) { *P = 2; }

extern "C" {
hipError_t hipExtLaunchKernel(const void *, dim3, dim3, void **, size_t,
                              hipStream_t, void *Start, void *Stop, int Flags);
hipError_t hipEventCreateWithFlags(void **, unsigned);
hipError_t hipGetFuncBySymbol(struct ihipModuleSymbol_t **, const void *);
}

// HIP's header declares these without extern "C".
hipError_t hipExtModuleLaunchKernel(struct ihipModuleSymbol_t *, unsigned,
                                    unsigned, unsigned, unsigned, unsigned,
                                    unsigned, size_t, hipStream_t, void **,
                                    void **, struct ihipEvent_t *Start,
                                    struct ihipEvent_t *Stop, unsigned Flags);
hipError_t hipHccModuleLaunchKernel(struct ihipModuleSymbol_t *, unsigned,
                                    unsigned, unsigned, unsigned, unsigned,
                                    unsigned, size_t, hipStream_t, void **,
                                    void **, struct ihipEvent_t *Start,
                                    struct ihipEvent_t *Stop);

static int *D;

static void launch(const char *What, void *Stop, int Flags) {
  int H = 0;
  void *Args[] = {&D};
  OK(hipExtLaunchKernel(reinterpret_cast<const void *>(fill), dim3(1), dim3(1),
                        Args, 0, nullptr, nullptr, Stop, Flags));
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%s: %s\n", What, H == 1 ? "tuned" : "plain");
}

int main() {
  void *Event;
  OK(hipEventCreateWithFlags(&Event, 0));
  OK(cudaMalloc(&D, 4));
  // An error that stays, whatever Mneme calls.
  EXPECT(cudaErrorInvalidValue, cudaFree(D + 1));
  launch("extended", nullptr, 0);
  launch("event", Event, 0);
  launch("flags", nullptr, 1);
  printf("last error: %d\n", int(cudaGetLastError()));

  ihipModuleSymbol_t *F;
  int H = 0;
  void *Args[] = {&D};
  OK(hipGetFuncBySymbol(&F, reinterpret_cast<const void *>(fill)));
  OK(hipExtModuleLaunchKernel(F, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr,
                              nullptr, nullptr, 0));
  OK(hipHccModuleLaunchKernel(F, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr,
                              nullptr, nullptr));
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("module: %s\n", H == 2 ? "plain" : "tuned");
}
#endif
