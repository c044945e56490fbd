// REQUIRES: cuda-toolkit, device-host
//
// wmma of all shapes, types and layouts in memory, through NVIDIA's headers, against
// plain loops. All values are small integers, whose sums are exact on every device.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O1 %s -o %t.app
// RUN: env MNEME_HOST_STRATEGY=fiber llvm-mneme-record --device=host -o %t.rec -- %t.app | FileCheck %s
// RUN: env MNEME_HOST_FINISH=none llvm-mneme-record --device=host --no-record -- %t.app | FileCheck %s
// CHECK: all right

#include "Inputs/check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <type_traits>

using namespace nvcuda;
namespace precision = wmma::experimental::precision;

/// Doubles the accumulators element by element, as programs do.
template <int M, int N, int K, typename In, typename LA, typename LB, typename Acc, typename T>
__device__ void multiplyAs(const T *A, const T *B, const Acc *C, Acc *D, int StrideA, int StrideB,
                           int StrideC, wmma::layout_t Layout) {
  wmma::fragment<wmma::matrix_a, M, N, K, In, LA> FA;
  wmma::fragment<wmma::matrix_b, M, N, K, In, LB> FB;
  wmma::fragment<wmma::accumulator, M, N, K, Acc> FC;
  wmma::load_matrix_sync(FA, A, StrideA);
  wmma::load_matrix_sync(FB, B, StrideB);
  wmma::load_matrix_sync(FC, C, StrideC, Layout);
  wmma::mma_sync(FC, FA, FB, FC);
  for (int I = 0; I < FC.num_elements; ++I)
    FC.x[I] = FC.x[I] + FC.x[I];
  wmma::store_matrix_sync(D, FC, StrideC, Layout);
}

using Row = wmma::row_major;
using Column = wmma::col_major;

template <int M, int N, int K, typename In, typename Acc, typename T>
__global__ void multiply(const T *A, const T *B, const Acc *C, Acc *D, int StrideA, int StrideB,
                         int StrideC, bool RowA, bool RowB, bool RowC) {
  wmma::layout_t Layout = RowC ? wmma::mem_row_major : wmma::mem_col_major;
  if (RowA && RowB)
    multiplyAs<M, N, K, In, Row, Row>(A, B, C, D, StrideA, StrideB, StrideC, Layout);
  else if (RowA)
    multiplyAs<M, N, K, In, Row, Column>(A, B, C, D, StrideA, StrideB, StrideC, Layout);
  else if (RowB)
    multiplyAs<M, N, K, In, Column, Row>(A, B, C, D, StrideA, StrideB, StrideC, Layout);
  else
    multiplyAs<M, N, K, In, Column, Column>(A, B, C, D, StrideA, StrideB, StrideC, Layout);
}

template <typename T> double asDouble(T V) { return (double)V; }
template <> double asDouble(__half V) { return __half2float(V); }
template <> double asDouble(__nv_bfloat16 V) { return __bfloat162float(V); }
template <typename T> T fromInt(int V) { return (T)V; }
template <> __half fromInt(int V) { return __float2half((float)V); }
template <> __nv_bfloat16 fromInt(int V) { return __float2bfloat16((float)V); }

template <int M, int N, int K, typename In, typename Acc, typename T>
void run(const char *Name, bool RowA, bool RowB, bool RowC) {
  // More than the matrix needs.
  const int SA = (RowA ? K : M) + 16, SB = (RowB ? N : K) + 32, SC = (RowC ? N : M) + 8;
  Buffer<T> A(SA * (RowA ? M : K)), B(SB * (RowB ? K : N));
  Buffer<Acc> C(SC * (RowC ? M : N)), D(SC * (RowC ? M : N));
  for (auto *V : {&A, &B})
    for (size_t I = 0; I < V->Size; ++I)
      (*V)[I] = fromInt<T>(std::is_unsigned_v<T> ? (int)(I * 7919 % 251) : (int)(I * 7919 % 9) - 4);
  for (size_t I = 0; I < C.Size; ++I)
    C[I] = fromInt<Acc>((int)(I * 31 % 21) - 10), D[I] = fromInt<Acc>(-1);
  multiply<M, N, K, In, Acc>
      <<<1, 32>>>(A.Data, B.Data, C.Data, D.Data, SA, SB, SC, RowA, RowB, RowC);
  launched();
  for (int I = 0; I < M; ++I)
    for (int J = 0; J < N; ++J) {
      int At = RowC ? I * SC + J : J * SC + I;
      double Sum = asDouble(C[At]);
      for (int L = 0; L < K; ++L)
        Sum += asDouble(A[RowA ? I * SA + L : L * SA + I]) * asDouble(B[RowB ? L * SB + J : J * SB + L]);
      expect(Name, I * N + J, asDouble(D[At]), 2 * Sum);
    }
  for (size_t I = 0; I < D.Size; ++I)
    if ((int)I % SC >= (RowC ? N : M))
      expect("padding", I, asDouble(D[I]), -1.0);
}

