// A kernel with registered IR is tuned, packed and served where the program launches it
// through the driver, as long as the program loads the image that was recorded. Another
// image with the same symbol is not served.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/a.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/a.cubin
// RUN: %cuda_cc_plain -O0 --cuda-device-only -c %s -o %t/b.cubin
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/../../Runtime/Cuda/Inputs/launch-image.cpp -o %t/one -L%cuda_path/lib64/stubs -lcuda
// RUN: %cxx -std=c++17 -I%cuda_path/include -I%mneme_src/include %S/../../Runtime/Cuda/Inputs/two-images.cpp -o %t/two -L%cuda_path/lib64/stubs -lcuda
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/a.bc
//
// RUN: %{gpu} llvm-mneme-record --any-executable --device=cuda -o %t/rec -- %t/one %t/a.cubin add %t/a.bc
// RUN: %{gpu} llvm-mneme-replay %t/rec --device=cuda:0 --passes='default<O1>' > %t/replay
// RUN: %python %S/../../llvm-mneme-deploy/Inputs/best.py %t/replay %t/best 'Emulated GPU' %t/rec
// RUN: llvm-mneme-deploy pack -o %t/app.mneme %t/rec %t/best
// RUN: llvm-mneme-deploy pack --scope=kernel -o %t/all.mneme %t/rec %t/best
// RUN: llvm-mneme-deploy show --format=json %t/app.mneme | FileCheck %s --check-prefix=LINK
// LINK: "link_hash":
//
// RUN: %{gpu} llvm-mneme-deploy run --device=cuda --report=- %t/app.mneme -- %t/one %t/a.cubin add 2>&1 | FileCheck %s --check-prefix=ONE
// ONE-DAG: result 7 7
// ONE-DAG: mneme: launches: 1 served by tuned kernels, 0 fell back
// RUN: %{gpu} llvm-mneme-deploy run --device=cuda --report=- %t/all.mneme -- %t/two %t/a.cubin %t/b.cubin 2>&1 | FileCheck %s --check-prefix=TWO
// TWO-DAG: result 28
// TWO-DAG: mneme: launches: 2 served by tuned kernels, 0 fell back
// TWO-DAG: mneme: launches through the driver, which are not served: 2
//
// Launches that were not measured.
// RUN: %{gpu} llvm-mneme-deploy run --device=cuda --report=- %t/app.mneme -- %t/two %t/a.cubin %t/b.cubin 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER-DAG: result 28
// OTHER-DAG: mneme: launches: 0 served by tuned kernels, 2 fell back
// RUN: %{gpu} llvm-mneme-deploy run --device=cuda --report=- --verify=1 %t/app.mneme -- %t/one %t/a.cubin add 2>&1 | FileCheck %s --check-prefix=VERIFY
// VERIFY: mneme: verified launches: 1
//
// Without strictness, which llvm-mneme-deploy run sets.
// RUN: %{gpu} LD_PRELOAD=%mneme_deploy MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=- %t/one %t/a.cubin add 2>&1 | FileCheck %s --check-prefix=ONE

extern "C" __global__ void add(int *P, int N) { P[blockIdx.x * blockDim.x + threadIdx.x] += N; }
