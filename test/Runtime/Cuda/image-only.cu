// A kernel without IR is replayed through its image: verified, timed, with other launches and, for
// PTX, with other options of ptxas. What needs IR is refused.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/add.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/add.cubin
// RUN: %cuda_cc_plain -O2 --cuda-device-only -S %s -o %t/add.ptx
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/Inputs/launch-image.cpp -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/add.bc
// RUN: %{gpu} llvm-mneme-record --any-executable --device=cuda -o %t/cubin -- %t/app %t/add.cubin add
// RUN: %{gpu} llvm-mneme-record --any-executable --device=cuda -o %t/ptx -- %t/app %t/add.ptx add
// RUN: not %{gpu} llvm-mneme-record --any-executable --device=cuda --require-ir -o %t/none -- %t/app %t/add.cubin add 2>&1 | FileCheck %s --check-prefix=NONE
// NONE-DAG: result 7 7
// NONE-DAG: 1 launch seen, 0 recorded
// RUN: llvm-mneme-record check %t/cubin
// RUN: llvm-mneme-record check %t/ptx
// RUN: ls %t/cubin %t/ptx | FileCheck %s --check-prefix=FILES
// FILES: RecordedImage_{{[0-9a-f]+}}.cubin
// FILES: RecordedImage_{{[0-9a-f]+}}.ptx
//
// RUN: %{gpu} llvm-mneme-replay %t/cubin --device=cuda:0 --grid-dim-x=1 --block-dim-x=64 | FileCheck %s
// RUN: %{gpu} llvm-mneme-replay %t/ptx --device=cuda:0 --ptxas-options=-maxrregcount=24 --codegen-opt=1 | FileCheck %s
// CHECK: "passes": ""
// CHECK: "verdict": "Match"
// RUN: not %{gpu} llvm-mneme-replay %t/cubin --device=cuda:0 --grid-dim-x=1 | FileCheck %s --check-prefix=MISMATCH
// MISMATCH: "verdict": "Mismatch"
//
// RUN: not llvm-mneme-replay %t/cubin --device=host 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: kernel 'add' was recorded without IR: it runs on an NVIDIA GPU only (--device=cuda:0)
// RUN: not %{gpu} llvm-mneme-replay %t/cubin --device=cuda:0 --passes='default<O3>' 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: error: kernel 'add' was recorded without IR, with its cubin alone: 'passes' cannot apply; register its IR when it is recorded (mneme/record.h), or give IR with --ir
// RUN: not %{gpu} llvm-mneme-replay %t/cubin --device=cuda:0 --ptxas-options=-v 2>&1 | FileCheck %s --check-prefix=PTXAS
// PTXAS: with its cubin alone: 'ptxas_options' cannot apply
// RUN: not %{gpu} llvm-mneme-replay %t/ptx --device=cuda:0 --specialize 2>&1 | FileCheck %s --check-prefix=SPECIALIZE
// SPECIALIZE: with its PTX alone: 'specialize' cannot apply
// RUN: not llvm-mneme-replay list-passes %t/ptx 2>&1 | FileCheck %s --check-prefix=LISTING
// LISTING: error: {{.*}}kernel 'add' was recorded without IR: it has no passes
// DEFINE: %{output} = --output-ll=%t/out
// DEFINE: %{refused} = not %{gpu} llvm-mneme-replay %t/cubin --device=cuda:0 %{output} 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: %{refused}
// REDEFINE: %{output} = --output-asm=%t/out
// RUN: %{refused}
// REDEFINE: %{output} = --remarks=%t/out
// RUN: %{refused}
// OUTPUT: error: --{{.*}}: kernel 'add' was recorded without IR, with its cubin alone; give IR with --ir
// RUN: %{gpu} llvm-mneme-replay %t/ptx --device=cuda:0 --output-asm=%t/out.ptx && FileCheck %s --check-prefix=ASM --input-file=%t/out.ptx
// ASM: .visible .entry add(
// ASM: st.global
//
// With IR, it is a kernel like others.
// RUN: llvm-mneme-replay %t/cubin --device=host --ir=%t/add.bc --format=text | FileCheck %s --check-prefix=WITH
// WITH: verdict         Match
// WITH: nothing could be poisoned: it was recorded without IR)
//
// A changed image is noticed.
// RUN: cp -r %t/ptx %t/changed
// RUN: echo '// more' >> %t/changed/RecordedImage_*.ptx
// RUN: not llvm-mneme-record check %t/changed 2>&1 | FileCheck %s --check-prefix=CHANGED
// CHANGED: RecordedImage_{{.*}}.ptx': has changed since it was recorded

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
