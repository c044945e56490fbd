//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEPLOY_PACKAGEREPORT_H
#define LLVM_MNEME_LIB_DEPLOY_PACKAGEREPORT_H

#include "llvm/Mneme/Deploy/Application.h"

namespace llvm {
namespace mneme {

/// Adds up the reports (MNEME_TUNED_REPORT) report.*.json in a folder.
Expected<PackageUse> readPackageUse(StringRef Folder);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEPLOY_PACKAGEREPORT_H
