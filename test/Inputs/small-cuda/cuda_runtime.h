// The part of CUDA's headers that simple programs need, for clang -nogpuinc (%{small_cuda} in test/lit.cfg.py). All headers are
// nine tenths of a compilation.
#pragma once
#define __CUDACC__
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <__clang_cuda_builtin_vars.h>
#include <initializer_list>
#include <stdio.h>
#include <string.h>

extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = nullptr);

template <typename T> cudaError_t cudaMalloc(T **P, size_t N) {
  return cudaMalloc(reinterpret_cast<void **>(P), N);
}
template <typename T> cudaError_t cudaGetSymbolAddress(void **P, const T &Symbol) {
  return cudaGetSymbolAddress(P, reinterpret_cast<const void *>(&Symbol));
}

extern "C" __device__ float __nv_sqrtf(float);

__device__ inline int min(int A, int B) { return A < B ? A : B; }
__device__ inline int max(int A, int B) { return A > B ? A : B; }
__device__ inline int abs(int V) { return V < 0 ? -V : V; }
__device__ inline float sqrtf(float V) { return __nv_sqrtf(V); }
__device__ inline float fmaf(float A, float B, float C) {
  return __builtin_fmaf(A, B, C);
}
__device__ inline int atomicAdd(int *P, int V) {
  return __nvvm_atom_add_gen_i(P, V);
}
__device__ inline unsigned atomicAdd(unsigned *P, unsigned V) {
  return __nvvm_atom_add_gen_i(reinterpret_cast<int *>(P), V);
}
__device__ inline unsigned __float_as_uint(float V) {
  return __builtin_bit_cast(unsigned, V);
}
__device__ inline unsigned long long __ldg(const unsigned long long *P) {
  return __nvvm_ldg_ull(P);
}
__device__ inline void __trap() { asm volatile("trap;"); }
__device__ inline unsigned __ballot_sync(unsigned Mask, int Predicate) {
  return __nvvm_vote_ballot_sync(Mask, Predicate);
}
__device__ inline int __shfl_sync(unsigned Mask, int V, int Lane) {
  return __nvvm_shfl_sync_idx_i32(Mask, V, Lane, 31);
}
__device__ inline int __shfl_down_sync(unsigned Mask, int V, int Step) {
  return __nvvm_shfl_sync_down_i32(Mask, V, Step, 31);
}
