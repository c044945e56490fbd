//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The instructions of a module as tables: rows of numbers, in columns, and
/// texts by number.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SERVE_IRTABLES_H
#define LLVM_MNEME_LIB_SERVE_IRTABLES_H

namespace llvm {
class Module;
class raw_ostream;
namespace mneme {
namespace serve {

/// Writes a line, a JSON object of the tables, and the columns. A table is
///   {"rows": R, "columns": [{"name": N, "offset": O, "texts": [...]}, ...]}
/// A column is R 32-bit signed integers in the order of the host, O bytes after
/// the line. With "texts", they are indices into it; otherwise numbers, rows of
/// another table, or -1 for none.
void writeTables(const Module &M, raw_ostream &OS);

} // namespace serve
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SERVE_IRTABLES_H
