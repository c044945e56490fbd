// IR that does not fit an image: the launch is not recorded, the reason names the kernel,
// and the program runs as before.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/add.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -S %s -o %t/add.ll
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/add.cubin
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/Inputs/launch-image.cpp -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{ir} =
// DEFINE: %{options} =
// DEFINE: %{record} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/add.bc llvm-mneme-record --any-executable --device=cuda -o %t/rec \
// DEFINE:   -- %t/app %t/add.cubin add %{ir} '%{options}' 2>&1
//
// Other parameters.
// RUN: sed -e 's/i32 noundef %1/i64 noundef %1/' -e 's/, %1$/, 3/' %t/add.ll > %t/other.ll
// REDEFINE: %{ir} = %t/other.ll
// RUN: %{record} | FileCheck %s --check-prefixes=CHECK,PARAM
// PARAM-DAG: warning: kernel 'add' is not recorded: the IR registered for kernel 'add' does not belong to its image: parameter 1 has 8 bytes at offset 8, and 4 at 8 in the image
// CHECK-DAG: result 7 7
//
// Another kernel.
// RUN: sed -e 's/@add/@sub/' %t/add.ll > %t/name.ll
// REDEFINE: %{ir} = %t/name.ll
// RUN: %{record} | FileCheck %s --check-prefixes=CHECK,NAME
// NAME-DAG: does not belong to its image: it does not define the kernel
//
// Another target.
// RUN: echo 'target triple = "x86_64-linux-gnu" define void @add(ptr, i32) { ret void }' > %t/x86.ll
// REDEFINE: %{ir} = %t/x86.ll
// RUN: %{record} | FileCheck %s --check-prefixes=CHECK,TARGET
// TARGET-DAG: does not belong to its image: it is for 'x86_64-{{.*}}linux-gnu'
//
// Not readable, with what the file says of its version.
// RUN: printf 'target triple = "nvptx64-nvidia-cuda"\ndefine void @add() {\n  blue\n}\n!llvm.ident = !{!0}\n!0 = !{!"mycc version 99.1"}\n' > %t/new.ll
// REDEFINE: %{ir} = %t/new.ll
// RUN: %{record} | FileCheck %s --check-prefixes=CHECK,READ
// READ-DAG: cannot be read: 3:3: expected instruction opcode (written by mycc 99.1, this is LLVM {{.*}})
//
// Options that are no settings of a compilation.
// REDEFINE: %{ir} = %t/add.bc
// REDEFINE: %{options} = {"opt_tool": "/bin/true"}
// RUN: %{record} | FileCheck %s --check-prefixes=CHECK,TOOL
// TOOL-DAG: the options registered for kernel 'add': setting 'opt_tool' is not one of the compilation alone
// REDEFINE: %{options} = {"pases": ""}
// RUN: %{record} | FileCheck %s --check-prefixes=CHECK,KEY
// KEY-DAG: the options registered for kernel 'add': {{.*}}pases
//
// Bound to another image: the kernel is recorded without IR.
// RUN: %cuda_cc_plain -O0 --cuda-device-only -c %s -o %t/other.cubin
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/add.bc llvm-mneme-record --any-executable --device=cuda -o %t/rec \
// RUN:   -- %t/app %t/add.cubin add %t/add.bc "" add %t/other.cubin 2>&1 | FileCheck %s --check-prefixes=CHECK,OTHER
// OTHER-DAG: warning: kernel 'add' is recorded without IR: the IR that is registered for its name is bound to another image; register it with the bytes that the program passes to the driver
// OTHER-DAG: 1 launch seen, 1 recorded

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
