# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mneme: replay, verify, tune and inspect recorded GPU kernels.

>>> import llvm_mneme as mneme
>>> kernel = mneme.open("rec").only()
>>> with mneme.Executor(kernel) as executor:
...     result = executor.submit(passes="default<O3>").result()
...     print(result.verified, result.time)

Everything is loaded on first use, so that importing the package is fast.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this

_PLACES = {
    "_tables": ("PROTOCOL", "VERSION"),
    "compileiq": ("CompileIQ",),
    "config": ("Config",),
    "errors": (
        "ClosedError",
        "CompileError",
        "ForkedError",
        "LaunchError",
        "MissingExtraError",
        "MnemeError",
        "MnemeWarning",
        "RecordingError",
        "RequestError",
        "ServerLostError",
        "SuiteError",
    ),
    "executor": ("Comparison", "EvaluationFuture", "Executor"),
    "ir": ("Module", "Table"),
    "jit": ("compile",),
    "recording": ("Annotation", "Argument", "Buffer", "Dim3", "Instance", "Kernel", "Recording", "open"),
    "result": ("Result",),
    "space": ("Bool", "Choice", "Float", "Int", "Pipeline", "Space"),
    "suite": ("find_suite",),
    "tools": ("assess", "bisect", "reduce", "run_tool"),
    "tuning": ("Sampler", "Study", "Trial", "tune"),
}
_PLACE_OF = {name: module for module, names in _PLACES.items() for name in names}
_MODULES = ("dataset", "engine", "jit", "plots")

# `from llvm_mneme import *` must not replace the built-in open() and compile().
__all__ = ["__version__", *(n for n in _PLACE_OF if n not in ("open", "compile")), *_MODULES]

if TYPE_CHECKING:
    from . import dataset, engine, jit, plots
    from ._tables import PROTOCOL, VERSION
    from ._tables import VERSION as __version__
    from .compileiq import CompileIQ
    from .config import Config
    from .errors import (
        ClosedError,
        CompileError,
        ForkedError,
        LaunchError,
        MissingExtraError,
        MnemeError,
        MnemeWarning,
        RecordingError,
        RequestError,
        ServerLostError,
        SuiteError,
    )
    from .executor import Comparison, EvaluationFuture, Executor
    from .ir import Module, Table
    from .jit import compile
    from .recording import Annotation, Argument, Buffer, Dim3, Instance, Kernel, Recording, open
    from .result import Result
    from .space import Bool, Choice, Float, Int, Pipeline, Space
    from .suite import find_suite
    from .tools import assess, bisect, reduce, run_tool
    from .tuning import Sampler, Study, Trial, tune


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module("." + name, __name__)
    if name == "__version__":
        name = "VERSION"
    place = _PLACE_OF.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module("." + place, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "compile", "open"])
