// Kernels for reproducers: memory, arguments and variables of all kinds, and
// what a program without Mneme cannot do.
struct Shape {
  double Scale;
  int N;
  float Bias[3];
};

__constant__ float Weights[40];
__device__ unsigned Hits[5];
extern __shared__ float Scratch[];

extern "C" __global__ void blend(double *Out, const float *In, Shape S, signed char Tag, float **Rows) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= S.N)
    return;
  Scratch[threadIdx.x] = sqrtf(In[I]) + Weights[I % 40];
  Out[I] = S.Scale * Scratch[threadIdx.x] + S.Bias[I % 3] + Tag + Rows[I & 1][I];
  atomicAdd(&Hits[I % 5], 1u);
}

extern "C" __global__ void turn(float *Out, const float *In) {
  __shared__ float Tile[64];
  Tile[threadIdx.x] = In[threadIdx.x] + 1;
  __syncthreads();
  Out[threadIdx.x] = Tile[63 - threadIdx.x];
}

extern "C" __global__ void stop(float *Out, const float *In) {
  if (In[threadIdx.x] < 0)
    __trap();
  Out[threadIdx.x] = In[threadIdx.x] + 1;
}

extern "C" __global__ void together(float *Out, const float *In) { Out[threadIdx.x] = In[threadIdx.x] + 1; }

extern "C" __global__ void grouped(float *Out, const float *In) { Out[threadIdx.x] = In[threadIdx.x] + 1; }

int main() {
  const int N = 300;
  float Values[N], W[40];
  for (int I = 0; I != N; ++I)
    Values[I] = I;
  for (int I = 0; I != 40; ++I)
    W[I] = 0.5f * I;
  float *Rows[2], **OnDevice, *Floats, *In;
  double *Out;
  void *Symbol;
  cudaGetSymbolAddress(&Symbol, Weights);
  cudaMemcpy(Symbol, W, sizeof(W), cudaMemcpyHostToDevice);
  cudaMalloc(&In, sizeof(Values));
  cudaMalloc(&Rows[1], sizeof(Values));
  cudaMalloc(&OnDevice, sizeof(Rows));
  cudaMalloc(&Out, N * sizeof(double));
  cudaMalloc(&Floats, N * sizeof(float));
  Rows[0] = In;
  cudaMemcpy(In, Values, sizeof(Values), cudaMemcpyHostToDevice);
  cudaMemcpy(Rows[1], Values, sizeof(Values), cudaMemcpyHostToDevice);
  cudaMemcpy(OnDevice, Rows, sizeof(Rows), cudaMemcpyHostToDevice);
  Shape S = {1.5, N, {1, 2, 3}};
  blend<<<5, 64, 64 * sizeof(float)>>>(Out, In, S, -3, OnDevice);
  turn<<<1, 64>>>(Floats, In);
  stop<<<1, 64>>>(Floats, Rows[1]);
  void *Args[] = {&Floats, &In};
  cudaLaunchCooperativeKernel((const void *)together, dim3(1), dim3(64), Args, 0, 0);
  cudaLaunchAttribute Cluster = {};
  Cluster.id = cudaLaunchAttributeClusterDimension;
  Cluster.val.clusterDim.x = 2;
  Cluster.val.clusterDim.y = Cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t Config = {};
  Config.gridDim = 2;
  Config.blockDim = 64;
  Config.attrs = &Cluster;
  Config.numAttrs = 1;
  cudaLaunchKernelExC(&Config, (const void *)grouped, Args);
  return cudaDeviceSynchronize();
}
