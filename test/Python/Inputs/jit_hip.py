import array
import sys

import llvm_mneme as mneme

CODE = """
extern "C" __global__ void scale(float *X, float A) { X[threadIdx.x] *= A; }
template <int N> __global__ void add(float *X) { X[threadIdx.x] += N; }
"""
module = mneme.compile(CODE, target="hip", options=sys.argv[1:])
x = array.array("f", [1, 2, 3, 4])
module.kernel("scale", "void(float *, float)").launch(1, 4, x, 2)
module.instantiate("add", 3, signature="void(float *)").launch(1, 4, x)
print(x.tolist())
