// REQUIRES: clang, amdgpu-registered-target, device-host
//
// What kernels ask the host for through AMD's device library ockl: printing, memory. Its functions are those of the
// host device; here their bodies only trap. And what they ask the packet, the implicit arguments and the clocks.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// DEFINE: %{arch} = gfx90a
// DEFINE: %{mode} = -O2
// DEFINE: %{build} = %hip_cc --offload-arch=%{arch} %{mode} %s -o %t/app -L%t -lamdhip64 -Wl,-rpath,%t -Wl,--unresolved-symbols=ignore-all
// DEFINE: %{record} = rm -rf %t/rec && llvm-mneme-record --device=host -o %t/rec -- %t/app 2> %t/errors | FileCheck %s \
// DEFINE:   && FileCheck %s --check-prefix=ERRORS < %t/errors
// RUN: %{build} && %{record}
// REDEFINE: %{mode} = -O0 -mcode-object-version=4
// RUN: %{build} && %{record}
// REDEFINE: %{mode} = -O3 -mcode-object-version=5
// RUN: %{build} && %{record}
// REDEFINE: %{arch} = gfx1100
// REDEFINE: %{mode} = -O2 -fgpu-rdc --offload-new-driver
// RUN: %{build} && %{record}

// CHECK:      thread 0: even, 0.00, -1, x, 100%, 4294967296
// CHECK-NEXT: thread 1: odd, 0.50, -2,   y, 100%, 4294967297
// CHECK-NEXT: 1 2 3 4 5 6 7 8 9 10
// CHECK-NEXT: characters 46 47
// CHECK-NEXT: memory 7 8 9 10
// CHECK-NEXT: grid 6 2 1, blocks of 64 2 1, 384 threads of 6 blocks, 2 dimensions
// CHECK-NEXT: clocks advance
// CHECK-NEXT: fault 801
// ERRORS: to stderr: 3
// ERRORS: mneme: error: kernel '{{.*}}hostcall{{.*}}' {{.*}}executed 'a call of the host', which the host device does not have

using u64 = unsigned long;
#define SERVICE extern "C" __device__ __attribute__((noinline, used, weak))
__device__ static int State[2];

SERVICE u64 __ockl_printf_begin(u64) { __builtin_trap(); }
SERVICE u64 __ockl_printf_append_args(u64, unsigned, u64, u64, u64, u64, u64, u64, u64, unsigned) { __builtin_trap(); }
SERVICE u64 __ockl_printf_append_string_n(u64, const char *, u64, unsigned) { __builtin_trap(); }
SERVICE u64 __ockl_fprintf_stderr_begin() { __builtin_trap(); }
SERVICE u64 __ockl_fprintf_append_args(u64, unsigned, u64, u64, u64, u64, u64, u64, u64, unsigned) { __builtin_trap(); }
SERVICE u64 __ockl_fprintf_append_string_n(u64, const char *, u64, unsigned) { __builtin_trap(); }
SERVICE u64 __ockl_dm_alloc(u64) { __builtin_trap(); }
SERVICE void __ockl_dm_dealloc(u64) { __builtin_trap(); }
SERVICE long __ockl_call_host_function(u64, u64) { __builtin_trap(); }
extern "C" __device__ __host__ int printf(const char *, ...);

__global__ void print(int *Out) {
  int T = threadIdx.x;
  Out[T] = printf("thread %d: %s, %.2f, %ld, %*c, 100%%, %lu\n", T, T ? "odd" : "even", T * 0.5, -1L - T, T ? 3 : 1, T ? 'y' : 'x', (1ul << 32) + T);
}

__global__ void printMany() {
  printf("%d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  u64 M = __ockl_fprintf_stderr_begin();
  M = __ockl_fprintf_append_string_n(M, "to stderr: %d\n", 15, 0);
  __ockl_fprintf_append_args(M, 1, 3, 0, 0, 0, 0, 0, 0, 1);
}

__global__ void allocate(int **P) {
  P[threadIdx.x] = (int *)__ockl_dm_alloc(16);
  *P[threadIdx.x] = 7 + threadIdx.x;
}
__global__ void release(int **P, int *Out) {
  Out[threadIdx.x] = *P[threadIdx.x];
  __ockl_dm_dealloc((u64)P[threadIdx.x]);
}

__global__ void places(int *Out) {
  if (threadIdx.x || threadIdx.y || blockIdx.x || blockIdx.y)
    return;
  Out[0] = __builtin_amdgcn_grid_size_x() / blockDim.x;
  Out[1] = __builtin_amdgcn_grid_size_y() / blockDim.y;
  Out[2] = __builtin_amdgcn_grid_size_z();
  Out[3] = blockDim.x;
  Out[4] = blockDim.y;
  Out[5] = blockDim.z;
  Out[6] = __builtin_amdgcn_grid_size_x();
  auto *Implicit = (const char __attribute__((address_space(4))) *)__builtin_amdgcn_implicitarg_ptr();
  Out[7] = *(const int __attribute__((address_space(4))) *)Implicit;
  Out[8] = *(const short __attribute__((address_space(4))) *)(Implicit + 64);
  State[0]++;
}

__global__ void clocks(u64 *Out) {
  u64 A = __builtin_readcyclecounter(), B = __builtin_readsteadycounter();
  while (__builtin_readsteadycounter() - B < 1000)
    ;
  Out[0] = __builtin_readcyclecounter() > A;
}

__global__ void hostcall() { __ockl_call_host_function(1, 2); }

int main() {
  void *Memory;
  hipMalloc(&Memory, 4096);
  int *Out = (int *)Memory;
  print<<<1, 2>>>(Out);
  printMany<<<1, 1>>>();
  hipDeviceSynchronize();
  printf("characters %d %d\n", Out[0], Out[1]);
  allocate<<<1, 4>>>((int **)Memory);
  release<<<1, 4>>>((int **)Memory, Out + 100);
  hipDeviceSynchronize();
  printf("memory %d %d %d %d\n", Out[100], Out[101], Out[102], Out[103]);
  places<<<dim3(6, 2), dim3(64, 2)>>>(Out);
  hipDeviceSynchronize();
  printf("grid %d %d %d, blocks of %d %d %d, %d threads", Out[0], Out[1], Out[2], Out[3], Out[4], Out[5], Out[6]);
  printf(" of %d blocks, %d dimensions\n", Out[7], Out[8]);
  clocks<<<1, 1>>>((u64 *)Memory);
  hipDeviceSynchronize();
  printf("clocks %s\n", *(u64 *)Memory ? "advance" : "stand");
  hostcall<<<1, 1>>>();
  printf("fault %d\n", hipDeviceSynchronize());
}
