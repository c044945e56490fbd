// y = 3 * x + y; with WRONG, INPUT, NULL_, TRAP or ENDLESS, the same kernel with that fault; with IMPLICIT, it reads the
// implicit argument at that offset. COOPERATIVE: so is the launch. BOUNDS: at
// most 128 threads.
#ifdef BOUNDS
__attribute__((amdgpu_flat_work_group_size(1, 128)))
#endif
__global__ void saxpy(float A, const float *X, float *Y, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
#if defined(WRONG)
  Y[I] *= A * X[I];
#elif defined(INPUT)
  const_cast<float *>(X)[I] = 1;
  Y[I] += A * X[I];
#elif defined(NULL_)
  *(volatile int *)64 = 1;
#elif defined(TRAP)
  __builtin_trap();
#elif defined(ENDLESS)
  for (volatile float *P = Y; *P != -1;)
    ;
#elif defined(IMPLICIT)
  auto *Arguments = (const __attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr();
  Y[I] += A * X[I] + *(const __attribute__((address_space(4))) int *)(Arguments + IMPLICIT);
#else
  Y[I] += A * X[I];
#endif
}

__global__ void fill(float *P, int N, float Step) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    P[I] = 1 + I * Step;
}

int main() {
  constexpr int N = 1000;
  float *X, *Y;
  hipMalloc((void **)&X, N * sizeof(float));
  hipMalloc((void **)&Y, N * sizeof(float));
  fill<<<8, 128>>>(X, N, 1);
  fill<<<8, 128>>>(Y, N, 2);
#ifdef COOPERATIVE
  float A = 3;
  int Size = N;
  void *Args[] = {&A, &X, &Y, &Size};
  hipLaunchCooperativeKernel((const void *)saxpy, 8, 128, Args, 0, nullptr);
#else
  saxpy<<<8, 128>>>(3, X, Y, N);
#endif
  return hipDeviceSynchronize();
}
