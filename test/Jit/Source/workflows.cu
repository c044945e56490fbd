// Kernels of all languages on the host device: they are recorded, replayed, tuned, bisected, and served from a package. The hash of a
// kernel is the same in each run.
//
// REQUIRES: cuda-toolkit, ptxas, device-host, mlir-tools
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %cuda_cc_plain -O2 -std=c++17 -I%mneme_src/include %s -o app -lcudart
// RUN: %source_run ./app > plain
// RUN: FileCheck %s < plain
// CHECK: cpp 0: 1 59
// CHECK-NEXT: instance 0: 1 59
// CHECK-NEXT: ir 0: 1 59
// CHECK-NEXT: mlir 0: 1 59
// CHECK-NEXT: built 0: 1 59
// CHECK-NOT: {{.}}
// RUN: llvm-mneme-record -o rec --device=host --any-executable --quiet -- ./app | cmp plain -
// RUN: llvm-mneme-record -o again --device=host --any-executable --quiet -- ./app | cmp plain -
// RUN: ls rec | grep '^[0-9a-f]*.json' > rec.txt
// RUN: ls again | grep '^[0-9a-f]*.json' | cmp rec.txt -
// RUN: count 5 < rec.txt
// RUN: llvm-mneme-replay rec --all --passes='default<O2>' --specialize --set-launch-bounds | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-5: "verdict": "Match"
// RUN: while read -r FILE; do llvm-mneme-tune rec/$FILE --specialize=on --until-exhausted -o out-$FILE --quiet --explain=off \
// RUN:   --assess=off --export=package:app.mneme; done < rec.txt
// RUN: llvm-mneme-deploy run --device=host --strict --report=report.json app.mneme -- ./app | cmp plain -
// RUN: %python -c "import json; r = json.load(open('report.json')); assert r['served'] == 5, r; \
// RUN:   assert len(r['kernels']) == 5 and all(k['variants'][0]['served'] == 1 for k in r['kernels']), r"
// RUN: llvm-mneme-deploy prove --device=host --runs=2 --kernel-runs=3 app.mneme -- ./app | FileCheck %s --check-prefix=PROVE
// PROVE: results      equal
// PROVE-NEXT: served       5 of 5 launches
// RUN: for KERNEL in ir mlir; do llvm-mneme-record -o one-$KERNEL --device=host --any-executable --quiet -- ./app $KERNEL; \
// RUN:   llvm-mneme-replay bisect one-$KERNEL --device=host --load-pass-plugin=%fault_passes \
// RUN:   --passes="function(fault-wrong<$KERNEL>)" --format=text; done | FileCheck %s --check-prefix=BISECT
// BISECT-COUNT-2: fault-wrong on {{.*}}; good without it

#include "Inputs/frontends.h"

int main(int argc, char **argv) { return launchKernels(argc, argv); }
