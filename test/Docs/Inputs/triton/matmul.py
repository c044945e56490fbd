import llvm_mneme as mneme
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        y = tl.load(b + k[:, None] * N + j[None, :], mask=k[:, None] < K, other=0.0)
        sum = tl.dot(x, y, sum)
    tl.store(c + i[:, None] * N + j[None, :], sum.to(tl.float16))


# sm_80 has mma, cp.async and ldmatrix. For sm_90, Triton generates wgmma.
source = ASTSource(
    matmul,
    signature={"a": "*fp16", "b": "*fp16", "c": "*fp16", "N": "i32", "K": "i32"}
    | {name: "constexpr" for name in ("BM", "BN", "BK")},
    constexprs={"BM": 64, "BN": 64, "BK": 32},
    attrs={(i,): [["tt.divisibility", 16]] for i in range(5)},
)
compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4, "num_stages": 3})
module = mneme.compile(compiled.asm["llir"], "llvm_ir", target="cuda")
kernel = module.kernel("matmul", "void(const void *, const void *, void *, int, int, void *, void *)")

M, N, K = 128, 192, 144
random = np.random.default_rng(0)
a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
c = np.zeros((M, N), np.float16)
kernel.launch((M // 64, N // 64), 32 * compiled.metadata.num_warps, a, b, c, N, K, None, None,
              shared_mem=compiled.metadata.shared)
expected = a.astype(np.float32) @ b.astype(np.float32)
print("largest error", "above" if np.abs(c - expected).max() > 0.02 else "below", 0.02)
