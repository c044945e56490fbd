//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the kernels of the conformance suite and their caller share.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_UNITTESTS_DEVICE_KERNELS_CONFORMANCEKERNELS_H
#define MNEME_UNITTESTS_DEVICE_KERNELS_CONFORMANCEKERNELS_H

#include <stdint.h>

struct ThreeBytes {
  uint8_t Bytes[3];
};

struct Padded {
  int8_t A;
  double B;
  int8_t C;
};

struct Large {
  int32_t Values[20];
};

struct ThreadPlace {
  uint32_t Block[3], Thread[3];
};

#endif // MNEME_UNITTESTS_DEVICE_KERNELS_CONFORMANCEKERNELS_H
