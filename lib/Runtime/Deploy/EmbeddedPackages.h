//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Packages in a section of the executable.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DEPLOY_EMBEDDEDPACKAGES_H
#define MNEME_LIB_RUNTIME_DEPLOY_EMBEDDEDPACKAGES_H

#include <cstddef>
#include <string_view>
#include <vector>

namespace mneme {

/// Returns the contents of MNEME_PACKAGE_SECTION in an ELF file of \p Size
/// bytes: packages, one after the other. Empty if there is none, or the file is
/// damaged.
std::string_view findPackageSection(const char *File, size_t Size);

/// Divides a section into packages. Bytes that are no package are
/// returned as one, so that they are reported.
std::vector<std::string_view> dividePackages(std::string_view Section);

/// Maps the executable, for the lifetime of the process if it has packages.
/// Throws std::bad_alloc.
std::vector<std::string_view> findEmbeddedPackages();

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DEPLOY_EMBEDDEDPACKAGES_H
