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

#include "Modes.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr CommandHelp Commands[] = {
    {"",
     "llvm-mneme-replay rec --passes='default<O3>' --resources --format=text\n"
     "llvm-mneme-replay rec --record-id=b22693e9adbb9f7a --block-dim-x=128 "
     "--grid-dim-x=32\n"
     "llvm-mneme-replay rec --device=cuda:0 --baseline=app --app=./saxpy\n"
     "llvm-mneme-replay rec --config=mneme-study.saxpy/best.json "
     "--format=text\n",
     "0    the launch verified, or verification was disabled\n"
     "1    error: nothing was replayed\n"
     "2    any other verdict, or --compare-with-app found a difference\n"
     "See --exit-code for llvm-reduce and git bisect run.\n"},
    {"assess", "llvm-mneme-replay assess rec --format=text\n",
     "0    verification caught all faults\n"
     "1    error: no faults were planted\n"
     "2    a fault was missed, or an empty kernel would verify\n"},
    {"bisect",
     "llvm-mneme-replay bisect rec --passes='default<O3>'\n"
     "llvm-mneme-replay bisect rec --passes='default<O3>' --criterion=time "
     "--threshold=5% --output=report\n"
     "llvm-mneme-replay bisect rec --good='--passes=default<O1>' "
     "--criterion=regs --format=text\n"
     "llvm-mneme-replay bisect rec --passes='default<O2>' --over=llvm "
     "--good=/usr/lib/llvm-19 --bad=/usr/lib/llvm-22\n"
     "llvm-mneme-replay bisect rec --passes='default<O3>' --judge-by=app -- "
     "./app\n",
     "0    a cause was found\n"
     "1    error: the sides could not be replayed\n"
     "2    nothing to find, or the search failed\n"},
    {"compare",
     "llvm-mneme-replay compare rec --good='default<O1>' "
     "--passes='default<O3>'\n"
     "llvm-mneme-replay compare rec --good='--maxnreg=64' --criterion=time\n"
     "llvm-mneme-replay compare rec 'default<O1>' 'default<O3>' "
     "--side-by-side=ir,asm\n"
     "llvm-mneme-replay compare rec 'default<O1>' 'default<O3>' "
     "--html=sides.html\n",
     "0    the sides are equal\n"
     "1    error: nothing was compared\n"
     "2    the sides differ\n"
     "3    undecided\n"
     "See --exit-code for llvm-reduce and git bisect run.\n"},
    {"guard",
     "llvm-mneme-replay guard recordings --good=/usr/lib/llvm-19 "
     "--bad=/usr/lib/llvm-22 --passes='default<O3>'\n"
     "llvm-mneme-replay guard recordings --good='default<O3>' "
     "--bad='--passes=default<O3> --mllvm=-unroll-threshold=50' "
     "--no-bisect\n"
     "llvm-mneme-replay guard recordings --good=/opt/cuda-12/bin/ptxas "
     "--bad=/opt/cuda-13/bin/ptxas --accept=known.json --junit=guard.xml\n",
     "0    no kernel became worse or wrong, besides those of --accept\n"
     "1    error: nothing was compared\n"
     "2    a kernel became worse or wrong\n"
     "3    undecided: none of those compared, but some could not be\n"
     "See --exit-code for git bisect run.\n"},
    {"list-passes",
     "llvm-mneme-replay list-passes rec --passes='default<O3>'\n"
     "llvm-mneme-replay list-passes rec --passes='default<O3>' "
     "--skip-passes=gvn --format=json\n",
     "0    all executions are listed\n"
     "1    error: nothing was compiled\n"
     "2    the compilation did not finish: the last execution is the "
     "suspect\n"},
    {"reduce",
     "llvm-mneme-replay reduce rec --passes='default<O3>' --output=report\n"
     "llvm-mneme-replay reduce rec --passes='default<O3>' --criterion=regs "
     "--limit=600 --output=report\n",
     "0    the report was written\n"
     "1    error, or the sides do not differ reproducibly: no report\n"},
    {"serve",
     "llvm-mneme-replay serve rec/1c80.json --device=cuda:0 "
     "--listen=unix:/tmp/mneme.sock\n"
     "llvm-mneme-replay serve --describe\n",
     "0    the client has closed the connection\n"
     "1    error: wrong recording or socket\n"},
    {"write-reproducer",
     "llvm-mneme-replay write-reproducer rec --passes='default<O3>' "
     "--output=reproducer\n"
     "llvm-mneme-replay write-reproducer report/recording "
     "--passes='default<O3>' --program=cpu --output=reproducer\n",
     "0    the reproducer was written\n"
     "1    error, or the sides do not differ: no reproducer\n"},
};

ArrayRef<CommandHelp> mneme::getHelp() { return Commands; }
