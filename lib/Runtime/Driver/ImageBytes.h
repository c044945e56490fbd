//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

///
/// \file
/// Images as programs pass them to the driver: cubins, PTX text, fat binaries,
/// code objects and their bundles.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_IMAGEBYTES_H
#define MNEME_LIB_RUNTIME_DRIVER_IMAGEBYTES_H

#include <cstddef>
#include <string>

namespace mneme {

/// The image itself, for a pointer to it or to its wrapper.
const void *unwrapImage(const void *Image);

/// The size of an image in bytes, as its own headers give it; 0 if its form is
/// unknown. Of a compressed bundle that does not have its size, that of the
/// header.
size_t sizeOfImage(const void *Image);

/// The image in a file; empty if there is none. May throw.
std::string readImageFile(const char *Path);

/// XXH3-128, 16 bytes. May throw.
std::string digestOfImage(const void *Data, size_t Size);
/// The digest that an image of at most \p Size bytes has when it is loaded,
/// where only its headers give its size. May throw.
std::string digestOfLoadedImage(const void *Image, size_t Size);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_IMAGEBYTES_H
