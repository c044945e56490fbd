// A program registers IR for an image that another compiler made: from then on its
// kernel is one like others, on every device, under every pipeline.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/add.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/add.cubin
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/Inputs/launch-image.cpp -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/add.bc
// DEFINE: %{ir} = %t/add.bc
// DEFINE: %{options} =
// DEFINE: %{record} = %{gpu} llvm-mneme-record --any-executable --device=cuda -o %t/rec -- %t/app %t/add.cubin add %{ir} '%{options}'
//
// RUN: %{record} 2>&1 | FileCheck %s
// CHECK: registered 1
// CHECK: result 7 7
// CHECK: 1 launch seen, 1 recorded
// RUN: %{gpu} llvm-mneme-record --any-executable --device=cuda --require-ir -o %t/required -- %t/app %t/add.cubin add %{ir} 2>&1 | FileCheck %s
// RUN: llvm-mneme-record list %t/rec | FileCheck %s --check-prefix=LIST
// LIST: sm_90
// RUN: llvm-mneme-replay %t/rec --device=host --passes='default<O3>' | FileCheck %s --check-prefix=MATCH
// RUN: %{gpu} llvm-mneme-replay %t/rec --device=cuda:0 --passes='default<O1>' | FileCheck %s --check-prefix=MATCH
// MATCH: "verdict": "Match"
//
// The program's image is the application's code.
// RUN: %{gpu} llvm-mneme-replay %t/rec --device=cuda:0 --baseline=app --format=text | FileCheck %s --check-prefix=BASELINE
// BASELINE: baseline
// RUN: llvm-mneme-record check %t/rec
//
// Without a recorder, nothing is registered.
// RUN: %{gpu} %t/app %t/add.cubin add %t/add.bc | FileCheck %s --check-prefix=PLAIN
// PLAIN: registered 0
//
// Typed pointers, as LLVM 14 and NVVM have them. The settings are those of the
// application's compilation.
// RUN: rm -rf %t/rec
// REDEFINE: %{ir} = %S/Inputs/add-typed-pointers.ll
// REDEFINE: %{options} = {"passes": "mem2reg", "target_features": "+ptx80"}
// RUN: %{record} 2>&1 | FileCheck %s
// RUN: llvm-mneme-replay %t/rec --device=host --resources | FileCheck %s --check-prefix=PASSES
// PASSES: "passes": "mem2reg"
// PASSES: "verdict": "Match"
// RUN: llvm-mneme-replay %t/rec --device=host --passes='default<O2>' | FileCheck %s --check-prefix=MATCH
//
// Questions to NVVMReflect, with a pipeline that answers them, and without.
// RUN: rm -rf %t/rec
// REDEFINE: %{ir} = %S/Inputs/add-reflect.ll
// REDEFINE: %{options} = {"passes": ""}
// RUN: %{record} 2>&1 | FileCheck %s
// RUN: %{gpu} llvm-mneme-replay %t/rec --device=cuda:0 | FileCheck %s --check-prefix=MATCH
// RUN: llvm-mneme-replay %t/rec --device=host | FileCheck %s --check-prefix=MATCH
// RUN: %{gpu} llvm-mneme-replay %t/rec --device=cuda:0 --passes='default<O3>' | FileCheck %s --check-prefix=MATCH

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
