//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

///
/// \file
/// dlsym() for programs that look for functions of the CUDA driver, or of HIP:
/// they get those that are exported in their place. For libraries that are
/// loaded before the program's; such a library exports dlsym.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_DRIVERSYMBOLS_H
#define MNEME_LIB_RUNTIME_DRIVER_DRIVERSYMBOLS_H

#include "HipLibraries.h"

namespace mneme {

/// Whether \p Symbol is one of the driver's, which begin with "cu" and a
/// capital letter.
constexpr bool isDriverSymbol(const char *Symbol) {
  return Symbol[2] >= 'A' && Symbol[2] <= 'Z';
}

/// Names of the driver's library, the newest first. HIP is its own driver.
#ifdef MNEME_HIP
inline constexpr const auto &DriverLibraries = HipLibraries;
#else
inline constexpr const char *DriverLibraries[] = {"libcuda.so.1"};
#endif

/// The driver's handle, or null while it is not loaded.
void *loadedDriver();

/// The driver's own function \p Symbol, whatever other libraries of Mneme are
/// in the process; null if it has none or is not loaded.
void *findInDriver(const char *Symbol);

/// The function in place of the driver's \p Symbol, or null. Each library has
/// its own.
void *functionInPlaceOf(const char *Symbol);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_DRIVERSYMBOLS_H
