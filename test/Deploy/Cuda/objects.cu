// Libraries with CUDA runtimes of their own, one of them opened later, are served;
// so are 16 threads. A forked child launches nothing of a package.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -DPART=1 -o %t/one.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -DPART=2 -o %t/two.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/main.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// DEFINE: %{library} = -O2 -shared -fPIC -fvisibility=hidden -Wl,--exclude-libs,ALL
// RUN: %cuda_cc_static %{library} %s -DPART=1 -o %t/libone.so %emulated_static_libs
// RUN: %cuda_cc_static %{library} %s -DPART=2 -o %t/libtwo.so %emulated_static_libs
// RUN: %cuda_cc -O2 %s -o %t/app -L%t -lone -Wl,-rpath,%t -lpthread
// RUN: mneme-package %t/main.mneme %t/app kernel=_Z6kernelPi variant=%t/tuned.cubin entry=tuned
// RUN: mneme-package %t/one.mneme %t/libone.so kernel=_Z7kernel1Pi variant=%t/tuned.cubin entry=tuned
// RUN: mneme-package %t/two.mneme %t/libtwo.so kernel=_Z7kernel2Pi variant=%t/tuned.cubin entry=tuned
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t LD_PRELOAD=%mneme_deploy MNEME_TUNED_REPORT=- \
// RUN:   MNEME_TUNED=%t/main.mneme:%t/one.mneme:%t/two.mneme %t/app %t > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s
// CHECK: one 100 two 100 main 100
// CHECK: threads: 1600 of 1600
// CHECK: child: 0
// CHECK: mneme: launches: 1603 served by tuned kernels, 0 fell back, 0 too early, 0 of kernels without
// CHECK-NOT: mneme: launches
//
// The same with the library linked instead of preloaded.
// RUN: %cuda_cc_static -O2 %s -o %t/linked -L%t -lone -Wl,-rpath,%t:%mneme_build/lib %mneme_deploy \
// RUN:   -Wl,--no-as-needed -lcudart -lpthread
// RUN: mneme-package %t/main.mneme %t/linked kernel=_Z6kernelPi variant=%t/tuned.cubin entry=tuned
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t MNEME_TUNED_REPORT=- \
// RUN:   MNEME_TUNED=%t/main.mneme:%t/one.mneme:%t/two.mneme %t/linked %t > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s

#define NAME_(A, B) A##B
#define NAME(A, B) NAME_(A, B)

#ifdef TUNED
extern "C" __global__ void tuned(int *P) { *P = 100; }
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#ifdef PART
__global__ void NAME(kernel, PART)(int *P) { *P = PART; }
extern "C" __attribute__((visibility("default"))) int NAME(run, PART)() {
  int *D, H = 0;
  OK(cudaMalloc(&D, 4));
  NAME(kernel, PART)<<<1, 1>>>(D);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  OK(cudaFree(D));
  return H;
}
#else
#include <atomic>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void kernel(int *P) { *P = 7; }

extern "C" int run1();

int main(int, char **Argv) {
  std::string Dir = Argv[1];
  int *D, H;
  OK(cudaMalloc(&D, 4));
  kernel<<<1, 1>>>(D);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  int One = run1();
  void *Two = dlopen((Dir + "/libtwo.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(Two);
  auto Run2 = reinterpret_cast<int (*)()>(dlsym(Two, "run2"));
  printf("one %d two %d main %d\n", One, Run2(), H);

  std::atomic<int> Count{0};
  std::vector<std::thread> Threads;
  for (int T = 0; T != 16; ++T)
    Threads.emplace_back([&] {
      int *P, Result;
      OK(cudaMalloc(&P, 4));
      for (int I = 0; I != 100; ++I) {
        OK(cudaMemset(P, 0, 4));
        kernel<<<1, 1>>>(P);
        OK(cudaGetLastError());
        OK(cudaMemcpy(&Result, P, 4, cudaMemcpyDeviceToHost));
        Count += Result == 100;
      }
    });
  for (std::thread &T : Threads)
    T.join();
  printf("threads: %d of 1600\n", Count.load());
  fflush(stdout);
  if (pid_t Child = fork()) {
    int Status;
    waitpid(Child, &Status, 0);
    printf("child: %d\n", Status);
  } else {
    exit(0);
  }
}
#endif
#endif
