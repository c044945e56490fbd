//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions that compiled kernels may call, by name. In C, because C++
/// overloads each mathematical function.
///
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE // exp10, sincos.
#include "llvm/Mneme/Runtime/HostExchange.h"
#include "llvm/Mneme/Runtime/HostTexture.h"
#include <math.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

extern void __assertfail(const char *, const char *, uint32_t, const char *,
                         size_t);
extern int __mneme_host_vprintf(const char *, const char *);
extern uint64_t __mneme_host_printf_begin(void);
extern uint64_t __mneme_host_stderr_begin(void);
extern uint64_t __mneme_host_append_args(uint64_t, uint32_t, uint64_t, uint64_t,
                                         uint64_t, uint64_t, uint64_t, uint64_t,
                                         uint64_t, uint32_t);
extern uint64_t __mneme_host_append_string(uint64_t, const char *, uint64_t,
                                           uint32_t);
extern void __mneme_host_hostcall(void);
extern void *__mneme_host_malloc(size_t);
extern void __mneme_host_free(void *);
extern void *__mneme_host_current(void);
extern void *__mneme_host_frame(void *, uint64_t);
extern uint64_t __mneme_host_sync(uint32_t, uint32_t, uint64_t, uint64_t,
                                  uint32_t, uint32_t, uint32_t);
extern void __mneme_host_yield(void);
extern void __mneme_host_preempt(uint32_t);
extern void __mneme_host_async_copy(uint32_t, uint32_t, uint8_t *,
                                    const uint8_t *, uint32_t, uint32_t);
extern void __mneme_host_async_commit(uint32_t, uint32_t);
extern void __mneme_host_async_wait(uint32_t, uint32_t, uint32_t);
extern void __mneme_host_async_arrive(uint32_t, uint64_t *, uint32_t);
extern void __mneme_host_async_load(uint8_t *, const uint8_t *, uint32_t,
                                    uint64_t *);
extern void __mneme_host_async_multicast(uint8_t *, const uint8_t *, uint32_t,
                                         uint64_t *, uint32_t);
extern void __mneme_host_mbarrier_init(uint64_t *, uint32_t);
extern void __mneme_host_mbarrier_inval(uint64_t *);
extern uint64_t __mneme_host_mbarrier_arrive(uint64_t *, uint32_t, uint32_t,
                                             uint32_t);
extern void __mneme_host_mbarrier_expect(uint64_t *, int32_t);
extern uint32_t __mneme_host_mbarrier_pending(uint64_t);
extern uint32_t __mneme_host_mbarrier_test(uint64_t *, uint64_t, uint32_t);
extern uint8_t *__mneme_host_mapa(const void *, uint32_t);
extern uint32_t __mneme_host_cta_rank(const void *);
extern uint32_t __mneme_host_is_cluster_shared(const void *);
extern uint32_t __mneme_host_cluster(uint32_t, uint32_t);
extern void __mneme_host_trap(void);
extern void __mneme_host_unsupported(const char *);
extern uint64_t __mneme_host_clock(void);
extern uint64_t __mneme_host_globaltimer(void);
extern void __mneme_host_nanosleep(uint32_t);
extern uint64_t __mneme_host_grid_workspace(void);

// Functions that LLVM calls for operations that the CPU lacks. The compiler's
// own support library is linked statically, is hidden, and may not have all of
// them, so they are written with operators.

typedef __int128 Int128;
typedef unsigned __int128 UInt128;

static Int128 divSigned(Int128 A, Int128 B) { return A / B; }
static Int128 remSigned(Int128 A, Int128 B) { return A % B; }
static UInt128 divUnsigned(UInt128 A, UInt128 B) { return A / B; }
static UInt128 remUnsigned(UInt128 A, UInt128 B) { return A % B; }
static Int128 multiply(Int128 A, Int128 B) {
  return (Int128)((UInt128)A * (UInt128)B);
}
static Int128 multiplyOverflow(Int128 A, Int128 B, int *Overflow) {
  Int128 R;
  *Overflow = __builtin_mul_overflow(A, B, &R);
  return R;
}
static Int128 shiftLeft(Int128 A, int B) { return (Int128)((UInt128)A << B); }
static Int128 shiftRight(Int128 A, int B) { return A >> B; }
static UInt128 shiftRightLogical(UInt128 A, int B) { return A >> B; }
static Int128 floatToSigned(float V) { return (Int128)V; }
static UInt128 floatToUnsigned(float V) { return (UInt128)V; }
static Int128 doubleToSigned(double V) { return (Int128)V; }
static UInt128 doubleToUnsigned(double V) { return (UInt128)V; }
static float signedToFloat(Int128 V) { return (float)V; }
static float unsignedToFloat(UInt128 V) { return (float)V; }
static double signedToDouble(Int128 V) { return (double)V; }
static double unsignedToDouble(UInt128 V) { return (double)V; }

