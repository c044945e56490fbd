//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Examples and exit codes in --help.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral ZeroOrError = "0    success\n"
                                             "1    error\n";

static constexpr CommandHelp Help[] = {
    {"",
     "llvm-mneme-record -o rec -- ./saxpy 20000\n"
     "llvm-mneme-record -o rec --device=host --kernel='^relax' "
     "--max-recordings=1 -- ./jacobi\n"
     "llvm-mneme-record -o rec --any-executable --ranks=0 -- mpirun -n 4 "
     "./app\n"
     "llvm-mneme-record --print-config=cxx,cudaflags,ldflags\n",
     "The application's own. In addition:\n"
     "1    error: the application was not started, or no GPU could be used\n"
     "128+N  the application was ended by signal N\n"},
    {"check", "llvm-mneme-record check rec\n",
     "0    all recordings are complete\n"
     "1    a recording is damaged, or an error\n"},
    {"compile",
     "llvm-mneme-record compile src/kernel.cu -o edited.bc -D TILE=32\n"
     "llvm-mneme-replay rec --ir=edited.bc\n",
     "0    success\n"
     "1    the source does not compile, or an error\n"},
    {"copy", "llvm-mneme-record copy rec archive\n", ZeroOrError},
    {"export", "llvm-mneme-record export -o rec.mneme rec\n", ZeroOrError},
    {"import", "llvm-mneme-record import rec.mneme other\n", ZeroOrError},
    {"list",
     "llvm-mneme-record list rec\n"
     "llvm-mneme-record list rec --json\n",
     ZeroOrError},
    {"list-kernels", "llvm-mneme-record list-kernels ./saxpy\n", ZeroOrError},
    {"move", "llvm-mneme-record move rec archive\n", ZeroOrError},
    {"prune", "llvm-mneme-record prune rec\n", ZeroOrError},
    {"source",
     "llvm-mneme-record source rec/5691*.json -o src -- "
     "clang++ -x cuda --offload-arch=sm_90 -O2 jacobi.cu\n"
     "llvm-mneme-record source rec/5691*.json -o src "
     "--compile-commands=build/compile_commands.json\n",
     ZeroOrError},
    {"show",
     "llvm-mneme-record show rec\n"
     "llvm-mneme-record show rec --json\n",
     ZeroOrError},
};

ArrayRef<CommandHelp> mneme::getHelp() { return Help; }
