// Kernels that the program builds statement by statement, through the CUDA runtime and the driver, on a stream: shared memory, launch
// bounds, atomics, a loop. The emulated driver runs the text that print() shows, after it was compiled as CUDA.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 -std=c++17 -I%mneme_src/include %s -o %t/app -lcudart
// RUN: %t/app print > %t/printed.cu
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %t/printed.cu -o %t/printed.bc
// DEFINE: %{run} = %jit_gpu MNEME_EMULATED_KERNELS=%t/printed.bc MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %t/app
// RUN: %{run} | FileCheck %s
// CHECK: no error: 496 496 31 32
// CHECK: a key twice, built 1, compiled 1
// RUN: %python %S/../Source/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=FIRST
// FIRST: library with kernels C++ compiled: 1
// RUN: %{run} | FileCheck %s
// RUN: %python %S/../Source/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=SECOND
// SECOND: library with kernels C++ cache: 1
//
// The bounds are those of the image.
// RUN: %cuda_cc_plain -O2 --cuda-device-only -S %t/printed.cu -o - | FileCheck %s --check-prefix=PTX
// PTX: .entry sum(
// PTX: .maxntid 32
// PTX: .minnctapersm 2

#include <cstdio>
#include <mneme/jit_builder.h>

using namespace mneme::builder;
namespace gpu = mneme::builder::builtins::gpu;

static auto addSum(Module &M) {
  auto K = M.addKernel<void(const int *, int *)>("sum");
  K.setLaunchBounds(32, 2);
  auto &F = K.F;
  F.function([&] {
    auto &X = F.getArg<0>();
    auto &Out = F.getArg<1>();
    auto S = F.declVar<int[]>(32, AddressSpace::SHARED);
    auto T = F.callBuiltin(gpu::getThreadIdX);
    S[T] = X[T];
    F.callBuiltin(gpu::syncThreads);
    F.atomicAdd(Out, S[31 - T]);
    F.atomicMax(Out + 2, S[T]);
    F.atomicAdd(Out + 3, 1);
    F.ifThen(T == 0, [&] {
      auto I = F.declVar<int>(), Zero = F.defVar<int>(0), One = F.defVar<int>(1), N = F.defVar<int>(32);
      auto Sum = F.defVar<int>(0);
      F.forLoop<EmissionPolicy::Lazy>(I, Zero, N, One, [&] { Sum += S[I]; }).tile(5).emit();
      Out[1] = Sum;
    });
    F.ret();
  });
  return K;
}

int main(int argc, char **) {
  Module M(mneme::jit_target::cuda);
  auto Sum = addSum(M);
  if (argc > 1)
    return M.print(), 0;
  int *X, *Out, Host[32] = {};
  cudaMalloc(&X, sizeof(Host));
  cudaMalloc(&Out, 4 * sizeof(int));
  cudaMemcpy(Out, Host, 4 * sizeof(int), cudaMemcpyHostToDevice);
  for (int I = 0; I < 32; ++I)
    Host[I] = I;
  cudaMemcpy(X, Host, sizeof(Host), cudaMemcpyHostToDevice);
  cudaStream_t Stream;
  cudaStreamCreate(&Stream);
  cudaError_t Error = Sum.launch(1, 32, 0, Stream, X, Out);
  cudaStreamSynchronize(Stream);
  cudaMemcpy(Host, Out, 4 * sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%s: %d %d %d %d\n%s", cudaGetErrorString(Error), Host[0], Host[1], Host[2], Host[3], M.error().c_str());

  int Built = 0, Compiled = 0;
  for (const char *Key : {"sum", "sum"})
    Compiled += lookup(Key, mneme::jit_target::cuda, [&](Module &New) {
                  ++Built;
                  addSum(New);
                }).kernel<void(const int *, int *)>("sum") &&
                !Compiled;
  std::printf("a key twice, built %d, compiled %d\n", Built, Compiled);
}