template <int M, int N, int K, typename In, typename Acc, typename T> void layouts(const char *Name) {
  for (int I = 0; I < 8; ++I)
    run<M, N, K, In, Acc, T>(Name, I & 1, I & 2, I & 4);
}

template <typename In, typename Acc, typename T> void shapes(const char *Name) {
  layouts<16, 16, 16, In, Acc, T>(Name);
  layouts<32, 8, 16, In, Acc, T>(Name);
  layouts<8, 32, 16, In, Acc, T>(Name);
}

/// Elements of less than a byte: A is row-major, B is column-major.
template <typename In, int K> __global__ void narrow(const unsigned *A, const unsigned *B, int *D) {
  wmma::fragment<wmma::matrix_a, 8, 8, K, In, wmma::row_major> FA;
  wmma::fragment<wmma::matrix_b, 8, 8, K, In, wmma::col_major> FB;
  wmma::fragment<wmma::accumulator, 8, 8, K, int> FC;
  wmma::load_matrix_sync(FA, A, K);
  wmma::load_matrix_sync(FB, B, K);
  wmma::fill_fragment(FC, 3);
  if constexpr (K == 128) {
    wmma::bmma_sync(FC, FA, FB, FC, wmma::experimental::bmmaBitOpAND);
  } else {
    wmma::mma_sync(FC, FA, FB, FC);
  }
  wmma::store_matrix_sync(D, FC, 8, wmma::mem_row_major);
}

template <typename In, int K> void runNarrow(const char *Name, bool IsSigned) {
  constexpr int Bits = 128 / K, Words = K * Bits / 32;
  Buffer<unsigned> A(8 * Words), B(8 * Words);
  Buffer<int> D(64);
  for (int I = 0; I < 8 * Words; ++I)
    A[I] = I * 2654435761u, B[I] = I * 2246822519u + 7;
  narrow<In, K><<<1, 32>>>(A, B, D);
  launched();
  auto At = [&](unsigned *From, int Row, int I) {
    unsigned V = From[Row * Words + I * Bits / 32] >> I * Bits % 32 & ((1u << Bits) - 1);
    return IsSigned && V >> (Bits - 1) ? (int)V - (1 << Bits) : (int)V;
  };
  for (int I = 0; I < 8; ++I)
    for (int J = 0; J < 8; ++J) {
      int Sum = 3;
      for (int L = 0; L < K; ++L)
        Sum += At(A, I, L) * At(B, J, L);
      expect(Name, I * 8 + J, D[I * 8 + J], Sum);
    }
}

int main() {
  shapes<__half, float, __half>("f16 f32");
  shapes<__half, __half, __half>("f16 f16");
  shapes<__nv_bfloat16, float, __nv_bfloat16>("bf16");
  shapes<signed char, int, signed char>("s8");
  shapes<unsigned char, int, unsigned char>("u8");
  layouts<16, 16, 8, wmma::precision::tf32, float, float>("tf32");
  layouts<8, 8, 4, double, double, double>("f64");
  runNarrow<precision::s4, 32>("s4", true);
  runNarrow<precision::u4, 32>("u4", false);
  runNarrow<precision::b1, 128>("b1", false);
  return finish();
}
