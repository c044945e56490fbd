# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors. A verdict of a replay is never one: it is in the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .jit import Diagnostic


class MnemeError(Exception):
    """The base of all errors of this package."""


class MnemeWarning(UserWarning):
    """A message of the suite: a GPU is in use, a recording has no digests."""


class SuiteError(MnemeError):
    """The suite is missing, or of another version."""


class RecordingError(MnemeError):
    """A recording cannot be read, or has no such kernel, launch or buffer."""


class RequestError(MnemeError):
    """A request cannot be carried out: a wrong option, device, study or IR."""


class ServerLostError(MnemeError):
    """The server has died, or has no device left."""


class ClosedError(MnemeError):
    """The executor is closed."""


class ForkedError(MnemeError):
    """The object belongs to the parent of this process."""


class CompileError(MnemeError):
    """A source does not compile. ``diagnostics`` has the messages of the compiler (:class:`llvm_mneme.jit.Diagnostic`)."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics) or "the source does not compile")


class LaunchError(MnemeError):
    """CUDA refused a launch, or a copy for it. ``error`` is the cudaError_t."""

    def __init__(self, text: str, error: int) -> None:
        self.error = error
        super().__init__(text)


class MissingExtraError(MnemeError, ImportError):
    """An optional package is missing."""


def need(module: str, extra: str) -> Any:
    """Imports an optional package, or says how to install it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingExtraError(
            f"this needs {name} ({error}): pip install 'llvm-mneme[{extra}]'"
        ) from None


def nearest(name: str, names: Any) -> str:
    """Returns "; did you mean ...?" for a misspelled name, or ""."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(names), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