static float powiFloat(float X, int N) { return __builtin_powif(X, N); }
static double powiDouble(double X, int N) { return __builtin_powi(X, N); }

static float extendHalf(_Float16 V) { return (float)V; }
static double extendHalfToDouble(_Float16 V) { return (double)V; }
static _Float16 truncateToHalf(float V) { return (_Float16)V; }
static _Float16 truncateDoubleToHalf(double V) { return (_Float16)V; }

// bfloat16 is passed in the same registers as half. Not every compiler that can
// build Mneme has the type.
static _Float16 bfloatFromBits(uint16_t Bits) {
  _Float16 R;
  memcpy(&R, &Bits, 2);
  return R;
}
static float extendBFloat(_Float16 V) {
  uint16_t Half;
  memcpy(&Half, &V, 2);
  uint32_t Bits = (uint32_t)Half << 16;
  float R;
  memcpy(&R, &Bits, 4);
  return R;
}
static _Float16 truncateToBFloat(float V) {
  uint32_t Bits;
  memcpy(&Bits, &V, 4);
  if (V != V)
    return bfloatFromBits((uint16_t)(Bits >> 16 | 0x40));
  Bits += 0x7fff + (Bits >> 16 & 1); // Round to nearest, ties to even.
  return bfloatFromBits((uint16_t)(Bits >> 16));
}
static _Float16 truncateDoubleToBFloat(double V) {
  // Double rounding is wrong only if the first rounding produces a tie: round
  // to odd instead.
  float F = (float)V;
  uint32_t Bits;
  memcpy(&Bits, &F, 4);
  if (V == V && (double)F != V && !(Bits & 1) && F - F == 0) {
    Bits += fabs((double)F) < fabs(V) ? 1 : -1;
    memcpy(&F, &Bits, 4);
  }
  return truncateToBFloat(F);
}

