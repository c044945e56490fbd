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

#include "Tune.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr CommandHelp Help[] = {
    {"",
     "llvm-mneme-tune rec --app=./saxpy --budget=60\n"
     "llvm-mneme-tune rec --block-x=64..1024:64 "
     "--passes='default<{O2|O3}>' --trials=50 --results-dir=blocks\n"
     "llvm-mneme-tune rec --preset=launch --print-study > launch.mlir\n"
     "llvm-mneme-tune rec --study=launch.mlir --until-exhausted "
     "--results-dir=launch\n"
     "llvm-mneme-tune rec --device=none --hosts=node1,node2\n"
     "llvm-mneme-tune rec --judge-by=app --export=package:app.mneme -- ./app\n"
     "llvm-mneme-tune rec --all-kernels --budget=1800 --results-dir=tuned\n"
     "llvm-mneme-tune rec --resume --results-dir=blocks\n",
     "0    the study finished, with or without a winner\n1    error\n2    "
     "nothing verified, not even the baseline\n"},
};

ArrayRef<CommandHelp> mneme::getHelp() { return Help; }
