// What is carried is what the application was compiled from: put through opt, llc and
// ptxas at the application's own level, it is the very machine code of the application.
// REQUIRES: cuda-toolkit, nvptx-registered-target, ptxas
// DEFINE: %{kernel} = scale
// DEFINE: %{text} = llvm-objcopy --dump-section=.text.%{kernel}
// DEFINE: %{same} = %{text}=%t/own.text %t/own.cubin %t/null && %{text}=%t/ours.text %t/ours.cubin %t/null && cmp %t/own.text %t/ours.text
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --offload-device-only --no-gpu-bundle-output -c %s -o %t/own.cubin -Wno-unused-command-line-argument
// RUN: %cuda_cc_plain -O2 -fpass-plugin=%mneme_pass -c %s -o %t/x.o -Wno-unused-command-line-argument
// RUN: llvm-mneme-record list-kernels --extract=%t/ir %t/x.o
// RUN: cat %t/ir/*.bc | opt -passes='default<O2>' -o %t/x.bc
// -fp-contract=fast: clang's default for CUDA, which bitcode does not tell.
// RUN: llc -O2 -mcpu=sm_90 -mattr=+ptx88 -fp-contract=fast %t/x.bc -o %t/x.ptx
// RUN: ptxas -O2 -arch=sm_90 %t/x.ptx -o %t/ours.cubin
// RUN: %{same}
// REDEFINE: %{kernel} = _Z7reverseIfLi3EEvPT_i
// RUN: %{same}
// REDEFINE: %{kernel} = _ZN12_GLOBAL__N_16hiddenEPf
// RUN: %{same}
// REDEFINE: %{kernel} = _ZL5localPf3Big
// RUN: %{same}

struct Big {
  int A;
  double B;
  char C[5];
};
__device__ int counter;
__constant__ float coefficients[4];
extern "C" __global__ void scale(const float *A, float *B, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    B[I] = 2 * A[I];
}
template <typename T, int N>
__global__ __launch_bounds__(256, 2) void reverse(T *P, int Size) {
  __shared__ T Tile[256];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Tile[threadIdx.x] = I < Size ? P[I] : T(0);
  __syncthreads();
  if (I < Size)
    P[I] = Tile[255 - threadIdx.x] * N + coefficients[I & 3];
}
template __global__ void reverse<float, 3>(float *, int);
__device__ __noinline__ float helper(float X) { return sinf(X) + expf(X); }
namespace {
__global__ void hidden(float *P) {
  atomicAdd(&counter, 1);
  P[threadIdx.x] = helper(P[threadIdx.x]);
}
} // namespace
static __global__ void local(float *P, Big B) { P[threadIdx.x] += B.B + B.C[1]; }
void *use[] = {(void *)hidden, (void *)local};
