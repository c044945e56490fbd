// The kernels of programs that launch through the driver, and a parameter of theirs.
struct Pair {
  int A[2];
};

#ifdef __CUDA__
__device__ int Count;
extern "C" __global__ void add(int *P, int N) { P[blockIdx.x] += N; }
extern "C" __global__ void sum(int *P, char C, Pair Two) { *P = Two.A[0] + Two.A[1] + C; }
extern "C" __global__ void count(int *P) { *P = ++Count; }
#endif
