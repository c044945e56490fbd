// A program registers IR for a code object that it loads: its kernel is one like others, on
// every device, under every pipeline. Without, a replay runs the code object.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %hip_ir -O2 --offload-arch=gfx90a -emit-llvm -c %s -o %t/add.bc
// RUN: %hip_ir -O2 --offload-arch=gfx90a --no-gpu-bundle-output -c %s -o %t/add.co
// RUN: %hip_ir -O2 --offload-arch=gfx942 --offload-arch=gfx90a --gpu-bundle-output -c %s -o %t/add.hipfb
// RUN: %cxx -std=c++17 -I%mneme_src/include %S/Inputs/launch-image.cpp -o %t/app %hip_libs
// DEFINE: %{gpu} = %emulated_amd MNEME_EMULATED_KERNELS=%t/add.bc
// DEFINE: %{record} = %{gpu} llvm-mneme-record --any-executable --device=hip
// RUN: %{gpu} %t/app %t/add.co add %t/add.bc | FileCheck %s --check-prefix=PLAIN
// PLAIN: registered 0
// PLAIN: result 17 7
//
// RUN: %{record} -o %t/rec -- %t/app %t/add.co add %t/add.bc 2>&1 | FileCheck %s
// CHECK: registered 1
// CHECK: result 17 7
// CHECK: 2 launches seen, 2 recorded
// RUN: llvm-mneme-record check %t/rec
// RUN: %python %S/../Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// RUN: %python %S/../Cuda/Inputs/replay-all.py "%{gpu} llvm-mneme-replay" %t/rec hip:0 | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match
// REPLAY-NEXT: add grid 2: Match
// RUN: llvm-mneme-record list %t/rec | sed -n 's/^  \([0-9a-f]*\)  grid 2x.*/\1/p' > %t/id
// RUN: %{gpu} llvm-mneme-replay %t/rec --record-id=$(cat %t/id) --device=hip:0 --passes='default<O3>' --baseline=app --format=text \
// RUN:   | FileCheck %s --check-prefix=BASELINE
// BASELINE: verdict         Match
// BASELINE: baseline
//
// The code object alone, in a bundle.
// RUN: %{record} -o %t/only -- %t/app %t/add.hipfb add 2>&1 | FileCheck %s --check-prefix=ONLY
// ONLY: result 17 7
// ONLY: 2 launches seen, 2 recorded
// RUN: llvm-mneme-record check %t/only
// RUN: ls %t/only | FileCheck %s --check-prefix=FILES
// FILES: RecordedImage_{{[0-9a-f]+}}.co
// RUN: %python %S/../Cuda/Inputs/replay-all.py "%{gpu} llvm-mneme-replay" %t/only hip:0 | FileCheck %s --check-prefix=REPLAY
// RUN: llvm-mneme-record list %t/only | sed -n 's/^  \([0-9a-f]*\)  grid 2x.*/\1/p' > %t/id
// RUN: %{gpu} llvm-mneme-replay %t/only --record-id=$(cat %t/id) --device=hip:0 --format=text --resources | FileCheck %s --check-prefix=TEXT
// TEXT: pipeline        none: the recorded code object
// TEXT: resources       {{[0-9]+}} VGPRs, {{[0-9]+}} SGPRs
// RUN: not llvm-mneme-replay %t/only --record-id=$(cat %t/id) --device=host 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: kernel 'add' was recorded without IR: it runs on an AMD GPU only (--device=hip:0)
// RUN: not %{gpu} llvm-mneme-replay %t/only --record-id=$(cat %t/id) --device=hip:0 --passes='default<O3>' 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: error: kernel 'add' was recorded without IR, with its code object alone: 'passes' cannot apply
//
// The same bundle compressed, in the versions of the format that have their size.
// DEFINE: %{compress} = %hip_ir -O2 --offload-arch=gfx942 --offload-arch=gfx90a --gpu-bundle-output --offload-compress -c %s
// RUN: env COMPRESSED_BUNDLE_FORMAT_VERSION=2 %{compress} -o %t/v2.hipfb
// RUN: env COMPRESSED_BUNDLE_FORMAT_VERSION=3 %{compress} -o %t/v3.hipfb
// RUN: %{record} -o %t/v2 -- %t/app %t/v2.hipfb add 2>&1 | FileCheck %s --check-prefix=ONLY
// RUN: %python %S/../Cuda/Inputs/replay-all.py "%{gpu} llvm-mneme-replay" %t/v2 hip:0 | FileCheck %s --check-prefix=REPLAY
// RUN: %{record} -o %t/v3 -- %t/app %t/v3.hipfb add %t/add.bc 2>&1 | FileCheck %s
// RUN: %python %S/../Cuda/Inputs/replay-all.py llvm-mneme-replay %t/v3 | FileCheck %s --check-prefix=REPLAY
//
// IR that is not the code object's.
// RUN: %hip_ir -O2 --offload-arch=gfx90a -DMORE=,int -emit-llvm -c %s -o %t/more.bc
// RUN: %{record} -o %t/none -- %t/app %t/add.co add %t/more.bc 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: the IR registered for kernel 'add' does not belong to its image: it has 3 parameters, the image 2

#ifndef MORE
#define MORE
#endif
extern "C" __global__ void add(int *P, int N MORE) {
  P[blockIdx.x * blockDim.x + threadIdx.x] += N;
}
