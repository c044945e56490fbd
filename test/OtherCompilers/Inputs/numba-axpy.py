"""numba-axpy.py [IR]: launches a kernel of Numba; or writes its IR, without a launch."""
import sys

import llvm_mneme.numba as hook
import numpy as np
from numba import cuda


@cuda.jit
def axpy(r, a, x, y):
    i = cuda.grid(1)
    if i < r.size:
        r[i] = a * x[i] + y[i]


def write_ir(library):
    with open(sys.argv[1], "w") as f:
        f.write(library.get_llvm_str())
    sys.exit()


if len(sys.argv) > 1:
    from numba.cuda.codegen import CUDACodeLibrary

    CUDACodeLibrary.get_cufunc = write_ir
print("registered", hook.register.is_recording())
x = cuda.to_device(np.arange(1000, dtype=np.float32))
r = cuda.device_array_like(x)
axpy[4, 256](r, 2.0, x, x)
print("result", r.copy_to_host()[[1, 999]])
