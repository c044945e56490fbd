//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What all examples share: checked API calls, sizes from the command line,
/// reproducible input and the verdict at the end.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_EXAMPLES_EXAMPLE_H
#define MNEME_EXAMPLES_EXAMPLE_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

namespace example {

/// Ends the program when \p Status is an error.
inline void checkCuda(cudaError_t Status, const char *Call, const char *File,
                      int Line) {
  if (Status == cudaSuccess)
    return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", File, Line, Call,
               cudaGetErrorString(Status));
  std::exit(EXIT_FAILURE);
}

/// The \p Index-th argument as a positive number, \p Default when it is absent.
inline int getSize(int Argc, char **Argv, int Index, int Default) {
  if (Index >= Argc)
    return Default;
  char *End = nullptr;
  long Value = std::strtol(Argv[Index], &End, 10);
  if (*End != '\0' || Value <= 0 || Value > (1 << 28)) {
    std::fprintf(stderr, "%s: '%s' is not a size\n", Argv[0], Argv[Index]);
    std::exit(EXIT_FAILURE);
  }
  return static_cast<int>(Value);
}

/// A small generator, the same on the host and on the device (splitmix64).
struct Random {
  uint64_t State;

  __host__ __device__ explicit Random(uint64_t Seed) : State(Seed) {}

  __host__ __device__ uint64_t next() {
    uint64_t Z = (State += 0x9e3779b97f4a7c15ull);
    Z = (Z ^ (Z >> 30)) * 0xbf58476d1ce4e5b9ull;
    Z = (Z ^ (Z >> 27)) * 0x94d049bb133111ebull;
    return Z ^ (Z >> 31);
  }

  /// In [0, 1).
  __host__ __device__ double uniform() {
    return static_cast<double>(next() >> 11) * 0x1p-53;
  }
};

/// \p Count numbers in [\p Low, \p High).
template <typename T>
std::vector<T> randomVector(size_t Count, T Low, T High, uint64_t Seed) {
  Random R(Seed);
  std::vector<T> Result(Count);
  for (T &V : Result)
    V = static_cast<T>(Low + (High - Low) * R.uniform());
  return Result;
}

/// Device memory that lives as long as this object.
template <typename T> class DeviceBuffer {
public:
  explicit DeviceBuffer(size_t Count);
  explicit DeviceBuffer(const std::vector<T> &Contents);
  ~DeviceBuffer() { cudaFree(Data); }
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;

  T *get() const { return Data; }
  size_t size() const { return Count; }
  std::vector<T> download() const;

private:
  T *Data = nullptr;
  size_t Count;
};

/// The largest of |A - B| / max(1, |B|) over all elements.
template <typename T>
double maxError(const std::vector<T> &A, const std::vector<T> &B) {
  double Worst = 0;
  for (size_t I = 0; I < A.size(); ++I) {
    double Scale = std::fmax(1.0, std::fabs(static_cast<double>(B[I])));
    double Error = std::fabs(static_cast<double>(A[I]) - B[I]) / Scale;
    // Not a number is the worst of all.
    if (!(Error <= Worst))
      Worst = std::isnan(Error) ? INFINITY : Error;
  }
  return Worst;
}

/// Prints the verdict. \returns the program's exit code.
inline int finish(const char *Name, bool Ok) {
  std::printf("%s: %s\n", Name, Ok ? "PASS" : "FAIL");
  return Ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace example

#define CHECK(CALL) example::checkCuda((CALL), #CALL, __FILE__, __LINE__)

/// After a kernel launch: reports what was wrong with its configuration.
#define CHECK_LAUNCH() CHECK(cudaGetLastError())

namespace example {

template <typename T>
DeviceBuffer<T>::DeviceBuffer(size_t Count) : Count(Count) {
  CHECK(cudaMalloc(reinterpret_cast<void **>(&Data), Count * sizeof(T)));
}

template <typename T>
DeviceBuffer<T>::DeviceBuffer(const std::vector<T> &Contents)
    : DeviceBuffer(Contents.size()) {
  CHECK(cudaMemcpy(Data, Contents.data(), Count * sizeof(T),
                   cudaMemcpyHostToDevice));
}

template <typename T> std::vector<T> DeviceBuffer<T>::download() const {
  std::vector<T> Result(Count);
  CHECK(cudaMemcpy(Result.data(), Data, Count * sizeof(T),
                   cudaMemcpyDeviceToHost));
  return Result;
}

} // namespace example

#endif // MNEME_EXAMPLES_EXAMPLE_H
