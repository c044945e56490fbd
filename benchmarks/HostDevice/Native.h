//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernels of Kernels.cu as plain C++ functions over whole arrays.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_BENCHMARKS_HOSTDEVICE_NATIVE_H
#define MNEME_BENCHMARKS_HOSTDEVICE_NATIVE_H

namespace native {

void saxpy(float A, const float *X, float *Y, int N);
void stencil(const float *In, float *Out, int Width, int Height);
/// Four floats per body: position and mass; acceleration and 0.
void nbody(const float *Body, float *Acceleration, int N);
void math(const float *In, float *Out, int N);
void matmul(const float *A, const float *B, float *C, int N);
void transpose(const float *In, float *Out, int Width, int Height);
/// Computes \p N / 256 sums of 256 numbers.
void reduce(const float *In, float *Out, int N);

} // namespace native

#endif // MNEME_BENCHMARKS_HOSTDEVICE_NATIVE_H
