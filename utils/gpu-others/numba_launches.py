"""The launches of the five kernels of numba_kernels.py, for programs with and without Numba."""
import numpy as np


def arrays():
    x = np.linspace(0, 1, 4096, dtype=np.float32)
    m = np.arange(4096, dtype=np.float32).reshape(64, 64)
    return {"x": x, "y": np.zeros_like(x), "r": np.zeros_like(x), "s": np.zeros(16, np.float32), "m": m,
            "t": np.zeros_like(m), "c": np.zeros(16, np.int32)}


# Kernel, grid, block, arguments: arrays by name.
LAUNCHES = [
    ("wave", (16,), (256,), ("y", "x")),
    ("axpy", (16,), (256,), ("r", 3.0, "x", "y")),
    ("blocksum", (16,), (256,), ("s", "x")),
    ("transpose", (4, 4), (16, 16), ("t", "m")),
    ("count", (16,), (256,), ("c", "x")),
]
RESULTS = ("r", "s", "t", "c")
