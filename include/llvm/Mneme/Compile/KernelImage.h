//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads what the image of a program says about its kernels: cubins, PTX, and
/// fat binaries of both; code objects, and bundles of them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_KERNELIMAGE_H
#define LLVM_MNEME_COMPILE_KERNELIMAGE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// The code of a kernel that a device runs.
struct KernelImage {
  bool IsPTX = false; ///< Otherwise a cubin or a code object.
  std::string Arch;   ///< "sm_90a", "gfx90a:xnack-"
  std::string Bytes;  ///< PTX: without a terminator.
};

/// Selects from \p Image what the driver selects for a device of architecture
/// \p Arch: the best cubin that has \p Kernel, else the best PTX; a code object
/// that has it. Errors name the kernel, and what the image has instead.
/// \param Runs  whether the device runs machine code for an architecture.
Expected<KernelImage>
selectKernelImage(StringRef Image, StringRef Kernel, StringRef Arch,
                  function_ref<bool(StringRef CodeArch)> Runs);

/// A parameter or a variable; offsets and sizes are in bytes.
struct ImageParam {
  uint32_t Offset = 0, Size = 0;
  /// PTX says so of some parameters (.ptr), code objects of all; cubins do not.
  bool IsPointer = false;
};
struct ImageSymbol {
  std::string Name;
  uint64_t Size = 0;
  bool IsConstant = false;
};

/// The parameters of \p Kernel: EIATTR_KPARAM_INFO of a cubin, the declaration
/// in PTX, the metadata of a code object. Nothing if the image does not tell,
/// as after stripping.
Expected<std::optional<std::vector<ImageParam>>>
readParameters(const KernelImage &Image, StringRef Kernel);

/// The global and constant variables with a name that the driver finds.
Expected<std::vector<ImageSymbol>> readVariables(const KernelImage &Image);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_KERNELIMAGE_H
