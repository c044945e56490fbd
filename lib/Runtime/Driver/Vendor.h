//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code for CUDA and for HIP: with MNEME_HIP, a target is compiled for HIP.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_VENDOR_H
#define MNEME_LIB_RUNTIME_DRIVER_VENDOR_H

#include <cstddef>

namespace mneme {

struct CudaGraphInstantiateParams;
struct CudaGraphNodeParams;
struct CudaKernelNodeParams;
struct CudaMemsetParams;
struct HipGraphInstantiateParams;
struct HipGraphNodeParams;
struct HipKernelNodeParams;
struct HipMemsetParams;

/// Names of the vendor's runtime and of its parts.
#ifdef MNEME_HIP
inline constexpr bool ForHip = true;
inline constexpr char VendorName[] = "HIP";
/// The kind of device in recordings.
inline constexpr char DeviceKind[] = "hip";
/// How the path of the runtime begins, from the last slash on.
inline constexpr char RuntimeLibrary[] = "/libamdhip64.so";
inline constexpr char AnyRuntimeSymbol[] = "hipMalloc";
/// Dynamic shared memory of a cooperative launch, in bytes.
using CooperativeShared = unsigned;
using KernelNodeParams = HipKernelNodeParams;
using MemsetNodeParams = HipMemsetParams;
using GraphNodeParams = HipGraphNodeParams;
using GraphInstantiateParams = HipGraphInstantiateParams;
#else
inline constexpr bool ForHip = false;
inline constexpr char VendorName[] = "CUDA";
inline constexpr char DeviceKind[] = "cuda";
inline constexpr char RuntimeLibrary[] = "/libcudart.so";
inline constexpr char AnyRuntimeSymbol[] = "cudaMalloc";
using CooperativeShared = size_t;
using KernelNodeParams = CudaKernelNodeParams;
using MemsetNodeParams = CudaMemsetParams;
using GraphNodeParams = CudaGraphNodeParams;
using GraphInstantiateParams = CudaGraphInstantiateParams;
#endif

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_VENDOR_H
