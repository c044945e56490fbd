# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the CUDA kernels of a Halide pipeline recordable with their LLVM IR.

Import ``llvm_mneme.halide`` before ``halide``, call ``compile_jit(func, target)`` instead of
``func.compile_jit(target)``, and run the program under ``llvm-mneme-record
--any-executable``. Halide does not return the IR of kernels: it prints it if
``HL_DEBUG_CODEGEN`` is 2 when Halide compiles the first time in a process. The module sets
the variable, and reads what Halide prints.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from typing import Any

from . import register

if register.is_recording():
    os.environ["HL_DEBUG_CODEGEN"] = "2"


def register_output(text: bytes) -> int:
    """Registers all kernels in Halide's debug output. Returns how many images there were."""
    images = re.findall(
        rb"In CodeGen_PTX_Dev::compile_to_src(.*?)Done with CodeGen_PTX_Dev::compile_to_src"
        rb"PTX kernel:\n(.*?\n)\n(?:Compiling PTX to SASS|\Z)",
        text,
        re.DOTALL,
    )
    for ir, ptx in images:
        arch = re.search(rb"^\.target (\w+)", ptx, re.M)
        # The IR has passed Halide's own pipeline.
        options = {"passes": "", "codegen_opt": 3, "fp_fusion": "fast"}
        if arch:
            options["arch"] = arch[1].decode()
        # Halide writes these attributes without a value.
        ir = ir.replace(b'"target-cpu" "target-features" "tune-cpu"', b"")
        register.register_ir(ptx, None, ir, options)
    return len(images)


def compile_jit(func: Any, target: Any) -> None:
    """``func.compile_jit(target)``, and registers the kernels if a recorder is there."""
    if not register.is_recording():
        func.compile_jit(target)
        return
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 2)
        try:
            func.compile_jit(target)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        output.seek(0)
        register_output(output.read())
