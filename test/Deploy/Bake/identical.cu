// A tuned kernel that is compiled into the application has the machine code of
// the study, at all -O levels of the application. Another kernel keeps its own,
// although both use the same function.
//
// DEFINE: %{level} =
// DEFINE: %{record} = llvm-mneme-record --device=host --quiet
// DEFINE: %{compare} = --no-execute --format=text --compare-with-app
// DEFINE: %{test} = rm -rf %t && mkdir %t && cd %t \
// DEFINE:   && %cuda_cc %{level} %s -o app \
// DEFINE:   && %{record} -o rec --kernel=smooth -- %t/app > app.txt \
// DEFINE:   && %{record} -o other --kernel=fill -- %t/app \
// DEFINE:   && llvm-mneme-replay rec "--passes=default<O3>,loop-unroll" \
// DEFINE:     --mllvm=-unroll-threshold=2000 --set-launch-bounds > replay.json \
// DEFINE:   && %best replay.json best.json "" rec \
// DEFINE:   && %baking_cc %{level} %s -mllvm -mneme-apply=best.json -o baked \
// DEFINE:   && not llvm-mneme-replay rec --config=best.json %{compare}=app > text \
// DEFINE:   && llvm-mneme-replay rec --config=best.json %{compare}=baked >> text \
// DEFINE:   && llvm-mneme-replay other %{compare}=baked >> text \
// DEFINE:   && FileCheck %s < text
// CHECK: machine code    differs from app
// CHECK: machine code    identical to baked
// CHECK: machine code    identical to baked
//
// REDEFINE: %{level} = -O0
// RUN: %{test}
// REDEFINE: %{level} = -O1 -gline-tables-only
// RUN: %{test}
// REDEFINE: %{level} = -O2
// RUN: %{test}
//
// The payload still has the kernel of the source.
// RUN: llvm-mneme-record list-kernels --static-hash %t/app > %t/app.list
// RUN: llvm-mneme-record list-kernels --static-hash %t/baked > %t/baked.list
// RUN: grep static: %t/app.list > %t/app.hashes
// RUN: grep static: %t/baked.list > %t/baked.hashes
// RUN: cmp %t/app.hashes %t/baked.hashes
// RUN: %{record} -o %t/again -- %t/baked > %t/baked.txt
// RUN: cmp %t/app.txt %t/baked.txt

#define SINE sinf
#define LAST(V, N) mix(V, 3) * cosf(V)
#include "../Inputs/smooth.h"
