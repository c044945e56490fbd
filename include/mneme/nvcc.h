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
/// The compiler also identifies itself as nvcc, for sources that treat
/// compilers without __NVCC__ as compilers without CUDA, unless MNEME_AS_NVCC
/// is 0.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_NVCC_H
#define MNEME_NVCC_H

#if defined(__clang__) && defined(__CUDA__) && defined(__cplusplus)

// Clang defines it as empty, not as 1.
#undef __CUDACC__
#define __CUDACC__ 1

// nvcc includes these before each source. math.h declares isfinite and the like
// as functions of the host, time.h clock, beside clang's device functions. new
// has the operators of device code.
#include <math.h>
#include <new>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Clang only declares them.
static inline __attribute__((device, always_inline)) float nanf(const char *) {
  return __builtin_nanf("");
}
static inline __attribute__((device, always_inline)) double nan(const char *) {
  return __builtin_nan("");
}

// Vtables of abstract classes refer to it, in device code, too.
extern "C" inline __attribute__((device)) void __cxa_pure_virtual() {
  __builtin_trap();
}

// Loads and stores with a cache operator. Clang has some of them; the toolkit's
// header has them all.
#if __has_include(<sm_32_intrinsics.hpp>)
// It was included while __CUDACC__ was not defined, which leaves it empty.
#undef __SM_32_INTRINSICS_HPP__
#define __ldg mneme_ldg
#define __ldcg mneme_ldcg
#define __ldcs mneme_ldcs
#define __ldcv mneme_ldcv
#define __stwt mneme_stwt
#define __funnelshift_l mneme_funnelshift_l
#define __funnelshift_lc mneme_funnelshift_lc
#define __funnelshift_r mneme_funnelshift_r
#define __funnelshift_rc mneme_funnelshift_rc
#include <sm_32_intrinsics.hpp>
#undef __ldg
#undef __ldcg
#undef __ldcs
#undef __ldcv
#undef __stwt
#undef __funnelshift_l
#undef __funnelshift_lc
#undef __funnelshift_r
#undef __funnelshift_rc

// Clang's lack these types.
#define MNEME_DEVICE static inline __attribute__((device, unused))
#define MNEME_LOAD(Name)                                                       \
  MNEME_DEVICE unsigned long __##Name(const unsigned long *P) {                \
    return mneme_##Name(P);                                                    \
  }
#define MNEME_STORE(Name, Type)                                                \
  MNEME_DEVICE void __##Name(Type *P, Type X) { mneme_##Name(P, X); }
MNEME_LOAD(ldcg)
MNEME_LOAD(ldcs)
MNEME_LOAD(ldcv)
MNEME_STORE(stwt, long)
MNEME_STORE(stwt, unsigned long)
#undef MNEME_STORE
#undef MNEME_LOAD
#undef MNEME_DEVICE
#endif

// nvcc's atomic functions have the parameters of clang's, but for a scope that
// may be left out.
#ifndef __NV_ATOMIC_RELAXED
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD __MEMORY_SCOPE_SINGLE
#define __NV_THREAD_SCOPE_BLOCK __MEMORY_SCOPE_WRKGRP
#define __NV_THREAD_SCOPE_CLUSTER __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_DEVICE __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_SYSTEM __MEMORY_SCOPE_SYSTEM
__attribute__((host, device)) constexpr int
mneme_scope(int Scope = __NV_THREAD_SCOPE_SYSTEM) {
  return Scope;
}
#define __nv_atomic_load(P, R, Order, ...)                                     \
  __scoped_atomic_load(P, R, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_load_n(P, Order, ...)                                      \
  __scoped_atomic_load_n(P, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_store(P, X, Order, ...)                                    \
  __scoped_atomic_store(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_store_n(P, X, Order, ...)                                  \
  __scoped_atomic_store_n(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_exchange(P, X, R, Order, ...)                              \
  __scoped_atomic_exchange(P, X, R, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_exchange_n(P, X, Order, ...)                               \
  __scoped_atomic_exchange_n(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_compare_exchange(P, Old, New, Weak, Order, Failed, ...)    \
  __scoped_atomic_compare_exchange(P, Old, New, Weak, Order, Failed,           \
                                   mneme_scope(__VA_ARGS__))
#define __nv_atomic_compare_exchange_n(P, Old, New, Weak, Order, Failed, ...)  \
  __scoped_atomic_compare_exchange_n(P, Old, New, Weak, Order, Failed,         \
                                     mneme_scope(__VA_ARGS__))
#define __nv_atomic_fetch_add(P, X, Order, ...)                                \
  __scoped_atomic_fetch_add(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_fetch_sub(P, X, Order, ...)                                \
  __scoped_atomic_fetch_sub(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_fetch_and(P, X, Order, ...)                                \
  __scoped_atomic_fetch_and(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_fetch_or(P, X, Order, ...)                                 \
  __scoped_atomic_fetch_or(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_fetch_xor(P, X, Order, ...)                                \
  __scoped_atomic_fetch_xor(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_fetch_max(P, X, Order, ...)                                \
  __scoped_atomic_fetch_max(P, X, Order, mneme_scope(__VA_ARGS__))
#define __nv_atomic_fetch_min(P, X, Order, ...)                                \
  __scoped_atomic_fetch_min(P, X, Order, mneme_scope(__VA_ARGS__))
#endif

// Clang ignores its attribute for NVIDIA's GPUs; the Mneme pass reads this one.
#undef __cluster_dims__
#ifdef MNEME_NO_PASS
#define __cluster_dims__(...)                                                  \
  _Pragma("GCC error \"__cluster_dims__ needs MnemePass.so: unset MNEME_PASS\"")
#else
#define __cluster_dims__(...)                                                  \
  __attribute__((annotate("mneme.cluster_dims", ##__VA_ARGS__)))
#endif

#ifdef MNEME_EXTENDED_LAMBDA
#define __CUDACC_EXTENDED_LAMBDA__ 1
#include <functional>
#include <utility>
#endif
// Traits of the lambdas that -extended-lambda allows. Those of clang have the
// same type on both sides, and tell their return type.
#define __nv_is_extended_device_lambda_closure_type(...) false
#define __nv_is_extended_host_device_lambda_closure_type(...) false
#define __nv_is_extended_device_lambda_with_preserved_return_type(...) false

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

#if !defined(MNEME_AS_NVCC) || MNEME_AS_NVCC
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
