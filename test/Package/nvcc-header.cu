// What nvcc gives to every CUDA source: functions of the host, loads and stores with a
// cache operator for all types, atomic functions, abstract classes and new in device code.

// REQUIRES: clang, cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{nvcc} = env MNEME_PASS=%mneme_pass MNEME_CLANG=%clangxx_path CUDA_PATH=%cuda_path %python %mneme_src/utils/nvcc-as-clang
// RUN: %{nvcc} -O1 -rdc=true --extended-lambda --expt-relaxed-constexpr %s -o %t/app
// RUN: llvm-mneme-record --device=host --no-record -- %t/app 2>&1 | FileCheck %s
// CHECK: all as it should be
// RUN: %{nvcc} -O1 -ptx %s -o - | FileCheck %s --check-prefix=PTX
// PTX-DAG: ld.global.ca.v4.f32
// PTX-DAG: ld.global.cg.v2.u64
// PTX-DAG: ld.global.cs.b16
// PTX-DAG: ld.global.cv.u8
// PTX-DAG: ld.global.lu.s32
// PTX-DAG: st.global.cg.v2.s16
// PTX-DAG: st.global.cs.b32
// PTX-DAG: st.global.wb.v4.u8
// PTX-DAG: st.global.wt.u64

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/std/type_traits>

// Macros of options, and traits that headers use by then.
#ifdef __CUDACC_EXTENDED_LAMBDA__
#if !defined(__CUDACC_RDC__) || !defined(__CUDACC_RELAXED_CONSTEXPR__)
#error no macros of -rdc and --expt-relaxed-constexpr
#endif
auto Twice = [] __host__ __device__(int X) { return 2 * X; };
static_assert(cuda::std::is_same_v<cuda::std::invoke_result_t<decltype(Twice), int>, int>);
#endif

extern "C" int puts(const char *);

template <typename T> __global__ void copy(T *P) {
  __stcg(P + 1, __ldca(P));
  __stcs(P + 2, __ldcg(P + 1));
  __stwb(P + 3, __ldcs(P + 2));
  __stwt(P + 4, __ldcv(P + 3));
  P[5] = __ldlu(P + 4);
  P[6] = __ldg(P);
}

template <typename T> void test(bool &Good) {
  T Host[7], *P;
  memset(Host, 0, sizeof(Host));
  for (size_t I = 0; I < sizeof(T); ++I)
    reinterpret_cast<char *>(Host)[I] = I + 1;
  cudaMalloc(&P, sizeof(Host));
  cudaMemcpy(P, Host, sizeof(Host), cudaMemcpyHostToDevice);
  copy<<<1, 1>>>(P);
  cudaMemcpy(Host, P, sizeof(Host), cudaMemcpyDeviceToHost);
  for (const T &X : Host)
    Good = Good && !memcmp(&X, Host, sizeof(T));
  cudaFree(P);
}

template <typename... T> bool testAll() {
  bool Good = true;
  (test<T>(Good), ...);
  return Good;
}

__global__ void classify(double *X, float *Y) {
  X[0] = nan("");
  Y[0] = nanf("1");
  X[1] = isfinite(X[0]) || isinf(Y[0]) || signbit(Y[1]) || !isnan(X[0]);
  X[2] = clock() == 0;
}

struct Shape {
  __device__ virtual int area() = 0;
};
struct Square : Shape {
  int Side;
  __device__ Square(int Side) : Side(Side) {}
  __device__ int area() override { return Side * Side; }
};
__global__ void measure(int *X) {
  Shape *S = new Square(*X);
  *X = S->area();
  delete S;
}

__global__ void count(int *X, float *Y) {
  int Old = __nv_atomic_fetch_add(X, 2, __NV_ATOMIC_RELAXED,
                                  __NV_THREAD_SCOPE_BLOCK);
  while (!__nv_atomic_compare_exchange_n(X, &Old, Old + 1, false,
                                         __NV_ATOMIC_SEQ_CST,
                                         __NV_ATOMIC_RELAXED))
    ;
  __nv_atomic_fetch_max(X + 1, Old, __NV_ATOMIC_RELAXED);
  float Value;
  __nv_atomic_load(Y + 1, &Value, __NV_ATOMIC_ACQUIRE);
  __nv_atomic_store(Y, &Value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
}

bool testAtomics() {
  int Host[2] = {40, 0}, *X;
  float Values[2] = {1, 2}, *Y;
  cudaMalloc(&X, sizeof(Host));
  cudaMalloc(&Y, sizeof(Values));
  cudaMemcpy(X, Host, sizeof(Host), cudaMemcpyHostToDevice);
  cudaMemcpy(Y, Values, sizeof(Values), cudaMemcpyHostToDevice);
  count<<<1, 1>>>(X, Y);
  cudaMemcpy(Host, X, sizeof(Host), cudaMemcpyDeviceToHost);
  cudaMemcpy(Values, Y, sizeof(Values), cudaMemcpyDeviceToHost);
  return Host[0] == 43 && Host[1] == 42 && Values[0] == 2;
}

int main() {
  double D[3], *X;
  float F[2] = {1, 2}, *Y;
  clock_t Start = clock();
  bool Good = isfinite(1.) && !isinf(F[0]) && isnan(nan("")) && signbit(-1.f) &&
              min(2, 3) == abs(-2) && clock() - Start < 3600 * CLOCKS_PER_SEC;
  cudaMalloc(&X, sizeof(D));
  cudaMalloc(&Y, sizeof(F));
  cudaMemcpy(Y, F, sizeof(F), cudaMemcpyHostToDevice);
  classify<<<1, 1>>>(X, Y);
  cudaMemcpy(D, X, sizeof(D), cudaMemcpyDeviceToHost);
  Good = Good && isnan(D[0]) && D[1] == 0;
  Good = Good && testAtomics() &&
         testAll<char, signed char, unsigned char, short, unsigned short, int,
                 unsigned, long, unsigned long, long long, unsigned long long,
                 char2, char4, uchar2, uchar4, short2, short4, ushort2, ushort4,
                 int2, int4, uint2, uint4, longlong2, ulonglong2, float, float2,
                 float4, double, double2, __half, __half2, __nv_bfloat16,
                 __nv_bfloat162>();
  puts(Good ? "all as it should be" : "wrong");
}
