__device__ int Offset = 5;
__device__ int twice(int X) { return 2 * X; }
