import array

import llvm_mneme as mneme
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


# Triton compiles without a GPU if it is told for which one.
source = ASTSource(
    add,
    signature={"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"},
    constexprs={"BLOCK": 256},
)
compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})

# A module for any CUDA device, here the host device. Triton adds two pointers to scratch memory.
module = mneme.compile(compiled.asm["llir"], "llvm_ir", target="cuda")
kernel = module.kernel("add", "void(const float *, const float *, float *, int, void *, void *)")

n = 1000
x, y = (array.array("f", (scale * i for i in range(n))) for scale in (1, 2))
out = array.array("f", [0] * n)
grid, block = (n + 255) // 256, 32 * compiled.metadata.num_warps
kernel.launch(grid, block, x, y, out, n, None, None, shared_mem=compiled.metadata.shared)
print(out[1], out[n - 1])
