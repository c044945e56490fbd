// Kernels that the program builds statement by statement, on the host device: shared memory, launch bounds, atomics, loops that are
// tiled and unrolled, builtins, device functions. What print() shows is CUDA.
//
// REQUIRES: cuda-toolkit, ptxas, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 -std=c++17 -I%mneme_src/include %s -o %t/app -lcudart
// DEFINE: %{run} = env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %source_run %t/app
// RUN: %{run} > %t/out
// RUN: FileCheck %s < %t/out
// RUN: FileCheck %s --check-prefix=TEXT < %t/out
// TEXT: extern "C" __global__ __launch_bounds__(64, 2) void reverse(int * a0);
// TEXT: extern "C" __global__ __launch_bounds__(64, 2) void reverse(int * a0) {
// TEXT-NEXT: {{^  }}__shared__ int [[ARRAY:v[0-9]+]][64];
// TEXT: [[ID:v[0-9]+]] = threadIdx.x;
// TEXT: = [[ARRAY]] + [[ID]];
// TEXT: __syncthreads();
// RUN: sed -n '/^extern "C"/,/^---/{/^---/!p}' %t/out > %t/printed.cu
// RUN: %cuda_cc_plain --cuda-device-only -emit-llvm -S %t/printed.cu -o - | FileCheck %s --check-prefix=IR
// IR: define{{.*}} ptx_kernel void @reverse({{.*}} #[[BOUNDS:[0-9]+]] {
// IR: attributes #[[BOUNDS]] = {{.*}}"nvvm.maxntid"="64" "nvvm.minctasm"="2"
//
// CHECK: --- 0
// CHECK-NEXT: reverse 0: 63 62 1 0
// CHECK-NEXT: sum 0: 2016 4032
// CHECK-NEXT: atomics 0: 64 -64 63 -5 32 0.25
// CHECK-NEXT: old values 2016
// CHECK-NEXT: shared atomics 0: 64
// CHECK-NEXT: loops 0: 45 18 18 10 6 45
// CHECK-NEXT: builtins 0: 321 432 654
// CHECK-NEXT: compare 0: 1 0 1
// CHECK-NEXT: math 0: 3 8 4.5 -1
// CHECK-NEXT: kept 0: 8
// CHECK-NEXT: error: an unrolled loop cannot be tiled
// CHECK-NEXT: error: a tiled loop cannot be unrolled
//
// A second run compiles nothing.
// RUN: %{run} | diff - %t/out
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=SECOND
// SECOND: library with kernels C++ cache: 1

#include <cstdio>
#include <mneme/jit_builder.h>

using namespace mneme::builder;
namespace gpu = mneme::builder::builtins::gpu;
using mneme::jit_target;

static constexpr auto Lazy = EmissionPolicy::Lazy;

static auto addReverse(Module &M) {
  auto K = M.addKernel<void(int *)>("reverse");
  auto &F = K.F;
  K.setLaunchBounds(64, 2);
  F.function([&] {
    auto S = F.declVar<int[]>(64, AddressSpace::SHARED);
    auto I = F.callBuiltin(gpu::getThreadIdX);
    auto &X = F.getArg<0>();
    S[I] = X[I];
    F.callBuiltin(gpu::syncThreads);
    X[I] = S[63 - I];
    F.ret();
  });
  return K;
}

/// The sum of a block, in a tree.
static auto addSum(Module &M) {
  auto &Twice = M.addFunction<int(int)>("twice");
  Twice.function([&] { Twice.ret(Twice.getArg<0>() * 2); });
  auto K = M.addKernel<void(const int *, int *, int)>("sum");
  auto &F = K.F;
  F.function([&] {
    auto &X = F.getArg<0>();
    auto &Out = F.getArg<1>();
    auto &N = F.getArg<2>();
    auto S = F.declVar<int[]>(64, AddressSpace::SHARED);
    auto I = F.callBuiltin(gpu::getThreadIdX);
    S[I] = 0;
    F.ifThen(I < N, [&] { S[I] = X[I]; });
    F.callBuiltin(gpu::syncThreads);
    auto Half = F.callBuiltin(gpu::getBlockDimX) / 2;
    F.whileLoop([&] { return Half > 0; },
                [&] {
                  F.ifThen(I < Half, [&] { S[I] += S[I + Half]; });
                  F.callBuiltin(gpu::syncThreads);
                  Half = Half / 2;
                });
    F.ifThen(I != 0, [&] { F.ret(); });
    auto Sum = F.defVar<int>(S[0]);
    Out[0] = Sum;
    Out[1] = F.call<int(int)>("twice", Sum);
    F.ret();
  });
  return K;
}

