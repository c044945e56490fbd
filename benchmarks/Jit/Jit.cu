//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures what the JIT costs in the application. benchmarks/run.py runs it in
/// different settings.
///
///   jit launches NUM   seconds per launch of a kernel with four scalars, over
///                      NUM launches of one thread; the first value is set
///   jit other NUM      the same of a kernel without annotation
///   jit disabled NUM   the same as launches, after jit_disable()
///   jit calls NUM      seconds per call of a host function
///   jit misses NUM     seconds of NUM launches with a new value each
///   jit first          seconds of the first launch, and of the second one
///   jit text WHAT      prints the source of a "kernel" or "function", with one
///                      instance, for clang
///   jit sources WHAT MODULES INSTANCES
///                      seconds of each instance of such modules
///   jit instance NUM   the same as launches, of an instance
///
/// Prints one line of JSON.
///
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <mneme/jit_module.h>
#include <string>
#include <vector>

/// Uses all of its arguments, and does almost nothing.
__attribute__((annotate("jit", 2, 3, 4, 5))) __global__ void
update(float *P, float A, float B, int N, int M) {
  *P = *P * A + B;
  for (int I = 0; I < N; I += M)
    *P += 1;
}

__global__ void other(float *P, float A, float B, int N, int M) {
  *P = *P * A + B;
  for (int I = 0; I < N; I += M)
    *P += 1;
}

__attribute__((noinline, annotate("jit", 2))) static unsigned
power(unsigned Base, unsigned Exponent) {
  unsigned Result = 1;
  for (; Exponent; --Exponent)
    Result *= Base;
  return Result;
}

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static double median(std::vector<double> Values) {
  std::nth_element(Values.begin(), Values.begin() + Values.size() / 2,
                   Values.end());
  return Values[Values.size() / 2];
}

/// Synchronization takes place outside of the measured time, before the GPU's
/// queue is so full that a launch blocks.
template <typename Fn> static void timeLaunches(long Num, Fn Launch) {
  constexpr long Burst = 256;
  Launch();
  cudaDeviceSynchronize();
  std::vector<double> Seconds;
  for (long Left = Num; Left > 0; Left -= Burst) {
    double Start = now();
    for (long I = 0; I < Burst; ++I)
      Launch();
    Seconds.push_back((now() - Start) / Burst);
    cudaDeviceSynchronize();
  }
  // The median excludes interruptions of the program.
  std::printf("{\"seconds\": %.4g}\n", median(std::move(Seconds)));
}

static void timeCalls(long Num) {
  volatile unsigned Base = 3;
  unsigned Sum = power(Base, 4);
  std::vector<double> Seconds;
  constexpr long Burst = 4096;
  for (long Left = Num; Left > 0; Left -= Burst) {
    double Start = now();
    for (long I = 0; I < Burst; ++I)
      Sum += power(Base, 4);
    Seconds.push_back((now() - Start) / Burst);
  }
  std::printf("{\"seconds\": %.4g, \"sum\": %u}\n", median(std::move(Seconds)),
              Sum);
}

/// Times for JSON, in seconds.
static void print(const char *Name, double Value, const char *After) {
  std::printf("\"%s\": %.4g%s", Name, Value, After);
}

static const char KernelText[] = R"(#include <cstdio>
#include <cuda_runtime.h>
template <int N> __global__ void scale(float *P) { *P = *P * N + 1; }
)";

static const char FunctionText[] = R"(#include <vector>
template <int N> double power(double X) {
  double Result = 1;
  for (int I = 0; I < N; ++I)
    Result *= X;
  return Result;
}
)";

static int buildSources(bool IsKernel, int Modules, int Instances) {
  auto Target = IsKernel ? mneme::jit_target::cuda : mneme::jit_target::host;
  std::printf("{\"seconds\": [");
  for (int M = 0; M != Modules; ++M) {
    std::string Text = IsKernel ? KernelText : FunctionText;
    mneme::jit_module Module(Target, Text + "// " + std::to_string(M) + "\n");
    for (int I = 0; I != Instances; ++I) {
      std::string N = std::to_string(3 + I);
      double Start = now();
      bool Ok =
          IsKernel
              ? bool(Module.instantiate("scale", N).prepare_launch<float *>())
              : bool(Module.instantiate("power", N)
                         .prepare_call<double, double>());
      std::printf("%s%.6f", M || I ? ", " : "", now() - Start);
      if (!Ok) {
        std::fprintf(stderr, "jit: %s\n", Module.error().c_str());
        return EXIT_FAILURE;
      }
    }
  }
  std::printf("]}\n");
  return EXIT_SUCCESS;
}

