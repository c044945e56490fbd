// What is carried is what the application was compiled from: put through opt, llc and
// ptxas at the application's own level, it is the very machine code of the application.
// REQUIRES: cuda-toolkit, nvptx-registered-target, ptxas
// UNSUPPORTED: sanitizer
// RUN: rm -rf %t && split-file %s %t && mkdir %t/ir
// RUN: %cuda_cc_plain -O2 --offload-device-only --no-gpu-bundle-output -c %t/x.cu -o %t/own.cubin -Wno-unused-command-line-argument
// RUN: %cuda_cc_plain -O2 -fpass-plugin=%mneme_pass -c %t/x.cu -o %t/x.o -Wno-unused-command-line-argument
// RUN: llvm-mneme-record list-kernels --extract=%t/ir %t/x.o
// RUN: %python %t/compare.py %t | FileCheck %s

// CHECK-DAG: same scale
// CHECK-DAG: same _Z7reverseIfLi3EEvPT_i
// CHECK-DAG: same _ZN12_GLOBAL__N_16hiddenEPf
// CHECK-DAG: same _ZL5localPf3Big
// CHECK-NOT: {{.}}

//--- compare.py
import glob, os, re, subprocess, sys
folder = sys.argv[1]
(module,) = glob.glob(folder + "/ir/*.bc")
kernels = re.findall(r"define [^@]*ptx_kernel [^@]*@([\w.]+)",
                     subprocess.check_output(["llvm-dis", module, "-o", "-"], text=True))
def text(cubin, kernel):
    out = folder + "/text"
    subprocess.check_call(["llvm-objcopy", f"--dump-section=.text.{kernel}={out}", cubin, os.devnull])
    with open(out, "rb") as f:
        return f.read()
base = folder + "/ours"
subprocess.check_call(["opt", "-passes=default<O2>", module, "-o", base + ".bc"])
# -fp-contract=fast: clang's default for CUDA, which bitcode does not tell.
subprocess.check_call(["llc", "-O2", "-mcpu=sm_90", "-mattr=+ptx88", "-fp-contract=fast", base + ".bc", "-o", base + ".ptx"])
subprocess.check_call(["ptxas", "-O2", "-arch=sm_90", base + ".ptx", "-o", base + ".cubin"])
for kernel in kernels:
    ours, own = text(base + ".cubin", kernel), text(folder + "/own.cubin", kernel)
    print("same" if ours == own and ours else "different", kernel)

//--- x.cu
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
