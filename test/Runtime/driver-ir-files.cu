// The IR of images that a program loads comes from files, if the program does not register it.

// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/add.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DOTHER -emit-llvm -c %s -o %t/other.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/add.cubin
// RUN: %cuda_path/bin/fatbinary --create=%t/add.fatbin --image3=kind=elf,sm=90,file=%t/add.cubin -64
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/Cuda/Inputs/launch-image.cpp -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{record} = llvm-mneme-record --any-executable -o %t/rec --device
// RUN: %{record}=host --ir=%t/other.bc --ir=%t/add.bc -- %t/app %t/add.fatbin add 2>&1 | FileCheck %s
// CHECK: result 7 7
// CHECK: 1 launch seen, 1 recorded
// RUN: llvm-mneme-replay %t/rec --device=host | FileCheck %s --check-prefix=MATCH
// MATCH: "verdict": "Match"

// RUN: not %{record}=host --ir=%t/other.bc -- %t/app %t/add.cubin add 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: mneme: error: cannot load an image: it is a cubin, and no file of --ir has one of its kernels
// RUN: not %{record}=host --ir=%t/none -- %t/app 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: '{{.*}}none': No such file or directory
// RUN: echo 'define void @add(' > %t/text.ll
// RUN: not %{record}=host --ir=%t/text.ll -- %t/app %t/add.cubin add 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: mneme: error: cannot load an image: '{{.*}}text.ll': its IR cannot be read: 2:1: expected type
// RUN: not %{record}=cuda --ir=%t/add.bc -- %t/app 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: error: --ir and --device=cuda: it is for the host device

#ifdef OTHER
#define add sub
#endif
extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
