"""Five kernels of numba-cuda."""
from mneme_common import result  # before torch: it imports the hook

import math

import numpy as np
from numba import cuda, float32


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


x = cuda.to_device(np.linspace(0, 1, 4096, dtype=np.float32))
y, r = cuda.device_array_like(x), cuda.device_array_like(x)
wave[16, 256](y, x)
axpy[16, 256](r, 3.0, x, y)
s = cuda.device_array(16, np.float32)
blocksum[16, 256](s, x)
m = cuda.to_device(np.arange(4096, dtype=np.float32).reshape(64, 64))
t = cuda.device_array((64, 64), np.float32)
transpose[(4, 4), (16, 16)](t, m)
c = cuda.to_device(np.zeros(16, np.int32))
count[16, 256](c, x)
result(*(a.copy_to_host() for a in (r, s, t, c)))
