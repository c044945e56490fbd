// A package serves a kernel that the program launches through the driver, on the host device.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/add.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/add.cubin
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/../../Runtime/Cuda/Inputs/launch-image.cpp -o %t/app -L%cuda_path/lib64/stubs -lcuda
// RUN: llvm-mneme-record --any-executable --device=host --quiet -o %t/rec -- %t/app %t/add.cubin add %t/add.bc
// RUN: llvm-mneme-replay %t/rec --device=host --passes='default<O1>' --iterations=1 --host-finish=none > %t/replay
// RUN: %python %mneme_src/test/llvm-mneme-deploy/Inputs/best.py %t/replay %t/best host %t/rec
// RUN: llvm-mneme-deploy pack -o %t/add.mneme %t/rec %t/best
// RUN: llvm-mneme-deploy run --device=host --report=- %t/add.mneme -- %t/app %t/add.cubin add %t/add.bc 2>&1 | FileCheck %s
// CHECK-DAG: result 7 7
// CHECK-DAG: mneme: launches: 1 served by tuned kernels, 0 fell back

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
