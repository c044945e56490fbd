# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers LLVM IR of kernels that a Python program compiles and launches.

``register_ir`` does what ``mneme_register_ir`` (mneme/record.h) does. It has an effect
only if llvm-mneme-record runs the program; otherwise it costs one comparison.
"""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Callable, Mapping
from typing import Any, Optional, Union

Text = Union[str, bytes, bytearray, memoryview]


def _find() -> Optional[Callable[..., int]]:
    """The function of the recorder in this process, or None."""
    try:
        function: Any = ctypes.CDLL(None)["__mneme_register_ir"]
    except AttributeError:
        return None
    function.restype = ctypes.c_int
    function.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
    ]
    return function


_function = _find()


def is_recording() -> bool:
    """Whether the recorder is in this process and takes IR."""
    return _function is not None


def _to_bytes(data: Text) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)


def register_ir(
    image: Text,
    symbol: Optional[str],
    ir: Union[Text, list[Text], tuple[Text, ...]],
    options: Optional[Mapping[str, Any]] = None,
) -> bool:
    """Binds LLVM IR to a kernel of an image.

    image: the bytes that the program passes to the driver (cubin, PTX or fat binary).
    symbol: the kernel's name in image and IR; None: any kernel that the IR defines.
    ir: bitcode (bytes) or text, also of earlier versions of LLVM; or a list of modules,
    which are linked: the first whole, of the others what it needs.
    options: a dict of the settings with which the image was compiled from the IR, with
    the keys of llvm-mneme-replay --config.
    Returns whether the IR was noted.
    """
    if _function is None:
        return False
    image = _to_bytes(image)
    if isinstance(ir, (list, tuple)):
        parts = [_to_bytes(part) for part in ir]
        code = b"MNEMEIR1" + b"".join(struct.pack("<Q", len(p)) + p for p in parts)
    else:
        code = _to_bytes(ir)
    return bool(
        _function(
            image,
            len(image),
            symbol.encode() if symbol else None,
            code,
            len(code),
            json.dumps(options).encode() if options else None,
        )
    )
