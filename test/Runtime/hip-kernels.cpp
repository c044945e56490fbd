// HIP kernels as programs have them, on the host device: shared memory, static and
// dynamic, barriers, atomics, shuffles and votes of waves of 64 threads, double
// precision, scratch memory. Replayed there, and compiled for the GPU: the resources are
// those of its code object.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// DEFINE: %{arch} = gfx90a
// DEFINE: %{mode} = -O2
// DEFINE: %{build} = %clangxx -x hip -std=c++17 %{mode} -nogpuinc -nogpulib -fdeclspec --offload-arch=%{arch} -fpass-plugin=%mneme_pass \
// DEFINE:   -include %S/../Instrument/Inputs/minihip.h %s -o %t/app -L%t -Wl,-rpath,%t -lamdhip64 -Wl,--unresolved-symbols=ignore-all
// DEFINE: %{record} = rm -rf %t/rec && llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s --check-prefixes=CHECK,WAVE
// DEFINE: %{replay} = %python %S/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %{build} && %{record} && %{replay}
// RUN: llvm-mneme-record list %t/rec | FileCheck %s --check-prefix=LIST
// RUN: %python %S/Inputs/resources.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=RESOURCES
// REDEFINE: %{mode} = -O0
// RUN: %{build} && %{record} && %{replay}
// REDEFINE: %{mode} = -O3 --offload-new-driver
// REDEFINE: %{arch} = gfx942
// RUN: %{build} && %{record} && %{replay}

// CHECK: sums 2016 6112 10208 14304, total 130560
// CHECK: histogram 128 128 0
// WAVE:  wave 64: 2016 63 8000000000000001
// CHECK: scratch 30 0.5
// CHECK: spills -2107233055
// CHECK: mneme: 5 launches seen, 5 recorded, 0 skipped
// REPLAY-DAG: blockSums grid 4: Match
// REPLAY-DAG: histogram grid 2: Match
// REPLAY-DAG: scratch grid 1: Match
// REPLAY-DAG: spills grid 1: Match
// REPLAY-DAG: waves grid 1: Match
// LIST-COUNT-5: gfx90a, -O2, recorded on host

// One line a kernel: registers of vectors, scalars, accumulators; bytes of LDS, scratch.
// RESOURCES: blockSums: vgpr {{[1-9][0-9]*}} sgpr {{[1-9][0-9]*}} agpr 0 lds 512 scratch 0 spills 0 0
// RESOURCES: histogram: vgpr {{[1-9][0-9]*}} sgpr {{[1-9][0-9]*}} agpr 0 lds 0 scratch 0 spills 0 0
// RESOURCES: scratch: vgpr {{[1-9][0-9]*}} sgpr {{[1-9][0-9]*}} agpr 0 lds 0 scratch {{[1-9][0-9]*}} spills 0 0
// RESOURCES: spills: vgpr 64 sgpr {{[1-9][0-9]*}} agpr 0 lds 0 scratch {{[1-9][0-9]*}} spills {{[1-9][0-9]*}} 0
// RESOURCES: waves: vgpr {{[1-9][0-9]*}} sgpr {{[1-9][0-9]*}} agpr 0 lds 0 scratch 0 spills 0 0

extern "C" {
int printf(const char *, ...);
int hipMemcpy(void *, const void *, size_t, int);
int hipMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int hipGetLastError();
}

// What ROCm's headers make of these.
static __device__ int lane() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
static __device__ int shuffle(int V, int Lane) {
  return __builtin_amdgcn_ds_bpermute(Lane << 2, V);
}

__device__ long long Total;

