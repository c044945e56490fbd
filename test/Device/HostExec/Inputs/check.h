//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the differential tests share: run a function of an index on the device and on
/// the CPU, and compare.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_TEST_CHECK_H
#define MNEME_TEST_CHECK_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static int Failures = 0;

#define CUDA_OK(CALL)                                                          \
  do {                                                                         \
    cudaError_t Error = (CALL);                                                \
    if (Error != cudaSuccess) {                                                \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #CALL,                     \
             cudaGetErrorString(Error));                                       \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/// A buffer that both sides can use.
template <typename T> struct Buffer {
  T *Data;
  size_t Size;
  explicit Buffer(size_t Size, T Value = T()) : Size(Size) {
    CUDA_OK(cudaMallocManaged(&Data, Size * sizeof(T)));
    for (size_t I = 0; I < Size; ++I)
      Data[I] = Value;
  }
  ~Buffer() { cudaFree(Data); }
  Buffer(const Buffer &) = delete;
  T &operator[](size_t I) { return Data[I]; }
  operator T *() { return Data; }
};

inline void launched() {
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaDeviceSynchronize());
}

inline bool same(float A, float B) {
  return (A != A && B != B) || memcmp(&A, &B, sizeof A) == 0;
}
inline bool same(double A, double B) {
  return (A != A && B != B) || memcmp(&A, &B, sizeof A) == 0;
}
template <typename T> bool same(T A, T B) { return A == B; }

/// Counts and shows (the first few) differences.
template <typename T>
void expect(const char *Name, size_t I, T Found, T Expected) {
  if (same(Found, Expected))
    return;
  if (++Failures <= 20)
    printf("%s[%zu]: %.9g, expected %.9g\n", Name, I, (double)Found,
           (double)Expected);
}
/// The same within \p Ulps units of the last place of a float.
inline void expectNear(const char *Name, size_t I, double Found,
                       double Expected, double Ulps = 4) {
  if (Found != Found && Expected != Expected)
    return;
  if (Found == Expected ||
      std::fabs(Found - Expected) <=
          Ulps * 1.2e-7 * std::fmax(std::fabs(Expected), 1e-30))
    return;
  if (++Failures <= 20)
    printf("%s[%zu]: %.9g, expected about %.9g\n", Name, I, Found, Expected);
}

inline int finish() {
  printf(Failures ? "%d FAILURES\n" : "all right\n", Failures);
  return Failures != 0;
}

#endif // MNEME_TEST_CHECK_H
