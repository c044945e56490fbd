# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the Triton kernels of a program recordable with their LLVM IR.

``import llvm_mneme.triton`` before the first launch is all that a program needs::

    llvm-mneme-record --any-executable -o rec -- python3 model.py

Triton calls a hook before it loads a kernel. From the kernel's files come its LLVM IR
(``llir``, which Triton's own O3 pipeline has optimized), its cubin and its options.
Replays compile the IR as Triton does: without passes, with the same target, PTX version
and flags of the code generator and of ptxas. Triton's passes on MLIR, and the edits that
it makes in the PTX text, are not repeated: what the debug info of the PTX says, differs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Mapping
from typing import Any, Optional

from . import register

# torch.compile has a launcher of its own that calls no hook of Triton.
os.environ.setdefault("TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER", "0")


def _read(path: str) -> bytes:
    with open(path, "rb") as f:
        return f.read()


def _arch_of(ptx: str) -> Optional[str]:
    match = re.search(r"^\.target\s+(sm_\w+)", ptx, re.M)
    return match.group(1) if match else None


def _ptx_features(ptx: str) -> Optional[str]:
    match = re.search(r"^\.version\s+(\d+)\.(\d+)", ptx, re.M)
    return "+ptx%s%s" % match.groups() if match else None


def configuration(metadata: Mapping[str, Any], ptx: str) -> dict[str, Any]:
    """The settings with which Triton compiles LLVM IR, for llvm-mneme-replay.

    metadata: the dict of the kernel's JSON file. ptx: its PTX, which says what version
    and architecture Triton has chosen.
    """
    fusion = metadata.get("enable_fp_fusion", True)
    options = ["-lineinfo"] + ([] if fusion else ["--fmad=false"])
    options += (metadata.get("ptx_options") or "").split()
    config: dict[str, Any] = {
        "passes": "",
        "codegen_opt": 3,
        "fp_fusion": "fast" if fusion else "standard",
        "ptxas_options": " ".join(options),
        "llvm.nvptx-short-ptr": True,
        "llvm.nvptx-mad-wide-opt": True,
    }
    arch, features = _arch_of(ptx), _ptx_features(ptx)
    if arch:
        config["arch"] = arch
    if features:
        config["target_features"] = features
    return config


def register_files(files: Mapping[str, str]) -> bool:
    """Registers a compiled kernel.

    files: Triton's metadata group, a dict of file names ("add.llir") and their paths.
    Returns whether there is IR for the recorder: kernels of other back ends have none.
    """
    paths = {os.path.splitext(name)[1]: path for name, path in files.items()}
    if not all(kind in paths for kind in (".llir", ".cubin", ".ptx", ".json")):
        return False
    metadata = json.loads(_read(paths[".json"]))
    ptx = _read(paths[".ptx"]).decode()
    llir = re.sub(
        "emissionKind: (LineTablesOnly|FullDebug)",
        "emissionKind: DebugDirectivesOnly",
        _read(paths[".llir"]).decode(),
    )
    return register.register_ir(
        _read(paths[".cubin"]),
        metadata["name"],
        llir,
        configuration(metadata, ptx),
    )


def _on_load(module: object, function: object, name: str, metadata_group: Mapping[str, str], hash: str) -> None:
    register_files(metadata_group)


def enable() -> None:
    """Adds the hook. Importing the module in a program that is recorded does this."""
    from triton import knobs

    hook = knobs.runtime.kernel_load_start_hook
    if hasattr(hook, "add"):
        hook.add(_on_load)
    else:  # Triton 3.3 has one hook.
        knobs.runtime.kernel_load_start_hook = _on_load


if register.is_recording() and importlib.util.find_spec("triton"):
    enable()
