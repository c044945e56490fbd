// A Bezier surface with noise.
//   surface [DEGREE] [POINTS A SIDE]
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int MaxDegree = 8;

// Bernstein polynomial I of a degree.
__device__ float blend(int I, int Degree, float T) {
  float Value = 1;
  for (int K = 1; K <= Degree; ++K) {
    Value *= K <= I ? T * (Degree - K + 1) / K : 1;
    Value *= K <= Degree - I ? 1 - T : 1;
  }
  return Value;
}

__global__ void evaluate(const float *Control, float *Height, int Degree,
                         int Side) {
  int X = blockIdx.x * blockDim.x + threadIdx.x;
  int Y = blockIdx.y * blockDim.y + threadIdx.y;
  if (X >= Side || Y >= Side)
    return;
  float U = float(X) / (Side - 1), V = float(Y) / (Side - 1), Sum = 0;
  for (int J = 0; J <= Degree; ++J)
    for (int I = 0; I <= Degree; ++I)
      Sum += Control[J * (Degree + 1) + I] * blend(I, Degree, U) *
             blend(J, Degree, V);
  Height[Y * Side + X] = Sum;
}

// Adds noise of some levels.
__global__ void roughen(float *Height, unsigned Levels, int Side) {
  int X = blockIdx.x * blockDim.x + threadIdx.x;
  int Y = blockIdx.y * blockDim.y + threadIdx.y;
  if (X >= Side || Y >= Side)
    return;
  unsigned Noise = Y * Side + X;
  for (unsigned K = 0; K < 100; ++K)
    Noise = (Noise * 17 + K) % Levels;
#ifdef FINE
  Noise /= 2;
#endif
  Height[Y * Side + X] += float(Noise) / Levels;
}

int main(int Argc, char **Argv) {
  int Degree = Argc > 1 ? atoi(Argv[1]) : 3;
  int Side = Argc > 2 ? atoi(Argv[2]) : 128;
  if (Degree < 1 || Degree > MaxDegree || Side < 2)
    return 1;
  std::vector<float> Control((Degree + 1) * (Degree + 1));
  for (size_t I = 0; I != Control.size(); ++I)
    Control[I] = float(I * I % 7);
  std::vector<float> Result(Side * Side);
  size_t Bytes = Result.size() * sizeof(float);
  float *C, *H;
  cudaMalloc(&C, Control.size() * sizeof(float));
  cudaMalloc(&H, Bytes);
  cudaMemcpy(C, Control.data(), Control.size() * sizeof(float),
             cudaMemcpyHostToDevice);
  dim3 Block(16, 16), Grid((Side + 15) / 16, (Side + 15) / 16);
  evaluate<<<Grid, Block>>>(C, H, Degree, Side);
  roughen<<<Grid, Block>>>(H, 64, Side);
  cudaMemcpy(Result.data(), H, Bytes, cudaMemcpyDeviceToHost);
  double Sum = 0;
  for (float V : Result)
    Sum += V;
  printf("%.6g\n", Sum);
  return 0;
}
