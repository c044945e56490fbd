# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the Numba kernels of a program recordable with their LLVM IR.

``import llvm_mneme.numba`` before the first launch, and run the program under
``llvm-mneme-record --any-executable``. Numba has no hook for this: the module wraps the
method that loads a kernel (numba-cuda's ``CUDACodeLibrary.get_cufunc``).

The IR is what Numba gives to NVIDIA's NVVM, before any optimization. Replays run LLVM's
pipeline and code generator on it, with libdevice; NVVM's own are a baseline
(``--baseline=app``), not something that a replay repeats.
"""

from __future__ import annotations

import functools
import glob
import importlib.util
import os
from typing import Any, Optional

from . import register


def _libdevice() -> Optional[bytes]:
    """The bitcode of libdevice, or None."""
    roots = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    roots.append("/usr/local/cuda")
    for root in filter(None, roots):
        for path in glob.glob(os.path.join(root, "nvvm/libdevice/libdevice*.bc")):
            with open(path, "rb") as f:
                return f.read()
    try:
        from cuda.pathfinder import find_bitcode_lib

        with open(find_bitcode_lib("device"), "rb") as f:
            return f.read()
    except Exception:  # Numba finds it elsewhere; kernels without it still work.
        return None


def _arch(library: Any) -> str:
    # The suffix of sm_90a is a part of it, where Numba compiles for that.
    return "sm_" + "".join(map(str, library._ensure_cc(None)))


def register_library(library: Any, cubin: bytes, arch: str) -> bool:
    """Registers a compiled kernel: a CUDACodeLibrary and its cubin."""
    modules = list(library.llvm_strs)
    # Device functions that other libraries of the kernel define.
    for other in getattr(library, "_linking_libraries", ()):
        modules += other.llvm_strs
    libdevice = _libdevice()
    if libdevice and any("@__nv_" in m or '@"__nv_' in m for m in modules):
        modules.append(libdevice)
    options: dict[str, Any] = {"arch": arch, "fp_fusion": "fast", "codegen_opt": 3}
    if not getattr(library, "_nvvm_options", {}).get("fastmath"):
        # NVVM's default; LLVM's is the approximation.
        options["llvm.nvvm-reflect-add"] = "__CUDA_PREC_SQRT=1"
    return register.register_ir(cubin, library._entry_name, modules, options)


def enable() -> None:
    """Wraps the method. Importing the module in a program that is recorded does this."""
    from numba.cuda.codegen import CUDACodeLibrary

    original = CUDACodeLibrary.get_cufunc

    @functools.wraps(original)
    def get_cufunc(self: Any) -> Any:
        if self._entry_name is not None and not getattr(self, "_mneme_done", False):
            self._mneme_done = True
            cubin = self.get_cubin()
            code = cubin.code if hasattr(cubin, "code") else cubin
            register_library(self, code, _arch(self))
        return original(self)

    CUDACodeLibrary.get_cufunc = get_cufunc


if register.is_recording() and importlib.util.find_spec("numba"):
    enable()
