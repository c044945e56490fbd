//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The environment of an application with tuned kernels. Privileged programs
/// ignore all of it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_DEPLOYENVIRONMENT_H
#define LLVM_MNEME_RUNTIME_DEPLOYENVIRONMENT_H

#include "llvm/Mneme/Runtime/PackageFormat.h"

/// Which launches are served, if a variant is correct: "recorded" for those
/// that were measured (default), "kernel" for all.
#define MNEME_ENV_TUNED_SCOPE "MNEME_TUNED_SCOPE"
/// Which changed launch shapes are admitted: "proven" (default), "verified",
/// "unproven"; each admits the earlier ones, too.
#define MNEME_ENV_TUNED_LAUNCH_SHAPE "MNEME_TUNED_LAUNCH_SHAPE"
/// Which code is admitted that differs from the recorded kernel's by more than
/// passes: "proven", "tested", "verified" (default), "unproven"; each admits
/// the earlier ones, too.
#define MNEME_ENV_TUNED_CODE "MNEME_TUNED_CODE"
/// Which GPUs are served: "name" for those with the name of the measured one
/// (default), "arch" for all that the code runs on.
#define MNEME_ENV_TUNED_DEVICE_MATCH "MNEME_TUNED_DEVICE_MATCH"
/// Which captured launches are served: "all", or by default those of variants
/// that do not depend on arguments.
#define MNEME_ENV_TUNED_CAPTURE "MNEME_TUNED_CAPTURE"
/// 1: a package that cannot be used ends the application before main.
#define MNEME_ENV_TUNED_STRICT "MNEME_TUNED_STRICT"
/// File for a report in JSON, where %p stands for the process's number; "-" for
/// text on standard error.
#define MNEME_ENV_TUNED_REPORT "MNEME_TUNED_REPORT"
/// The number of launches of each variant to verify: the runtime launches both
/// the variant and the application's own kernel on the application's memory and
/// compares the results. The application continues with those of its own.
#define MNEME_ENV_TUNED_VERIFY "MNEME_TUNED_VERIFY"
/// The share of later launches to verify, from 0 (default) to 1.
#define MNEME_ENV_TUNED_VERIFY_RATE "MNEME_TUNED_VERIFY_RATE"
/// The most bytes that the copies of a verification may take; half of the
/// available memory by default.
#define MNEME_ENV_TUNED_VERIFY_MEMORY "MNEME_TUNED_VERIFY_MEMORY"
/// Set by llvm-mneme-deploy: a file that gets a line for each difference.
#define MNEME_ENV_TUNED_VERIFY_LOG "MNEME_TUNED_VERIFY_LOG"
/// Times each launch that a variant matches, for the report: "tuned", or
/// "plain" to launch the application's own kernels all the same. Both wait for
/// each launch to end.
#define MNEME_ENV_TUNED_TIMES "MNEME_TUNED_TIMES"

/// All of these variables, as an initializer list.
#define MNEME_ENV_TUNED_ALL                                                    \
  {MNEME_ENV_TUNED,                                                            \
   MNEME_ENV_TUNED_SCOPE,                                                      \
   MNEME_ENV_TUNED_LAUNCH_SHAPE,                                               \
   MNEME_ENV_TUNED_CODE,                                                       \
   MNEME_ENV_TUNED_DEVICE_MATCH,                                               \
   MNEME_ENV_TUNED_CAPTURE,                                                    \
   MNEME_ENV_TUNED_STRICT,                                                     \
   MNEME_ENV_TUNED_REPORT,                                                     \
   MNEME_ENV_TUNED_VERIFY,                                                     \
   MNEME_ENV_TUNED_VERIFY_RATE,                                                \
   MNEME_ENV_TUNED_VERIFY_MEMORY,                                              \
   MNEME_ENV_TUNED_VERIFY_LOG,                                                 \
   MNEME_ENV_TUNED_TIMES}

#endif // LLVM_MNEME_RUNTIME_DEPLOYENVIRONMENT_H
