//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the conformance suite runs on every device; compiled to bitcode, without
// a vendor's SDK. Kernels of one file, so that each is also cut out of it.
//
//===----------------------------------------------------------------------===//

#include "ConformanceKernels.h"
#include <gpuintrin.h>

#define KERNEL extern "C" __gpu_kernel

template <typename T> static void put(uint8_t *&To, const T &Value) {
  __builtin_memcpy(To, &Value, sizeof(T));
  To += sizeof(T);
}

/// Every argument, in order, without padding.
KERNEL void scalars(uint8_t *Out, int8_t A, int16_t B, int32_t C, int64_t D,
                    float E, double F, const uint32_t *G) {
  put(Out, A);
  put(Out, B);
  put(Out, C);
  put(Out, D);
  put(Out, E);
  put(Out, F);
  put(Out, *G);
}

KERNEL void structs(uint8_t *Out, ThreeBytes A, Padded B, Large C, int8_t D) {
  put(Out, A.Bytes);
  put(Out, B.A);
  put(Out, B.B);
  put(Out, B.C);
  for (int I = 0; I != 20; ++I)
    put(Out, C.Values[I]);
  put(Out, D);
}

KERNEL void many(int64_t *Out, int32_t A0, int8_t A1, int64_t A2, int16_t A3,
                 int32_t A4, int8_t A5, int64_t A6, int16_t A7, int32_t A8,
                 int8_t A9, int64_t A10, int16_t A11, int32_t A12, int8_t A13,
                 int64_t A14, int16_t A15, int32_t A16, int8_t A17,
                 int64_t A18, int16_t A19) {
  const int64_t All[] = {A0,  A1,  A2,  A3,  A4,  A5,  A6,  A7,  A8,  A9,
                         A10, A11, A12, A13, A14, A15, A16, A17, A18, A19};
  for (int I = 0; I != 20; ++I)
    Out[I] = All[I];
}

KERNEL void nothing() {}

/// Where every thread is, by its number in the grid.
KERNEL void indices(ThreadPlace *Out) {
  uint32_t BlockX = __gpu_num_threads_x(), BlockY = __gpu_num_threads_y();
  uint32_t Thread = (__gpu_thread_id_z() * BlockY + __gpu_thread_id_y()) *
                        BlockX +
                    __gpu_thread_id_x();
  uint32_t Block = (__gpu_block_id_z() * __gpu_num_blocks_y() +
                    __gpu_block_id_y()) *
                       __gpu_num_blocks_x() +
                   __gpu_block_id_x();
  uint32_t Threads = BlockX * BlockY * __gpu_num_threads_z();
  ThreadPlace &P = Out[Block * Threads + Thread];
  P.Block[0] = __gpu_block_id_x();
  P.Block[1] = __gpu_block_id_y();
  P.Block[2] = __gpu_block_id_z();
  P.Thread[0] = __gpu_thread_id_x();
  P.Thread[1] = __gpu_thread_id_y();
  P.Thread[2] = __gpu_thread_id_z();
}

// Larger than an image's file, where it takes no room.
[[clang::loader_uninitialized]] static __gpu_local int32_t StaticShared[8192];
extern __gpu_local int32_t DynamicShared[];

/// Reverses each block's part.
KERNEL void static_shared(int32_t *Data) {
  uint32_t T = __gpu_thread_id_x(), N = __gpu_num_threads_x();
  int32_t *Mine = Data + __gpu_block_id_x() * N;
  StaticShared[T] = Mine[T];
  __gpu_sync_threads();
  Mine[T] = StaticShared[N - 1 - T];
}

/// The same, Words words of every block, through dynamic shared memory.
KERNEL void dynamic_shared(int32_t *Data, uint32_t Words) {
  int32_t *Mine = Data + uint64_t(__gpu_block_id_x()) * Words;
  for (uint32_t I = __gpu_thread_id_x(); I < Words; I += __gpu_num_threads_x())
    DynamicShared[I] = Mine[I];
  __gpu_sync_threads();
  for (uint32_t I = __gpu_thread_id_x(); I < Words; I += __gpu_num_threads_x())
    Mine[I] = DynamicShared[Words - 1 - I];
}

extern "C" {
__gpu_global int32_t conformance_counter = 1;
__gpu_global int64_t conformance_table[4] = {};
__gpu_constant int32_t conformance_constants[8] = {1, 1, 1, 1, 1, 1, 1, 1};
}

/// Reads all three variables, writes two.
KERNEL void globals(int64_t *Out) {
  uint32_t T = __gpu_thread_id_x();
  Out[T] = conformance_table[T] + conformance_constants[T];
  conformance_table[T] = -int64_t(T);
  if (T == 0)
    conformance_counter += 10;
}

[[clang::loader_uninitialized]] static __gpu_local uint32_t SharedNote;
extern "C" {
__gpu_global uint32_t conformance_note = 0;
}

/// Counts the notes that are in static and in dynamic shared memory, and leaves
/// one in each.
KERNEL void leave_notes(uint32_t *Found) {
  constexpr uint32_t Note = 0x6e6f7465;
  volatile __gpu_local uint32_t *Static = &SharedNote;
  volatile __gpu_local int32_t *Dynamic = DynamicShared;
  Found[0] += *Static == Note;
  Found[1] += *Dynamic == int32_t(Note);
  *Static = Note;
  *Dynamic = Note;
}

/// The same with a variable.
KERNEL void leave_note_in_variable(uint32_t *Found) {
  *Found += conformance_note;
  conformance_note = 1;
}

KERNEL void count(uint32_t *Counter) {
  __scoped_atomic_fetch_add(Counter, 1, __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_DEVICE);
}

/// What a sum of 32 lanes gives each of them.
KERNEL void warp_sum(uint32_t *Data) {
  uint32_t &Mine = Data[__gpu_thread_id_x()];
  uint32_t Sum = Mine;
  for (uint32_t Mask = 16; Mask; Mask /= 2)
    Sum += __gpu_shuffle_idx_u32(__gpu_lane_mask(),
                                 (__gpu_lane_id() ^ Mask) % 32, Sum, 32);
  Mine = Sum;
}

KERNEL void store(uint32_t *Address) { *Address = 1; }

KERNEL void trap(uint32_t *Out) {
  *Out = 1;
  __builtin_trap();
}

KERNEL void spin(volatile uint32_t *Flag) {
  while (*Flag == 0)
    ;
}
