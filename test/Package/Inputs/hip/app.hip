extern "C" {
int puts(const char *);
int hipMemcpy(void *, const void *, size_t, int);
}

__global__ void scale(float *P, int N, float A) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    P[I] *= A;
}

int main() {
  const int N = 100;
  float *D, H[N];
  for (int I = 0; I < N; ++I)
    H[I] = I;
  if (hipMalloc((void **)&D, sizeof(H)) != 0)
    return 1;
  hipMemcpy(D, H, sizeof(H), 1);
  scale<<<(N + 31) / 32, 32>>>(D, N, 3);
  hipMemcpy(H, D, sizeof(H), 2);
  for (int I = 0; I < N; ++I)
    if (H[I] != 3.0f * I)
      return 1;
  puts("scaled");
  return 0;
}
