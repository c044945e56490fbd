//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Definitions that nvcc provides to CUDA sources and clang does not. The
/// program printed by llvm-mneme-record --print-config=nvcc includes this file
/// before each source. Programs written for clang do not need it.
///
/// With MNEME_AS_NVCC defined, the compiler also identifies itself as nvcc, for
/// sources that treat compilers without __NVCC__ as compilers without CUDA.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_NVCC_H
#define MNEME_NVCC_H

#if defined(__clang__) && defined(__CUDA__) && defined(__cplusplus)

// Clang defines it as empty, not as 1.
#undef __CUDACC__
#define __CUDACC__ 1

#define MNEME_HOST static inline __attribute__((host, unused))

// min and max are also host functions: overloads of clang's device functions.
// Mixed signs are converted to unsigned, as in C.
#define MNEME_MIN_MAX(Result, A, B)                                            \
  MNEME_HOST Result min(A X, B Y) {                                            \
    Result L = X, R = Y;                                                       \
    return R < L ? R : L;                                                      \
  }                                                                            \
  MNEME_HOST Result max(A X, B Y) {                                            \
    Result L = X, R = Y;                                                       \
    return L < R ? R : L;                                                      \
  }
#define MNEME_MIN_MAX_INTEGERS(Type)                                           \
  MNEME_MIN_MAX(Type, Type, Type)                                              \
  MNEME_MIN_MAX(unsigned Type, unsigned Type, unsigned Type)                   \
  MNEME_MIN_MAX(unsigned Type, unsigned Type, Type)                            \
  MNEME_MIN_MAX(unsigned Type, Type, unsigned Type)
MNEME_MIN_MAX_INTEGERS(int)
MNEME_MIN_MAX_INTEGERS(long)
MNEME_MIN_MAX_INTEGERS(long long)
#undef MNEME_MIN_MAX_INTEGERS
#undef MNEME_MIN_MAX

// If one argument is a NaN, the result is the other one.
MNEME_HOST float min(float X, float Y) { return __builtin_fminf(X, Y); }
MNEME_HOST float max(float X, float Y) { return __builtin_fmaxf(X, Y); }
MNEME_HOST double min(double X, double Y) { return __builtin_fmin(X, Y); }
MNEME_HOST double max(double X, double Y) { return __builtin_fmax(X, Y); }
MNEME_HOST double min(double X, float Y) { return __builtin_fmin(X, Y); }
MNEME_HOST double max(double X, float Y) { return __builtin_fmax(X, Y); }
MNEME_HOST double min(float X, double Y) { return __builtin_fmin(X, Y); }
MNEME_HOST double max(float X, double Y) { return __builtin_fmax(X, Y); }

#undef MNEME_HOST

#ifdef MNEME_AS_NVCC
// CUDA's own headers check for the compiler and must see the real one.
#if __has_include(<cuda/std/__cccl/compiler.h>)
#include <cuda/std/__cccl/compiler.h>
#endif
#if __has_include(<nv/target>)
#include <nv/target>
#endif
#include <cuda.h>
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ (CUDA_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDA_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#endif

#endif

#endif // MNEME_NVCC_H