static auto addAtomics(Module &M) {
  auto K = M.addKernel<void(int *, double *, unsigned *)>("atomics");
  auto &F = K.F;
  F.function([&] {
    auto [X, D, Old] = F.getArgs();
    auto I = F.convert<int>(F.callBuiltin(gpu::getThreadIdX));
    auto One = F.defRuntimeConst(1);
    // Each thread has a number of its own.
    auto Mine = F.atomicAdd(X, One);
    F.atomicAdd(Old, F.convert<unsigned>(Mine));
    F.atomicSub((X[1]).getAddress(), One);
    F.atomicMax(X + 2, I);
    F.atomicMin(X + 3, I - 5);
    F.atomicAdd(D, 0.5);
    F.atomicMin(D + 1, F.convert<double>(I) + 0.25);
    F.ret();
  });
  return K;
}

static auto addSharedAtomics(Module &M) {
  auto K = M.addKernel<void(int *)>("shared_atomics");
  auto &F = K.F;
  F.function([&] {
    auto S = F.declVar<int[]>(1, AddressSpace::SHARED);
    auto I = F.callBuiltin(gpu::getThreadIdX);
    F.ifThen(I == 0, [&] { S[0] = 0; });
    F.callBuiltin(gpu::syncThreads);
    F.atomicAdd(S[0].getAddress(), 1);
    F.callBuiltin(gpu::syncThreads);
    F.ifThen(I == 0, [&] { F.getArg<0>()[0] = S[0]; });
    F.ret();
  });
  return K;
}

static auto addLoops(Module &M) {
  auto K = M.addKernel<void(int *, int, long)>("loops");
  auto &F = K.F;
  F.function([&] {
    auto &X = F.getArg<0>();
    auto &N = F.getArg<1>();
    auto &Rows = F.getArg<2>();
    auto Zero = F.defVar<int>(0), One = F.defVar<int>(1), Three = F.defVar<int>(3);
    auto I = F.declVar<int>();
    auto J = F.declVar<long>();
    auto Sum = F.defVar<int>(0);
    auto Put = [&](int At) {
      X[At] = Sum;
      Sum = 0;
    };
    F.forLoop<Lazy>(I, Zero, N, One, [&] { Sum += I; }).tile(4).emit();
    Put(0);
    // 0, 3, 6 and 9, in tiles of two.
    F.forLoop<Lazy>(I, Zero, N, Three, [&] { Sum += I; }).tile(2).emit();
    Put(1);
    F.forLoop<Lazy>(I, Zero, N, Three, [&] { Sum += I; }).unroll(3).emit();
    Put(2);
    // The inner loop begins where the outer one is, with another type: 4 + 3 + 2 + 1.
    F.buildLoopNest(F.forLoop<Lazy>(I, Zero, Rows, One), F.forLoop<Lazy>(J, I, Rows, One, [&] { Sum += 1; })).emit();
    Put(3);
    F.buildLoopNest(F.forLoop<Lazy>(I, Zero, Three, One, [&] { Sum += I; }),
                    F.forLoop<Lazy>(J, Zero, Three, One, [&] { F.ifThen(J == 1, [&] { Sum += 1; }); }).unroll())
        .emit();
    Put(4);
    F.forLoop(I, Zero, F.defVar<int>(100), One, [&] {
      F.ifThen(I == N, [&] { F.breakLoop(); });
      Sum += I;
    });
    Put(5);
    F.ret();
  });
  return K;
}

static auto addBuiltins(Module &M) {
  auto K = M.addKernel<void(unsigned *)>("builtins");
  auto &F = K.F;
  F.function([&] {
    auto &X = F.getArg<0>();
    auto Get = [&](auto Builtin) { return F.callBuiltin(Builtin); };
    auto IsLast = Get(gpu::getThreadIdX) + 1 == Get(gpu::getBlockDimX) && Get(gpu::getBlockIdX) == 1 &&
                  Get(gpu::getThreadIdY) == 2 && Get(gpu::getThreadIdZ) == 3 && Get(gpu::getBlockIdY) == 2 &&
                  Get(gpu::getBlockIdZ) == 3;
    F.ifThen(IsLast, [&] {
      X[0] = Get(gpu::getThreadIdZ) * 100 + Get(gpu::getThreadIdY) * 10 + Get(gpu::getThreadIdX);
      X[1] = Get(gpu::getBlockDimZ) * 100 + Get(gpu::getBlockDimY) * 10 + Get(gpu::getBlockDimX);
      X[2] = (Get(gpu::getGridDimZ) + 2) * 100 + (Get(gpu::getGridDimY) + 2) * 10 + Get(gpu::getGridDimX) + 2;
    });
    F.ret();
  });
  return K;
}

static auto addCompare(Module &M) {
  auto K = M.addKernel<void(int *, int, float)>("compare");
  auto &F = K.F;
  F.function([&] {
    auto [X, I, Y] = F.getArgs();
    X[0] = F.convert<int>(I < Y);
    X[1] = F.convert<int>(I == Y);
    X[2] = F.convert<int>(Y >= I && I < 2.5);
    F.ret();
  });
  return K;
}

