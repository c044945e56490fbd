"""Three kernels of Triton: one of each kind."""
from mneme_common import result  # before torch: it imports the hook

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) * 2.0 + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * cols + i, e / tl.sum(e, 0), mask=i < cols)


@triton.jit
def matmul(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.program_id(1) * BN + tl.arange(0, BN)
    s = tl.zeros((BM, BN), dtype=tl.float32)
    for j in range(0, n, BK):
        r = j + tl.arange(0, BK)
        s += tl.dot(tl.load(a + m[:, None] * n + r[None, :]), tl.load(b + r[:, None] * n + k[None, :]))
    tl.store(c + m[:, None] * n + k[None, :], s)


torch.manual_seed(0)
n = 1 << 20
x, y = (torch.rand(n, device="cuda") for _ in range(2))
out = torch.empty_like(x)
add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
s = torch.empty(512, 1000, device="cuda")
softmax[(512,)](torch.rand(512, 1000, device="cuda"), s, 1000, BLOCK=1024)
a, b = (torch.rand(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
c = torch.empty(512, 512, device="cuda")
matmul[(8, 8)](a, b, c, 512, BM=64, BN=64, BK=32)
result(out, s, c)
