// Two images with one symbol, unloaded as soon as their kernel was launched: each is
// recorded with its own IR, or its own image.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/a.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/a.cubin
// RUN: %cuda_cc_plain -O0 --cuda-device-only -emit-llvm -c %s -o %t/b.bc
// RUN: %cuda_cc_plain -O0 --cuda-device-only -c %s -o %t/b.cubin
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/Inputs/two-images.cpp -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/a.bc
// DEFINE: %{record} = %{gpu} llvm-mneme-record --any-executable --device=cuda -o %t/rec -- %t/app %t/a.cubin %t/b.cubin
//
// RUN: %{record} 2>&1 | FileCheck %s
// CHECK-DAG: result 28
// CHECK-DAG: 4 launches seen, 2 recorded, 2 skipped
// RUN: ls %t/rec | FileCheck %s --check-prefix=IMAGES
// IMAGES-COUNT-2: RecordedImage_
// RUN: %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-2: add grid 1: Match
//
// RUN: rm -rf %t/rec
// RUN: %{record} %t/a.bc %t/b.bc 2>&1 | FileCheck %s
// RUN: ls %t/rec | FileCheck %s --check-prefix=IR
// IR-COUNT-2: RecordedIR_
// RUN: %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// RUN: %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec host | FileCheck %s --check-prefix=REPLAY
// Only the IR of one has the variables of code without optimization.
// RUN: cat %t/rec/*.json | FileCheck %s --check-prefix=DIFFERENT
// DIFFERENT: "StaticHash": "[[FIRST:[0-9a-f]+]]"
// DIFFERENT-NOT: "StaticHash": "[[FIRST]]"
// DIFFERENT: "StaticHash":

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
