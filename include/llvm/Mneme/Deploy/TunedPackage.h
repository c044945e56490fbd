//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Packages of tuned kernels (PackageFormat.h) as the tools make and merge
/// them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_TUNEDPACKAGE_H
#define LLVM_MNEME_DEPLOY_TUNEDPACKAGE_H

#include "llvm/Mneme/Runtime/PackageFormat.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct PackagedGuard {
  MnemePackageGuard Fields = {}; ///< The offset of a name is the writer's.
  std::string Name;              ///< Of a device or variable.

  bool hasName() const {
    return Fields.What == MNEME_GUARD_DEVICE ||
           Fields.What == MNEME_GUARD_VARIABLE;
  }
};

struct PackagedVariant {
  /// The offsets, sizes and digest of strings, guards and the image are the
  /// writer's.
  MnemePackageVariant Fields = {};
  std::vector<PackagedGuard> Guards;
  std::string Entry;      ///< Symbol of the kernel in the image.
  std::string ArchName;   ///< "sm_90"
  std::string Provenance; ///< A JSON object, or empty.
  std::string Image;
  /// The file that the variant was read from. Not written.
  std::string Origin = {};
};

struct PackagedKernel {
  Digest128 StaticHash = {};
  std::string Name;
  std::vector<MnemePackageArg> Args;
  std::vector<PackagedVariant> Variants; ///< In order of preference.
  /// Digest of the image from which the application loads the kernel through
  /// the driver, if it does. Written as a link.
  std::optional<Digest128> LoadedFrom = std::nullopt;
};

/// A kernel of an application that is linked with -fgpu-rdc, or of an image
/// that an application loads through the driver.
struct LinkedKernel {
  Digest128 LinkHash = {}; ///< Of the device link; digest of the image.
  std::string Name;
  Digest128 StaticHash = {};
};

struct TunedPackage {
  std::vector<PackagedKernel> Kernels;
  std::vector<LinkedKernel> Links;
};

/// Returns the bytes of a package; equal packages have equal bytes. \returns an
/// error if a reader would refuse them: kernels, variants or links that the
/// format does not admit.
Expected<std::string> packageBytes(const TunedPackage &P);

/// Writes a package atomically.
Error writePackage(StringRef Path, const TunedPackage &P);

/// Reads a package with all images. Errors begin with the path.
Expected<TunedPackage> readPackage(StringRef Path);

/// The same for a package in memory that \p Path names in errors.
Expected<TunedPackage> parsePackage(StringRef Bytes, StringRef Path);

/// A kernel of an application.
struct ApplicationKernel {
  std::string Name;
  std::string StaticHash; ///< 32 hexadecimal digits; empty if it has none.
  std::string Problem;    ///< Why it has none.
  /// If the application cannot know its static hash: the hash of its device
  /// link.
  std::string LinkHash;
};

/// Reads the kernels of an executable or library. Links and extracts those
/// compiled with -fgpu-rdc.
Expected<std::vector<ApplicationKernel>> readApplication(StringRef Path);

/// Adds a link, or replaces the one of the same hash and name.
void addLink(TunedPackage &P, LinkedKernel L);

/// Adds the links of an application's kernels that the package has. \returns
/// their number.
unsigned addLinks(TunedPackage &P, ArrayRef<ApplicationKernel> Kernels);

/// Returns true if the arguments have the same sizes and offsets.
bool haveSameArguments(const PackagedKernel &A, const PackagedKernel &B);

bool isSameGuard(const PackagedGuard &A, const PackagedGuard &B);

/// Returns true if both serve the same launches on the same devices.
bool servesSameLaunches(const PackagedVariant &A, const PackagedVariant &B);

/// Returns true if both have the same code and launch it in the same way.
bool isSameCode(const PackagedVariant &A, const PackagedVariant &B);

/// Adds the kernels of \p From to \p Into. A variant that is in both is added
/// once. \returns an error that names both origins if they serve the same
/// launches of a kernel with different code: which one is used would depend on
/// the order.
Error mergePackage(TunedPackage &Into, TunedPackage From);

/// Adds kernels to the package \p Path, which need not exist, and the links of
/// the executable \p App if it is not empty. Processes that add to one package
/// wait for each other. \returns the number of kernels in the package.
Expected<size_t> addToPackage(StringRef Path,
                              std::vector<PackagedKernel> Kernels,
                              StringRef App);

/// Adds a kernel and its link. Its variants come first, and replace those that
/// serve the same launches.
void updatePackage(TunedPackage &Into, PackagedKernel K);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_TUNEDPACKAGE_H