#define SELF(F) {#F, (void *)F}
#define MATH(F)                                                                \
  {#F, (void *)F}, { #F "f", (void *)F##f }
#define NAMED(NAME, F) {NAME, (void *)F}

static const MnemeHostSymbol Symbols[] = {
    SELF(__assertfail),
    NAMED("vprintf", __mneme_host_vprintf),
    NAMED("malloc", __mneme_host_malloc),
    NAMED("free", __mneme_host_free),
    NAMED("__ockl_printf_begin", __mneme_host_printf_begin),
    NAMED("__ockl_printf_append_args", __mneme_host_append_args),
    NAMED("__ockl_printf_append_string_n", __mneme_host_append_string),
    NAMED("__ockl_fprintf_stdout_begin", __mneme_host_printf_begin),
    NAMED("__ockl_fprintf_stderr_begin", __mneme_host_stderr_begin),
    NAMED("__ockl_fprintf_append_args", __mneme_host_append_args),
    NAMED("__ockl_fprintf_append_string_n", __mneme_host_append_string),
    NAMED("__ockl_call_host_function", __mneme_host_hostcall),
    NAMED("__ockl_hostcall_internal", __mneme_host_hostcall),
    NAMED("__ockl_hostcall_preview", __mneme_host_hostcall),
    NAMED("__ockl_dm_alloc", __mneme_host_malloc),
    NAMED("__ockl_dm_dealloc", __mneme_host_free),
    SELF(__mneme_host_current),
    SELF(__mneme_host_frame),
    SELF(__mneme_host_sync),
    SELF(__mneme_host_yield),
    SELF(__mneme_host_preempt),
    SELF(__mneme_host_async_copy),
    SELF(__mneme_host_async_commit),
    SELF(__mneme_host_async_wait),
    SELF(__mneme_host_async_arrive),
    SELF(__mneme_host_async_load),
    SELF(__mneme_host_async_multicast),
    SELF(__mneme_host_mbarrier_init),
    SELF(__mneme_host_mbarrier_inval),
    SELF(__mneme_host_mbarrier_arrive),
    SELF(__mneme_host_mbarrier_expect),
    SELF(__mneme_host_mbarrier_pending),
    SELF(__mneme_host_mbarrier_test),
    SELF(__mneme_host_mapa),
    SELF(__mneme_host_cta_rank),
    SELF(__mneme_host_is_cluster_shared),
    SELF(__mneme_host_cluster),
    SELF(__mneme_host_trap),
    SELF(__mneme_host_unsupported),
    SELF(__mneme_host_clock),
    SELF(__mneme_host_globaltimer),
    SELF(__mneme_host_nanosleep),
    SELF(__mneme_host_grid_workspace),
    SELF(__mneme_host_exchange),
    SELF(__mneme_host_advance),
    SELF(__mneme_host_texture),
    SELF(__mneme_host_texture_query),
    SELF(__mneme_host_surface_read),
    SELF(__mneme_host_surface_write),
    NAMED("__cxa_pure_virtual", __mneme_host_trap),
    NAMED("abort", __mneme_host_trap),

    SELF(memcpy),
    SELF(memmove),
    SELF(memset),
    SELF(memcmp),
    SELF(bcmp),
    SELF(memchr),
    SELF(strlen),
    SELF(wcslen),

    MATH(acos),
    MATH(acosh),
    MATH(asin),
    MATH(asinh),
    MATH(atan),
    MATH(atan2),
    MATH(atanh),
    MATH(cbrt),
    MATH(ceil),
    MATH(copysign),
    MATH(cos),
    MATH(cosh),
    MATH(erf),
    MATH(erfc),
    MATH(exp),
    MATH(exp10),
    MATH(exp2),
    MATH(expm1),
    MATH(fabs),
    MATH(fdim),
    MATH(floor),
    MATH(fma),
    MATH(fmax),
    MATH(fmin),
    MATH(fmod),
    MATH(frexp),
    MATH(hypot),
    MATH(ilogb),
    MATH(j0),
    MATH(j1),
    MATH(jn),
    MATH(ldexp),
    MATH(lgamma),
    MATH(llrint),
    MATH(llround),
    MATH(log),
    MATH(log10),
    MATH(log1p),
    MATH(log2),
    MATH(logb),
    MATH(lrint),
    MATH(lround),
    MATH(modf),
    MATH(nearbyint),
    MATH(nextafter),
    MATH(pow),
    MATH(remainder),
    MATH(remquo),
    MATH(rint),
    MATH(round),
    MATH(roundeven),
    MATH(scalbln),
    MATH(scalbn),
    MATH(sin),
    MATH(sincos),
    MATH(sinh),
    MATH(sqrt),
    MATH(tan),
    MATH(tanh),
    MATH(tgamma),
    MATH(trunc),
    MATH(y0),
    MATH(y1),
    MATH(yn),

    NAMED("__divti3", divSigned),
    NAMED("__modti3", remSigned),
    NAMED("__udivti3", divUnsigned),
    NAMED("__umodti3", remUnsigned),
    NAMED("__multi3", multiply),
    NAMED("__muloti4", multiplyOverflow),
    NAMED("__ashlti3", shiftLeft),
    NAMED("__ashrti3", shiftRight),
    NAMED("__lshrti3", shiftRightLogical),
    NAMED("__fixsfti", floatToSigned),
    NAMED("__fixunssfti", floatToUnsigned),
    NAMED("__fixdfti", doubleToSigned),
    NAMED("__fixunsdfti", doubleToUnsigned),
    NAMED("__floattisf", signedToFloat),
    NAMED("__floatuntisf", unsignedToFloat),
    NAMED("__floattidf", signedToDouble),
    NAMED("__floatuntidf", unsignedToDouble),
    NAMED("__powisf2", powiFloat),
    NAMED("__powidf2", powiDouble),
    NAMED("__extendhfsf2", extendHalf),
    NAMED("__extendhfdf2", extendHalfToDouble),
    NAMED("__truncsfhf2", truncateToHalf),
    NAMED("__truncdfhf2", truncateDoubleToHalf),
    NAMED("__extendbfsf2", extendBFloat),
    NAMED("__truncsfbf2", truncateToBFloat),
    NAMED("__truncdfbf2", truncateDoubleToBFloat),
};

const MnemeHostSymbol *mneme_host_symbols(size_t *Count) {
  *Count = sizeof(Symbols) / sizeof(Symbols[0]);
  return Symbols;
}
