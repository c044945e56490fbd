// The host device runs the IR that a program registers for an image, and refuses an image without IR.

// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/add.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -S %s -o %t/add.ll
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/add.cubin
// RUN: %cuda_cc_plain -O2 --cuda-device-only -S %s -o %t/add.ptx
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/Cuda/Inputs/launch-image.cpp -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{image} = add.cubin
// DEFINE: %{ir} = add.bc
// DEFINE: %{options} =
// DEFINE: %{record} = llvm-mneme-record --device=host --any-executable -o %t/rec -- %t/app %t/%{image} add %t/%{ir} '%{options}' 2>&1
// DEFINE: %{replay} = llvm-mneme-replay %t/rec --device=host | FileCheck %s --check-prefix=MATCH

// RUN: %{record} | FileCheck %s
// CHECK: registered 1
// CHECK: result 7 7
// CHECK: 1 launch seen, 1 recorded
// RUN: %{replay}
// MATCH-DAG: "verdict": "Match"
// RUN: ls %t/rec | FileCheck %s --check-prefix=IMAGE
// IMAGE: RecordedImage_{{[0-9a-f]+}}.cubin

// PTX, with the options that its compiler used.
// RUN: rm -rf %t/rec
// REDEFINE: %{image} = add.ptx
// REDEFINE: %{options} = {"passes": "mem2reg"}
// RUN: %{record} | FileCheck %s
// RUN: llvm-mneme-replay %t/rec --device=host | FileCheck %s --check-prefixes=PASSES,MATCH
// PASSES-DAG: "passes": "mem2reg"

// Without IR.
// DEFINE: %{refused} = not llvm-mneme-record --device=host --any-executable --no-record -- %t/app %t/%{image} add 2>&1
// RUN: %{refused} | FileCheck %s --check-prefix=PTX
// PTX: mneme: error: cannot load an image: it is PTX without IR, and the host device runs LLVM IR: register the IR of its kernels before it is loaded (mneme/record.h), or give it with --ir
// PTX-NEXT: cuModuleLoadData(&Module, Image.c_str()): 209
// REDEFINE: %{image} = add.cubin
// RUN: %{refused} | FileCheck %s --check-prefix=CUBIN
// CUBIN: it is a cubin without IR

// IR that does not belong to the image, or that cannot be used.
// RUN: sed -e 's/i32 noundef %1/i64 noundef %1/' -e 's/, %1$/, 3/' %t/add.ll > %t/params.ll
// REDEFINE: %{ir} = params.ll
// RUN: not %{record} | FileCheck %s --check-prefix=PARAMS
// PARAMS: mneme: error: kernel 'add': the IR registered for kernel 'add' does not belong to its image: parameter 1 has 8 bytes at offset 8, and 4 at 8 in the image
// RUN: sed -e 's/@add/@sub/' %t/add.ll > %t/name.ll
// REDEFINE: %{ir} = name.ll
// RUN: not %{record} | FileCheck %s --check-prefix=NAME
// NAME: mneme: error: kernel 'add': the IR that is registered for its image does not define it
// NAME: cuModuleGetFunction(&Function, Module, Argv[2]): 500
// RUN: echo 'target triple = "x86_64-linux-gnu" define void @add(ptr, i32) { ret void }' > %t/x86.ll
// REDEFINE: %{ir} = x86.ll
// RUN: not %{record} | FileCheck %s --check-prefix=TARGET
// TARGET: mneme: error: cannot load an image: its IR is for 'x86_64-{{.*}}linux-gnu'
// RUN: echo 'define void @add(' > %t/text.ll
// REDEFINE: %{ir} = text.ll
// RUN: not %{record} | FileCheck %s --check-prefix=TEXT
// TEXT: mneme: error: cannot load an image: its IR cannot be read: 2:1: expected type
// REDEFINE: %{ir} = add.bc
// REDEFINE: %{options} = {"opt_tool": "/bin/true"}
// RUN: not %{record} | FileCheck %s --check-prefix=TOOL
// TOOL: mneme: error: cannot load an image: the options registered for it: setting 'opt_tool' is not one of the compilation alone

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
