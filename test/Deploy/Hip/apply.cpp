// A tuned kernel that is compiled into a HIP application has the machine code of the study, at all -O levels
// of the application. Another kernel keeps its own, although both use the same function.
//
// DEFINE: %{level} =
// DEFINE: %{apply} = -fplugin=%mneme_pass -Xclang -mllvm -Xclang -mneme-apply=best.json
// DEFINE: %{record} = %emulated_gpu llvm-mneme-record --device=host --quiet
// DEFINE: %{compare} = --no-execute --format=text --compare-with-app
// DEFINE: %{test} = rm -rf %t && mkdir %t && cd %t \
// DEFINE:   && %cuda_cc %{level} %s -o app \
// DEFINE:   && %{record} -o rec --kernel=smooth -- %t/app > app.txt \
// DEFINE:   && %{record} -o other --kernel=fill -- %t/app \
// DEFINE:   && llvm-mneme-replay rec "--passes=default<O3>,loop-unroll" --device=host \
// DEFINE:     --mllvm=-unroll-threshold=2000 --set-launch-bounds > replay.json \
// DEFINE:   && %python %mneme_src/test/llvm-mneme-deploy/Inputs/best.py replay.json best.json "Emulated GPU" rec \
// DEFINE:   && %cuda_cc %{level} %s %{apply} -o baked \
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
// RUN: llvm-mneme-record list-kernels --static-hash %t/app | grep static: > %t/app.hashes
// RUN: llvm-mneme-record list-kernels --static-hash %t/baked | grep static: > %t/baked.hashes
// RUN: cmp %t/app.hashes %t/baked.hashes
// RUN: %{record} -o %t/again -- %t/baked > %t/baked.txt
// RUN: cmp %t/app.txt %t/baked.txt
//
// The GPU gets the tuned kernel.
// RUN: cd %t && %cuda_cc_plain %{level} -fpass-plugin=%mneme_pass %{apply} --cuda-device-only -emit-llvm -c %s -o baked.bc
// RUN: llvm-dis %t/baked.bc -o - | FileCheck %s --check-prefix=IR
// IR-DAG: define hidden {{.*}}@_Z3mixfi__tuned___Z6smoothIfEvPT_i(
// IR-DAG: define {{.*}}amdgpu_kernel void @_Z6smoothIfEvPT_i(
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/baked.bc %t/baked > %t/gpu.txt
// RUN: cmp %t/app.txt %t/gpu.txt

// Without ROCm's device libraries.
#define SINE(X) (X)
#define LAST mix
#include "../Inputs/smooth.h"
