//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Address spaces, atomics, clocks, and moving data between the lanes of a
/// wave.
///
//===----------------------------------------------------------------------===//

#include "Library.h"
#include "llvm/Mneme/Runtime/HostExec.h"

//===----------------------------------------------------------------------===//
// Address spaces. The host has only one: shared memory is a range in it, and
// the stack is a thread's local memory.
//===----------------------------------------------------------------------===//

u32 __mneme_host_is_cluster_shared(const void *P);
HELPER _Bool isShared(const void *P) {
  u64 Offset = (u64)P - (u64)mneme_host_shared();
  return Offset < (u64)mneme_host_dynshared() + mneme_host_dynsize();
}
_Bool NVVM(isspacep_shared)(const void *P) { return isShared(P); }
/// Shared memory is in the first 4 GiB, so most addresses need no call.
HELPER _Bool isClusterShared(const void *P) {
  return isShared(P) ||
         ((u64)P >> 32 == 0 && __mneme_host_is_cluster_shared(P));
}
_Bool NVVM(isspacep_shared_cluster)(const void *P) {
  return isClusterShared(P);
}
_Bool NVVM(isspacep_global)(const void *P) { return !isClusterShared(P); }
_Bool NVVM(isspacep_const)(const void *P) { return 0; }
_Bool NVVM(isspacep_local)(const void *P) { return 0; }
_Bool AMDGCN(is_shared)(const void *P) { return isShared(P); }
_Bool AMDGCN(is_private)(const void *P) { return 0; }

//===----------------------------------------------------------------------===//
// Clusters of thread blocks. A kernel that finds another block's memory runs
// together with that block, which needs threads that can be suspended.
//===----------------------------------------------------------------------===//

void *__mneme_host_mapa(const void *P, u32 Rank);
u32 __mneme_host_cta_rank(const void *P);
u32 __mneme_host_cluster(u32 Register, u32 Axis);

void *NVVM(mapa)(const void *P, u32 Rank) {
  mneme_host_sync(MNEME_OP_PREEMPT, 0, 0, 0, 0, 0, 0);
  return __mneme_host_mapa(P, Rank);
}
void *NVVM(mapa_shared_cluster)(const void *P, u32 Rank) {
  return NVVM(mapa)(P, Rank);
}
u32 NVVM(getctarank)(const void *P) { return __mneme_host_cta_rank(P); }
u32 NVVM(getctarank_shared_cluster)(const void *P) {
  return __mneme_host_cta_rank(P);
}

