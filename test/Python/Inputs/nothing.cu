__global__ void nothing(int *Data, int Size) {
  if (Size < 0)
    Data[0] = 1;
}

int main() {
  int *Data;
  cudaMalloc(&Data, 4096);
  nothing<<<1, 32>>>(Data, 5);
  return cudaDeviceSynchronize();
}
