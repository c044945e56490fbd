//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sparse matrix-vector product in CSR. The kernels are given one pointer to a
/// structure in device memory, which holds the pointers to the matrix' arrays,
/// so a replay works only if pointers inside data stay valid.
///
///   spmv [rows]
///
//===----------------------------------------------------------------------===//

#include "Example.h"

struct CsrMatrix {
  int NumRows;
  const int *RowStart; ///< NumRows + 1
  const int *Column;
  const double *Value;
};

struct Problem {
  CsrMatrix A;
  const double *X;
  double *Y;
};

/// A thread a row.
__global__ void spmvScalar(const Problem *P) {
  int Row = blockIdx.x * blockDim.x + threadIdx.x;
  if (Row >= P->A.NumRows)
    return;
  double Sum = 0;
  for (int I = P->A.RowStart[Row]; I < P->A.RowStart[Row + 1]; ++I)
    Sum += P->A.Value[I] * P->X[P->A.Column[I]];
  P->Y[Row] = Sum;
}

/// A warp a row.
__global__ void spmvVector(const Problem *P) {
  int Row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int Lane = threadIdx.x % 32;
  if (Row >= P->A.NumRows)
    return;
  double Sum = 0;
  for (int I = P->A.RowStart[Row] + Lane; I < P->A.RowStart[Row + 1]; I += 32)
    Sum += P->A.Value[I] * P->X[P->A.Column[I]];
  for (int Delta = 16; Delta > 0; Delta /= 2)
    Sum += __shfl_xor_sync(0xffffffffu, Sum, Delta);
  if (Lane == 0)
    P->Y[Row] = Sum;
}

int main(int Argc, char **Argv) {
  const int Rows = example::getSize(Argc, Argv, 1, 6000);
  // Rows of very different length, none of them sorted.
  example::Random R(1);
  std::vector<int> RowStart = {0}, Column;
  std::vector<double> Value;
  for (int Row = 0; Row < Rows; ++Row) {
    double U = R.uniform();
    int Length = 1 + static_cast<int>(60 * U * U * U * U);
    for (int I = 0; I < Length; ++I) {
      Column.push_back(static_cast<int>(R.uniform() * Rows));
      Value.push_back(2 * R.uniform() - 1);
    }
    RowStart.push_back(static_cast<int>(Column.size()));
  }
  std::vector<double> X = example::randomVector<double>(Rows, -1, 1, 2);
  std::vector<double> Want(Rows);
  for (int Row = 0; Row < Rows; ++Row)
    for (int I = RowStart[Row]; I < RowStart[Row + 1]; ++I)
      Want[Row] += Value[I] * X[Column[I]];

  example::DeviceBuffer<int> DevRowStart(RowStart), DevColumn(Column);
  example::DeviceBuffer<double> DevValue(Value), DevX(X), DevY(Rows);
  Problem Host = {{Rows, DevRowStart.get(), DevColumn.get(), DevValue.get()},
                  DevX.get(),
                  DevY.get()};
  example::DeviceBuffer<Problem> DevProblem(std::vector<Problem>{Host});

  const int Threads = 128;
  spmvScalar<<<(Rows + Threads - 1) / Threads, Threads>>>(DevProblem.get());
  CHECK_LAUNCH();
  double ScalarError = example::maxError(DevY.download(), Want);
  CHECK(cudaMemset(DevY.get(), 0, Rows * sizeof(double)));

  spmvVector<<<(Rows * 32 + Threads - 1) / Threads, Threads>>>(
      DevProblem.get());
  CHECK_LAUNCH();
  double VectorError = example::maxError(DevY.download(), Want);
  std::printf("%d rows, %zu values\n", Rows, Value.size());
  return example::finish("spmv", ScalarError < 1e-12 && VectorError < 1e-12);
}
