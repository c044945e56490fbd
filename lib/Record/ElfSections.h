//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads sections of programs, libraries and object files.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_RECORD_ELFSECTIONS_H
#define LLVM_MNEME_LIB_RECORD_ELFSECTIONS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

using SectionFn = function_ref<Error(StringRef Contents, StringRef Where)>;

/// Calls \p Fn for each section \p Name of an ELF file or of the members of an
/// archive. Fails if the file cannot be read or is of another type.
Error forEachSection(StringRef Path, StringRef Name, SectionFn Fn);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_RECORD_ELFSECTIONS_H
