//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads packages (PackageFormat.h), inside the application and in the tools.
/// No LLVM. The tables are copied and checked when a package is opened. Images
/// are read from the open file when they are needed, so a package can be
/// replaced or truncated while a program uses it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_PACKAGE_H
#define LLVM_MNEME_RUNTIME_PACKAGE_H

#include "llvm/Mneme/Runtime/PackageFormat.h"

#include <cstddef>
#include <memory>
#include <string>

namespace mneme {

/// Consecutive entries of a table.
template <typename T> struct PackageRange {
  const T *First = nullptr;
  size_t Count = 0;
  const T *begin() const { return First; }
  const T *end() const { return First + Count; }
  size_t size() const { return Count; }
  const T &operator[](size_t I) const { return First[I]; }
};

class Package {
public:
  Package() = default;
  Package(const Package &) = delete;
  Package &operator=(const Package &) = delete;
  ~Package();

  /// Reads and checks everything but the images. \returns an error message
  /// without the path; empty on success.
  std::string open(const char *Path);
  /// The same for a package in memory, which must stay valid.
  std::string openMemory(const void *Bytes, size_t Size);

  PackageRange<MnemePackageKernel> kernels() const;
  /// Returns null if there is no such kernel.
  const MnemePackageKernel *findKernel(const uint8_t StaticHash[16]) const;
  const MnemePackageKernel *findKernel(const uint8_t LinkHash[16],
                                       const char *Name) const;
  PackageRange<MnemePackageUnit> units() const;
  PackageRange<MnemePackageArg> args(const MnemePackageKernel &K) const;
  PackageRange<MnemePackageVariant> variants(const MnemePackageKernel &K) const;
  PackageRange<MnemePackageGuard> guards(const MnemePackageVariant &V) const;
  /// Returns true if an image has copies of variables.
  bool copiesVariables() const;
  /// Returns a string of the tables.
  const char *text(uint32_t Offset) const;

  /// Reads and checks an image; may be called by several threads. \returns
  /// an error message; empty on success.
  std::string readImage(const MnemePackageVariant &V,
                        std::unique_ptr<char[]> &Bytes) const;

private:
  std::string check();
  const MnemePackageHeader &header() const {
    return *reinterpret_cast<const MnemePackageHeader *>(Tables);
  }

  int File = -1;
  const char *Memory = nullptr; ///< All of it, if not a file.
  const char *Tables = nullptr; ///< [0, TablesSize)
  std::unique_ptr<char[]> Copy; ///< The tables of a file.
  uint64_t Size = 0;            ///< Of the whole package.
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_PACKAGE_H
