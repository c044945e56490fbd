"""Five kernels of numba-cuda."""
from mneme_common import result  # before torch: it imports the hook

import math

import numpy as np
from numba import cuda, float32
from numba_launches import LAUNCHES, RESULTS, arrays

# numba-cuda 0.30 names it; NumPy 2.5 has removed it.
np.row_stack = getattr(np, "row_stack", np.vstack)


@cuda.jit
def axpy(r, a, x, y):
    i = cuda.grid(1)
    if i < r.size:
        r[i] = a * x[i] + y[i]


@cuda.jit
def wave(r, x):
    i = cuda.grid(1)
    if i < r.size:
        r[i] = math.sin(x[i]) + math.sqrt(x[i])


@cuda.jit
def blocksum(r, x):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    n = 128
    while n:
        if t < n:
            s[t] += s[t + n]
        cuda.syncthreads()
        n //= 2
    if t == 0:
        r[cuda.blockIdx.x] = s[0]


@cuda.jit
def transpose(r, x):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        r[j, i] = x[i, j]


@cuda.jit
def count(r, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(r, int(x[i] * 16) % 16, 1)


def main():
    on_device = {name: cuda.to_device(array) for name, array in arrays().items()}
    for kernel, grid, block, args in LAUNCHES:
        globals()[kernel][grid, block](*(on_device.get(a, a) for a in args))
    result(*(on_device[name].copy_to_host() for name in RESULTS))


if __name__ == "__main__":
    main()
