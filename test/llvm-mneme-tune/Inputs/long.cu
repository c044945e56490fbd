// A launch takes more than 10 ms.
__global__ void spin(unsigned *x, int n) {
  unsigned v = x[0];
  for (int i = 0; i < n; ++i)
    v = v * 17 % 61 + 1;
  x[0] = v;
}

int main() {
  unsigned *d;
  cudaMalloc(&d, sizeof(*d));
  cudaMemset(d, 1, sizeof(*d));
  spin<<<1, 1>>>(d, 8000000);
  return cudaDeviceSynchronize();
}
