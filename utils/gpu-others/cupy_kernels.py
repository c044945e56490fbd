"""Kernels that CuPy compiles with NVRTC."""
from mneme_common import result  # before torch: it imports the hook

import cupy

scale = cupy.RawKernel(r'''
extern "C" __global__ void scale(float *r, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    r[i] = a * x[i];
}''', "scale")
x = cupy.arange(10000, dtype=cupy.float32)
r = cupy.empty_like(x)
scale((40,), (256,), (r, x, cupy.float32(3), 10000))
result(r, cupy.ElementwiseKernel("T x, T y", "T z", "z = x * x + y", "square_add")(x, r))
