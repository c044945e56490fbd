// A kernel with registered IR is the same kernel in recordings of the host device and of a GPU.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/add.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/add.cubin
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/Inputs/launch-image.cpp -o %t/app -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/add.bc
// RUN: %{gpu} llvm-mneme-record --any-executable --device=cuda -o %t/gpu -- %t/app %t/add.cubin add %t/add.bc
// RUN: llvm-mneme-record --any-executable --device=host -o %t/host -- %t/app %t/add.cubin add %t/add.bc
// RUN: ls %t/gpu | grep -v Pages > %t/gpu.list
// RUN: ls %t/host | grep -v Pages | diff %t/gpu.list -
// RUN: cmp %t/gpu/RecordedImage_*.cubin %t/host/RecordedImage_*.cubin
//
// So a GPU replays it, next to the program's cubin.
// RUN: %{gpu} llvm-mneme-replay %t/host --device=cuda:0 --passes='default<O1>' --baseline=app --format=text | FileCheck %s
// CHECK: verdict         Match
// CHECK: baseline        app

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
