// HIP's headers have an object for each special register. A kernel that names them uses no variable
// of the application. One that uses a variable is packed only with --deployable.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O0 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O0 %s -o %t/app
// RUN: llvm-dis %t/app.bc -o - | FileCheck %s --check-prefix=IR
// IR: @_ZN17__HIP_CoordinatesI13ReadThreadIdxE1xE = {{.*}}externally_initialized constant
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// RUN: %{gpu} llvm-mneme-record --device=hip -o %t/rec --quiet -- %t/app
// RUN: %{gpu} llvm-mneme-replay %t/rec --device=hip:0 --passes='default<O2>' > %t/replay
// RUN: %python %mneme_src/test/llvm-mneme-deploy/Inputs/best.py %t/replay %t/best 'Emulated GPU'
// RUN: llvm-mneme-deploy pack -o %t/app.mneme %t/rec %t/best
// RUN: %{gpu} llvm-mneme-deploy run --device=hip --report=- %t/app.mneme -- %t/app 2>&1 | FileCheck %s
// CHECK: launches: 1 served by tuned kernels, 0 fell back
//
// RUN: %cuda_cc_plain -O0 --cuda-device-only -DVALUE=Value -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O0 -DVALUE=Value %s -o %t/app
// RUN: %{gpu} llvm-mneme-record --device=hip -o %t/rec2 --quiet -- %t/app
// RUN: %{gpu} llvm-mneme-replay %t/rec2 --device=hip:0 --passes='default<O2>' > %t/replay
// RUN: %python %mneme_src/test/llvm-mneme-deploy/Inputs/best.py %t/replay %t/best 'Emulated GPU'
// RUN: not llvm-mneme-deploy pack -o %t/no.mneme %t/rec2 %t/best 2>&1 | FileCheck %s --check-prefix=VARIABLE
// VARIABLE: is not packed: the kernel uses the variable 'Value', which other code can write: the code has a copy of its own; tune with --deployable=on

struct ReadThreadIdx {
  __device__ unsigned operator()(unsigned) const noexcept {
    return __builtin_amdgcn_workitem_id_x();
  }
};

// As in amd_hip_runtime.h.
template <typename F> struct __HIP_Coordinates {
  struct __X {
    __device__ operator unsigned() const noexcept { return F{}(0); }
  };
  static __device__ constexpr __X x{};
};
template <typename F> constexpr typename __HIP_Coordinates<F>::__X __HIP_Coordinates<F>::x;
static constexpr __HIP_Coordinates<ReadThreadIdx> Index{};

#ifndef VALUE
#define VALUE 1
#endif
__device__ int Value;

__global__ void fill(int *P) { P[Index.x] = VALUE; }

int main() {
  int *D;
  cudaMalloc(&D, 128);
  fill<<<1, 32>>>(D);
  return cudaDeviceSynchronize();
}
