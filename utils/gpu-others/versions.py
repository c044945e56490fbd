"""Versions, and the smallest use of the GPU."""
from mneme_common import result  # before torch: it imports the hook

import importlib.metadata
import sys

import torch

for name in ("torch", "triton", "numba", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x", "numpy"):
    try:
        print("version", name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        print("version", name, "none")
print("version python", sys.version.split()[0], "CUDA", torch.version.cuda, "device", torch.cuda.get_device_name())
result(torch.arange(1000, device="cuda") + 1)
