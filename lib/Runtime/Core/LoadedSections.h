//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds sections of loaded executables and libraries in their files.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_LOADEDSECTIONS_H
#define MNEME_LIB_RUNTIME_CORE_LOADEDSECTIONS_H

#include <cstddef>
#include <link.h>

namespace mneme {

/// A section in memory; empty if the object does not have it.
struct LoadedSection {
  const char *Name;
  char *Begin = nullptr, *End = nullptr;
};

/// Finds \p Count sections of the object \p Info. \returns false if descriptors
/// or memory were short.
bool findSections(const dl_phdr_info &Info, LoadedSection *Sections,
                  size_t Count);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_LOADEDSECTIONS_H