static auto addMath(Module &M) {
  auto K = M.addKernel<void(float *)>("maths");
  auto &F = K.F;
  F.function([&] {
    auto &X = F.getArg<0>();
    auto Nine = F.defVar(9.0f), Two = F.defVar(2.0f);
    X[0] = sqrtf(Nine);
    X[1] = powf(Two, X[0]);
    X[2] = max(X[0], Nine / Two);
    X[3] = truncf(-X[0] / Two);
    F.ret();
  });
  return K;
}

/// An array in global memory, which stays from launch to launch.
static auto addKept(Module &M) {
  auto K = M.addKernel<void(int *)>("kept");
  auto &F = K.F;
  F.function([&] {
    auto Array = F.declVar<int[]>(2, AddressSpace::GLOBAL);
    Array[1] += 4;
    F.getArg<0>()[0] = Array[1];
    F.ret();
  });
  return K;
}

template <typename Fn> static void showError(Fn Build) {
  Module M(jit_target::cuda);
  auto K = M.addKernel<void()>("wrong");
  K.F.function([&] {
    auto I = K.F.declVar<int>();
    auto Zero = K.F.defVar<int>(0);
    auto Loop = K.F.forLoop<Lazy>(I, Zero, Zero, Zero);
    Build(Loop);
    Loop.emit();
  });
  M.compile();
  std::printf("%s", M.error().c_str());
}

int main() {
  Module M(jit_target::cuda);
  auto Reverse = addReverse(M);
  auto Sum = addSum(M);
  auto Atomics = addAtomics(M);
  auto SharedAtomics = addSharedAtomics(M);
  auto Loops = addLoops(M);
  auto Builtins = addBuiltins(M);
  auto Compare = addCompare(M);
  auto Math = addMath(M);
  auto Kept = addKept(M);
  M.print();
  bool Ok = M.compile();
  std::printf("--- %d\n%s", !Ok, M.error().c_str());

  int *X;
  cudaMallocManaged(&X, 64 * sizeof(int));
  for (int I = 0; I < 64; ++I)
    X[I] = I;
  int Error = Reverse.launch(1, 64, 0, nullptr, X);
  cudaDeviceSynchronize();
  std::printf("reverse %d: %d %d %d %d\n", Error, X[0], X[1], X[62], X[63]);

  int *Out;
  cudaMallocManaged(&Out, 8 * sizeof(int));
  Error = Sum.launch(1, 64, 0, nullptr, X, Out, 64);
  cudaDeviceSynchronize();
  std::printf("sum %d: %d %d\n", Error, Out[0], Out[1]);

  double *D;
  cudaMallocManaged(&D, 2 * sizeof(double));
  D[0] = 0;
  D[1] = 7;
  unsigned *U;
  cudaMallocManaged(&U, 3 * sizeof(unsigned));
  U[0] = 0;
  for (int I = 0; I < 4; ++I)
    Out[I] = 0;
  Error = Atomics.launch(2, 32, 0, nullptr, Out, D, U);
  cudaDeviceSynchronize();
  // Threads 0 to 31, of two blocks.
  std::printf("atomics %d: %d %d %d %d %g %g\n", Error, Out[0], Out[1], Out[2] + 32, Out[3], D[0], D[1]);
  std::printf("old values %u\n", U[0]);
  Error = SharedAtomics.launch(1, 64, 0, nullptr, X);
  cudaDeviceSynchronize();
  std::printf("shared atomics %d: %d\n", Error, X[0]);

  Error = Loops.launch(1, 1, 0, nullptr, Out, 10, 4);
  cudaDeviceSynchronize();
  std::printf("loops %d: %d %d %d %d %d %d\n", Error, Out[0], Out[1], Out[2], Out[3], Out[4], Out[5]);
  Error = Builtins.launch({2, 3, 4}, {2, 3, 4}, 0, nullptr, U);
  cudaDeviceSynchronize();
  std::printf("builtins %d: %u %u %u\n", Error, U[0], U[1], U[2]);
  Error = Compare.launch(1, 1, 0, nullptr, X, 2, 2.5f);
  cudaDeviceSynchronize();
  std::printf("compare %d: %d %d %d\n", Error, X[0], X[1], X[2]);
  float *Y;
  cudaMallocManaged(&Y, 4 * sizeof(float));
  Error = Math.launch(1, 1, 0, nullptr, Y);
  cudaDeviceSynchronize();
  std::printf("math %d: %g %g %g %g\n", Error, Y[0], Y[1], Y[2], Y[3]);
  Error = Kept.launch(1, 1, 0, nullptr, X);
  if (!Error)
    Error = Kept.launch(1, 1, 0, nullptr, X);
  cudaDeviceSynchronize();
  std::printf("kept %d: %d\n", Error, X[0]);

  showError([](auto &Loop) { Loop.unroll().tile(2); });
  showError([](auto &Loop) { Loop.tile(2).unroll(2); });
}
