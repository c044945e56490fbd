import array
import ctypes

import llvm_mneme as mneme
from jit_arrays import DLPackArray, GPUArray, cudart

CODE = """
extern "C" __global__ void scale(float *X, float A, int N) { int I = blockIdx.x * blockDim.x + threadIdx.x; if (I < N) X[I] *= A; }
extern "C" __global__ void reverse(const int *X, int *Y) {
  extern __shared__ int S[];
  S[threadIdx.x] = X[threadIdx.x];
  __syncthreads();
  Y[threadIdx.x] = S[blockDim.x - 1 - threadIdx.x];
}
template <int N> __global__ void add(float *X) { X[threadIdx.x] += N; }
"""
module = mneme.compile(CODE, target="cuda")
scale = module.kernel("scale", "void(float *, float, int)")
x = GPUArray([0, 1, 2, 3])
scale.launch(2, (2, 1), x, 2, 4)
print("interface", x.get())
d = DLPackArray(x, 2)
scale.launch(1, 3, d, 10, 3, stream=None)
print("dlpack", x.get(), d.streams)

stream = ctypes.c_void_p()
assert not cudart().cudaStreamCreate(ctypes.byref(stream))


class Stream:
    ptr = stream.value


scale.launch(1, 4, x, 0.5, 4, stream=Stream())
assert not cudart().cudaStreamSynchronize(stream)
print("stream", x.get())

host = array.array("f", [1, 2, 3])
scale.launch(1, 3, host, 3, 3)
print("copied", host.tolist())
scale.launch(1, 3, host, 3, 3, stream=stream.value)
print("copied", host.tolist())
reverse = module.kernel("reverse", "void(const int *, int *)")
y = GPUArray([0] * 4, ctypes.c_int)
reverse.set_max_shared(50000)
reverse.launch(1, 4, bytes(array.array("i", [5, 6, 7, 8])), y, shared_mem=50000)
print("shared", y.get())
add = module.instantiate("add", 3, signature="void(float *)")
add.launch(1, 4, x)
add.launch(1, 4, x.address)
print("instance", x.get())


def fails(what):
    try:
        what()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        return error


error = fails(lambda: scale.launch(1, 5000, x, 2, 4))
print(error.error)
scale.launch(1, 4, x, 1, 4)
fails(lambda: scale.launch(0, 1, x, 2, 4))
fails(lambda: scale.launch((1, 1, 1, 1), 1, x, 2, 4))
fails(lambda: scale.launch(1, 1, y, 2, 4))
fails(lambda: scale.launch(1, 1, DLPackArray(x, 7), 2, 4))
fails(lambda: module.kernel("scale", "int()"))
total = mneme.compile('extern "C" float first(const float *X) { return *X; }').function("first", "float(const float *)")
fails(lambda: total(x))
print("on the host", total(DLPackArray(GPUArray([1, 2]), 1)))