extern "C" __global__ void blockSums(int *Out, const int *In) {
  __shared__ long long Sums[64];
  unsigned T = threadIdx.x;
  Sums[T] = In[blockIdx.x * 64 + T];
  __syncthreads();
  for (unsigned Half = 32; Half; Half /= 2) {
    if (T < Half)
      Sums[T] += Sums[T + Half];
    __syncthreads();
  }
  if (T == 0) {
    Out[blockIdx.x] = Sums[0];
    __hip_atomic_fetch_add(&Total, Sums[0] * 4, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}

extern "C" __global__ void histogram(unsigned *Bins, const int *In, int N) {
  extern __shared__ unsigned Local[];
  for (unsigned I = threadIdx.x; I < 4; I += blockDim.x)
    Local[I] = 0;
  __syncthreads();
  for (unsigned I = blockIdx.x * blockDim.x + threadIdx.x; I < N; I += 2 * blockDim.x)
    __hip_atomic_fetch_add(&Local[In[I] & 1], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  if (threadIdx.x < 4)
    __hip_atomic_fetch_add(&Bins[threadIdx.x], Local[threadIdx.x], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

extern "C" __global__ void waves(unsigned long long *Out) {
  int L = lane(), Sum = L, Max = L;
  for (int Step = 32; Step; Step /= 2) {
    Sum += shuffle(Sum, L ^ Step);
    int Other = shuffle(Max, L ^ Step);
    Max = Other > Max ? Other : Max;
  }
  unsigned long long Ends = __builtin_amdgcn_ballot_w64(L == 0 || L == 63);
  if (L == 17) {
    Out[0] = __builtin_amdgcn_wavefrontsize();
    Out[1] = Sum;
    Out[2] = __builtin_amdgcn_readfirstlane(Max);
    Out[3] = Ends;
  }
}

extern "C" __global__ void scratch(double *Out, const int *In) {
  double Stack[32];
  for (int I = 0; I != 32; ++I)
    Stack[I] = I * 0.5;
  for (int I = 0; I != 32; ++I)
    Stack[In[I] % 32] += 1;
  Out[threadIdx.x] = Stack[(In[3] + threadIdx.x) % 32];
}

// More values at once than it may have registers.
extern "C" __attribute__((amdgpu_waves_per_eu(8, 8))) __global__ void spills(int *Out, const int *In) {
  int V[100];
#pragma unroll
  for (int I = 0; I != 100; ++I)
    V[I] = In[threadIdx.x + I];
  __syncthreads();
  int Sum = 0;
#pragma unroll
  for (int I = 0; I != 100; ++I)
    Sum = Sum * V[I] + V[99 - I];
  Out[threadIdx.x] = Sum;
}

template <typename T> static T *copyToDevice(const T *H, int N) {
  void *D = nullptr;
  hipMalloc(&D, N * sizeof(T));
  hipMemcpy(D, H, N * sizeof(T), 1);
  return static_cast<T *>(D);
}

int main() {
  int In[256], Sums[4] = {};
  for (int I = 0; I != 256; ++I)
    In[I] = I;
  int *DIn = copyToDevice(In, 256), *DSums = copyToDevice(Sums, 4);
  blockSums<<<4, 64>>>(DSums, DIn);
  hipMemcpy(Sums, DSums, sizeof(Sums), 2);
  long long T = 0;
  hipMemcpyFromSymbol(&T, &Total, sizeof(T), 0, 2);
  printf("sums %d %d %d %d, total %lld\n", Sums[0], Sums[1], Sums[2], Sums[3], T);

  unsigned Bins[4] = {}, *DBins = copyToDevice(Bins, 4);
  histogram<<<2, 64, 4 * sizeof(unsigned)>>>(DBins, DIn, 256);
  hipMemcpy(Bins, DBins, sizeof(Bins), 2);
  printf("histogram %u %u %u\n", Bins[0], Bins[1], Bins[2]);

  unsigned long long Wave[4] = {}, *DWave = copyToDevice(Wave, 4);
  waves<<<1, 128>>>(DWave);
  hipMemcpy(Wave, DWave, sizeof(Wave), 2);
  printf("wave %llu: %llu %llu %llx\n", Wave[0], Wave[1], Wave[2], Wave[3]);

  double Out[2] = {}, *DOut = copyToDevice(Out, 2);
  scratch<<<1, 2>>>(DOut, DIn);
  hipMemcpy(Out, DOut, sizeof(Out), 2);
  printf("scratch %g %g\n", Out[0] * 12, Out[1] - Out[0]);

  int *DSpills = copyToDevice(In, 64);
  spills<<<1, 64>>>(DSpills, DIn);
  hipMemcpy(Sums, DSpills, sizeof(int), 2);
  printf("spills %d\n", Sums[0]);
  return hipGetLastError();
}