#define CLUSTER(NAME, REGISTER, AXIS)                                          \
  u32 NVVM(read_ptx_sreg_##NAME)(void) {                                       \
    return __mneme_host_cluster(MNEME_CLUSTER_##REGISTER, AXIS);               \
  }
#define CLUSTER_AXES(NAME, REGISTER)                                           \
  CLUSTER(NAME##_x, REGISTER, 0)                                               \
  CLUSTER(NAME##_y, REGISTER, 1)                                               \
  CLUSTER(NAME##_z, REGISTER, 2)
CLUSTER_AXES(cluster_ctaid, CTAID)
CLUSTER_AXES(cluster_nctaid, NCTAID)
CLUSTER_AXES(clusterid, ID)
CLUSTER_AXES(nclusterid, COUNT)
CLUSTER(cluster_ctarank, CTARANK, 0)
CLUSTER(cluster_nctarank, NCTARANK, 0)
_Bool NVVM(is_explicit_cluster)(void) {
  return __mneme_host_cluster(MNEME_CLUSTER_EXPLICIT, 0);
}

//===----------------------------------------------------------------------===//
// Scoped atomics. All have system scope here.
//===----------------------------------------------------------------------===//

HELPER u32 wrapIncrement(u32 Old, u32 Limit) {
  return Old >= Limit ? 0 : Old + 1;
}
HELPER u32 wrapDecrement(u32 Old, u32 Limit) {
  return Old == 0 || Old > Limit ? Limit : Old - 1;
}
#define RMW(NAME, TYPE, SUFFIX, EXPR)                                          \
  TYPE NVVM(atomic_##NAME##_##SUFFIX)(TYPE * P, TYPE V) { return EXPR; }
#define SCOPED(SCOPE, BITS, SIGNED)                                            \
  RMW(add_gen_i_##SCOPE, SIGNED, i##BITS,                                      \
      __atomic_fetch_add(P, V, __ATOMIC_SEQ_CST))                              \
  RMW(exch_gen_i_##SCOPE, SIGNED, i##BITS,                                     \
      __atomic_exchange_n(P, V, __ATOMIC_SEQ_CST))                             \
  RMW(max_gen_i_##SCOPE, SIGNED, i##BITS,                                      \
      __atomic_fetch_max(P, V, __ATOMIC_SEQ_CST))                              \
  RMW(min_gen_i_##SCOPE, SIGNED, i##BITS,                                      \
      __atomic_fetch_min(P, V, __ATOMIC_SEQ_CST))                              \
  RMW(and_gen_i_##SCOPE, SIGNED, i##BITS,                                      \
      __atomic_fetch_and(P, V, __ATOMIC_SEQ_CST))                              \
  RMW(or_gen_i_##SCOPE, SIGNED, i##BITS,                                       \
      __atomic_fetch_or(P, V, __ATOMIC_SEQ_CST))                               \
  RMW(xor_gen_i_##SCOPE, SIGNED, i##BITS,                                      \
      __atomic_fetch_xor(P, V, __ATOMIC_SEQ_CST))                              \
  SIGNED NVVM(atomic_cas_gen_i_##SCOPE##_i##BITS)(SIGNED * P, SIGNED Expected, \
                                                  SIGNED V) {                  \
    __atomic_compare_exchange_n(P, &Expected, V, 0, __ATOMIC_SEQ_CST,          \
                                __ATOMIC_SEQ_CST);                             \
    return Expected;                                                           \
  }
#define SCOPED_REST(SCOPE)                                                     \
  SCOPED(SCOPE, 32, s32)                                                       \
  SCOPED(SCOPE, 64, s64)                                                       \
  RMW(inc_gen_i_##SCOPE, u32, i32, increment(P, V))                            \
  RMW(dec_gen_i_##SCOPE, u32, i32, decrement(P, V))                            \
  RMW(add_gen_f_##SCOPE, f32, f32, addFloat(P, V))                             \
  RMW(add_gen_f_##SCOPE, f64, f64, addDouble(P, V))
#define RMW_LOOP(NAME, TYPE, WORD, EXPR)                                       \
  HELPER TYPE NAME(TYPE *P, TYPE V) {                                          \
    TYPE Old, New;                                                             \
    WORD OldWord = __atomic_load_n((WORD *)P, __ATOMIC_RELAXED), NewWord;      \
    do {                                                                       \
      Old = __builtin_bit_cast(TYPE, OldWord);                                 \
      New = EXPR;                                                              \
      NewWord = __builtin_bit_cast(WORD, New);                                 \
    } while (!__atomic_compare_exchange_n(                                     \
        (WORD *)P, &OldWord, NewWord, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
    return Old;                                                                \
  }
RMW_LOOP(increment, u32, u32, wrapIncrement(Old, V))
RMW_LOOP(decrement, u32, u32, wrapDecrement(Old, V))
RMW_LOOP(addFloat, f32, u32, Old + V)
RMW_LOOP(addDouble, f64, u64, Old + V)
SCOPED_REST(cta)
SCOPED_REST(sys)
SCOPED_REST(gpu)

// atom.add of pairs: each half is a separate atomic.
RMW_LOOP(addHalfPair, f16x2, u32,
         pack(PTX(add_f16)(Old, V), PTX(add_f16)(Old >> 16, V >> 16)))
RMW_LOOP(addBFloatPair, bf16x2, u32,
         pack(PTX(add_bf16)(Old, V), PTX(add_bf16)(Old >> 16, V >> 16)))
RMW_LOOP(addHalf, f16, u16, PTX(add_f16)(Old, V))
RMW_LOOP(addBFloat, bf16, u16, PTX(add_bf16)(Old, V))
f16x2 PTX(atom_add_f16x2)(f16x2 *P, f16x2 V) { return addHalfPair(P, V); }
bf16x2 PTX(atom_add_bf16x2)(bf16x2 *P, bf16x2 V) { return addBFloatPair(P, V); }
f16 PTX(atom_add_f16)(f16 *P, f16 V) { return addHalf(P, V); }
bf16 PTX(atom_add_bf16)(bf16 *P, bf16 V) { return addBFloat(P, V); }

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

u64 NVVM(read_ptx_sreg_clock64)(void) { return __builtin_readcyclecounter(); }
u32 NVVM(read_ptx_sreg_clock)(void) { return __builtin_readcyclecounter(); }
extern u64 __mneme_host_globaltimer(void);
u64 NVVM(read_ptx_sreg_globaltimer)(void) { return __mneme_host_globaltimer(); }
u32 NVVM(read_ptx_sreg_globaltimer_lo)(void) {
  return __mneme_host_globaltimer();
}
u64 AMDGCN(s_memtime)(void) { return __builtin_readcyclecounter(); }
// In nanoseconds: see hipDeviceAttributeWallClockRate.
u64 AMDGCN(s_memrealtime)(void) { return __mneme_host_globaltimer(); }
u64 mneme_readsteadycounter(void) { return __mneme_host_globaltimer(); }

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

// Cooperative groups read the address of the grid's barrier in two halves.
extern u64 __mneme_host_grid_workspace(void) __attribute__((const));
u32 NVVM(read_ptx_sreg_envreg1)(void) {
  return __mneme_host_grid_workspace() >> 32;
}
u32 NVVM(read_ptx_sreg_envreg2)(void) { return __mneme_host_grid_workspace(); }
