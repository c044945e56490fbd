//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral ZeroOrError = "0    success\n"
                                             "1    error\n";

static constexpr CommandHelp Help[] = {
    {"",
     "llvm-mneme-tune rec/0123.json -o study --export=package:app.mneme\n"
     "llvm-mneme-deploy show app.mneme\n"
     "MNEME_TUNED=app.mneme ./app\n",
     ZeroOrError},
    {"bake",
     "llvm-mneme-deploy bake --opt-level=2 -o out module.bc study/best.json\n",
     ZeroOrError},
    {"check",
     "llvm-mneme-deploy check app.mneme\n"
     "llvm-mneme-deploy check --app=./app app.mneme\n",
     "0    no problem\n"
     "1    a package is damaged or not for the application, or an error\n"},
    {"import", "llvm-mneme-deploy import tuned.json --app=./app -o app.mneme\n",
     "0    success\n"
     "1    error\n"
     "2    an entry was not imported\n"},
    {"merge", "llvm-mneme-deploy merge -o app.mneme saxpy.mneme jacobi.mneme\n",
     ZeroOrError},
    {"pack",
     "llvm-mneme-deploy pack -o app.mneme rec study/best.json\n"
     "llvm-mneme-deploy pack -o app.mneme --scope=kernel rec study/best.json\n",
     "0    success\n"
     "1    error\n"
     "2    a study has no winner that a package can contain\n"},
    {"rebase", "llvm-mneme-deploy rebase app.mneme --app=./app -o new.mneme\n",
     "0    success\n"
     "1    error\n"
     "2    variants or kernels were dropped\n"},
    {"prove",
     "llvm-mneme-deploy prove app.mneme -- ./app\n"
     "llvm-mneme-deploy prove --ignore-lines='^time' app.mneme -- ./app\n"
     "llvm-mneme-deploy prove --check='cmp result.ref result.txt' app.mneme -- "
     "./app\n",
     "0    the results are the same, and launches were served\n"
     "1    error\n"
     "2    the results differ, or nothing was served\n"},
    {"run",
     "llvm-mneme-deploy run app.mneme -- ./app\n"
     "llvm-mneme-deploy run --device=host --report=- app.mneme -- ./app\n"
     "llvm-mneme-deploy run --verify=3 app.mneme -- ./app\n",
     "The application's. 128 + N if signal N killed it, 1 for an error, 2 if\n"
     "--verify found a difference and the application succeeded.\n"},
    {"show",
     "llvm-mneme-deploy show app.mneme\n"
     "llvm-mneme-deploy show app.mneme --format=json\n",
     ZeroOrError},
};

ArrayRef<CommandHelp> mneme::getHelp() { return Help; }
