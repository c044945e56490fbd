// Compiled several times, each with a NAME of its own: a kernel of the same
// name in each object, and a function that checks what it does.
__global__ static void fill(float *X, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    X[I] = 2 * X[I] + 1;
}

bool NAME() {
  const int N = 1000;
  float Host[N], *Dev;
  for (int I = 0; I < N; ++I)
    Host[I] = I;
  if (cudaMalloc(&Dev, sizeof(Host)) != cudaSuccess)
    return false;
  cudaMemcpy(Dev, Host, sizeof(Host), cudaMemcpyHostToDevice);
  fill<<<(N + 127) / 128, 128>>>(Dev, N);
  cudaMemcpy(Host, Dev, sizeof(Host), cudaMemcpyDeviceToHost);
  cudaFree(Dev);
  for (int I = 0; I < N; ++I)
    if (Host[I] != 2.0f * I + 1)
      return false;
  return true;
}