/// Prints what the compile server compiles, in one piece.
static void printSource(bool IsKernel) {
  std::printf("%s", IsKernel ? KernelText : FunctionText);
  if (IsKernel)
    std::printf(
        "extern \"C\" int __mneme_entry(const unsigned *D, size_t Shared,\n"
        "    void *Stream, int MaxShared, float *A0) {\n"
        "  if (MaxShared)\n"
        "    if (int E = cudaFuncSetAttribute((const void *)scale<3>,\n"
        "        cudaFuncAttributeMaxDynamicSharedMemorySize, MaxShared))\n"
        "      return E;\n"
        "  scale<3><<<dim3(D[0], D[1], D[2]), dim3(D[3], D[4], D[5]), Shared,\n"
        "             (cudaStream_t)Stream>>>(A0);\n"
        "  return cudaGetLastError();\n}\n");
  else
    std::printf("extern \"C\" double __mneme_entry(double A0) {\n"
                "  return power<3>(A0);\n}\n");
}

int main(int Argc, char **Argv) {
  const char *What = Argc > 1 ? Argv[1] : "";
  long Num = Argc > 2 ? std::atol(Argv[2]) : 0;
  if (!std::strcmp(What, "calls") && Num > 0)
    return timeCalls(Num), EXIT_SUCCESS;
  bool IsKernel = Argc > 2 && !std::strcmp(Argv[2], "kernel");
  if (!std::strcmp(What, "text") && Argc > 2)
    return printSource(IsKernel), EXIT_SUCCESS;
  if (!std::strcmp(What, "sources") && Argc > 4)
    return buildSources(IsKernel, std::atoi(Argv[3]), std::atoi(Argv[4]));
  float *P = nullptr;
  if (cudaMalloc(reinterpret_cast<void **>(&P), sizeof(*P)) != cudaSuccess ||
      cudaMemset(P, 0, sizeof(*P)) != cudaSuccess) {
    std::fprintf(stderr, "jit: no device memory\n");
    return EXIT_FAILURE;
  }
  // What the driver does at the first launch of a program is done.
  other<<<1, 1>>>(P, 1, 2, 4, 1);
  cudaDeviceSynchronize();
  auto Update = [&](float A) {
    double Start = now();
    update<<<1, 1>>>(P, A, 2, 4, 1);
    return now() - Start;
  };
  if (!std::strcmp(What, "launches") && Num > 0) {
    timeLaunches(Num, [&] { update<<<1, 1>>>(P, 1, 2, 4, 1); });
  } else if (!std::strcmp(What, "other") && Num > 0) {
    timeLaunches(Num, [&] { other<<<1, 1>>>(P, 1, 2, 4, 1); });
  } else if (!std::strcmp(What, "instance") && Num > 0) {
    mneme::jit_module Module(mneme::jit_target::cuda, KernelText);
    mneme::jit_instance &Scale = Module.instantiate("scale", "3");
    timeLaunches(Num, [&] { Scale.launch(1, 1, 0, nullptr, P); });
  } else if (!std::strcmp(What, "disabled") && Num > 0) {
    Update(1);
    mneme::jit_disable();
    timeLaunches(Num, [&] { update<<<1, 1>>>(P, 1, 2, 4, 1); });
  } else if (!std::strcmp(What, "misses") && Num > 0) {
    // The first launch says what matters of the others.
    double First = Update(0), Start = now();
    while (now() - Start < 2) {
      Update(0);
      cudaDeviceSynchronize();
    }
    std::vector<double> Seconds;
    for (long I = 1; I <= Num; ++I) {
      Seconds.push_back(Update(float(I)));
      cudaDeviceSynchronize();
    }
    std::printf("{");
    print("first", First, ", ");
    print("median", median(Seconds), ", ");
    print("most", *std::max_element(Seconds.begin(), Seconds.end()), "}\n");
  } else if (!std::strcmp(What, "first")) {
    double First = Update(1);
    cudaDeviceSynchronize();
    double Second = Update(1);
    std::printf("{");
    print("first", First, ", ");
    print("second", Second, "}\n");
  } else {
    std::fprintf(stderr, "usage: jit launches|other|instance|disabled|calls|"
                         "misses NUM | first | text kernel|function | sources "
                         "kernel|function MODULES INSTANCES\n");
    return EXIT_FAILURE;
  }
  return cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
