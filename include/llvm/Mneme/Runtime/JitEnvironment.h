//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The environment of an application whose kernels and functions are compiled
/// while it runs. Privileged programs ignore it. The variables of Proteus have
/// an effect if those of Mneme are not set.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_JITENVIRONMENT_H
#define LLVM_MNEME_RUNTIME_JITENVIRONMENT_H

/// 0: code runs as compiled.
#define MNEME_ENV_JIT "MNEME_JIT"
/// "block": a launch waits for its code (default). "async": until the code is
/// ready, launches run as compiled. "cached": only code in the cache is used.
#define MNEME_ENV_JIT_MODE "MNEME_JIT_MODE"
/// What becomes constants: of "args", "block", "grid", "ranges", "bounds",
/// separated by commas. Default: args,block,bounds.
#define MNEME_ENV_JIT_SPECIALIZE "MNEME_JIT_SPECIALIZE"
/// Most variants of a kernel or function; further launches get code without
/// constants. Default: 32.
#define MNEME_ENV_JIT_VARIANTS "MNEME_JIT_VARIANTS"
/// An extended regular expression: kernels that are compiled without an
/// annotation; their scalar arguments may become constants.
#define MNEME_ENV_JIT_KERNELS "MNEME_JIT_KERNELS"
/// The pipeline. Default: default<O3>.
#define MNEME_ENV_JIT_PASSES "MNEME_JIT_PASSES"
/// File with settings in JSON, as --config of llvm-mneme-replay.
#define MNEME_ENV_JIT_CONFIG "MNEME_JIT_CONFIG"
/// Folder of the cache; "none" for no cache. Default: mneme/jit in
/// $XDG_CACHE_HOME or ~/.cache.
#define MNEME_ENV_JIT_CACHE "MNEME_JIT_CACHE"
/// Most bytes in the cache. Default: 1 GiB.
#define MNEME_ENV_JIT_CACHE_SIZE "MNEME_JIT_CACHE_SIZE"
/// Further folders, separated by colons, which are only read.
#define MNEME_ENV_JIT_SHARED_CACHE "MNEME_JIT_SHARED_CACHE"
/// 1: every second launch of a variant runs as compiled, and the report says
/// how long both take.
#define MNEME_ENV_JIT_TIMES "MNEME_JIT_TIMES"
/// File for a report in JSON, where %p stands for the process's number; "-" for
/// text on standard error.
#define MNEME_ENV_JIT_REPORT "MNEME_JIT_REPORT"
/// Path of llvm-mneme-jitd. Default: beside the runtime, in ../bin.
#define MNEME_ENV_JIT_SERVER "MNEME_JIT_SERVER"
/// Seconds without work after which a server that this process starts ends.
#define MNEME_ENV_JIT_IDLE "MNEME_JIT_IDLE"
/// Seconds that a launch waits for the server. Default: 600.
#define MNEME_ENV_JIT_TIMEOUT "MNEME_JIT_TIMEOUT"

#endif // LLVM_MNEME_RUNTIME_JITENVIRONMENT_H
