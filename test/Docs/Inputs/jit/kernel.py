import llvm_mneme as mneme
import numpy

module = mneme.compile(r"""
  extern "C" __global__ void scale(float *X, float A, int N) {
    int I = blockIdx.x * blockDim.x + threadIdx.x;
    if (I < N)
      X[I] *= A;
  }""", target="cuda")
scale = module.kernel("scale", "void(float *, float, int)")

x = numpy.arange(6, dtype=numpy.float32)  # copied to the GPU and back; arrays of CuPy and PyTorch are not
scale.launch(2, 4, x, 10, 6)              # grid, block, arguments; shared_mem= and stream= may follow
print(x)
