# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors. A verdict of a replay is never one: it is in the result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


def show(value: object) -> str:
    """Returns a value as an error quotes it: ``repr``, shortened, or the type of a value that has none."""
    try:
        text = repr(value)
    except Exception:  # nested too deeply, an integer with too many digits, or the value's own error
        return f"<{type(value).__name__}>"
    return text if len(text) <= 200 else f"{text[:200]}..."


def check_integer(name: str, value: object) -> int:
    """Returns an argument that is an integer of at most 53 bits, of any type; raises an error for others."""
    import operator

    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except Exception:
        raise RequestError(f"{name}: expected an integer, got {show(value)}") from None
    if not -(2**53) < number < 2**53:
        raise RequestError(f"{name}: {show(number)} is out of range")
    return number


def check_seconds(name: str, value: object) -> float:
    """Returns an argument that is a finite number of seconds; raises an error for others."""
    import math

    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except Exception:
        number = math.nan
    if not math.isfinite(number):
        raise RequestError(f"{name}: expected a positive number of seconds, got {show(value)}")
    return number


def check_words(words: Sequence[str]) -> None:
    """Raises an error for a word that no program can be started with."""
    for word in words:
        if "\0" in word:
            raise RequestError(f"{show(word)} contains a null character")
        try:
            os.fsencode(word)
        except UnicodeEncodeError:
            raise RequestError(f"{show(word)} contains a lone surrogate, which is no character") from None


def check_path(path: object, kind: type[MnemeError] = RequestError) -> str:
    """Returns a path as text; raises an error for what cannot be one."""
    try:
        text = os.fsdecode(path)  # type: ignore[arg-type]
    except TypeError:
        raise kind(f"expected a path, got {show(path)}") from None
    except UnicodeEncodeError:
        text = str(path)
    try:
        check_words([text])
    except RequestError as error:
        raise kind(f"path {error}") from None
    return text


@contextmanager
def opening(action: str, path: str, kind: type[MnemeError] = RequestError) -> Iterator[None]:
    """Converts an error of the system to one of this package: "cannot write 'x': No space left on device"."""
    try:
        yield
    except OSError as error:
        raise kind(f"cannot {action} {show(path)}: {error.strerror or error}") from None


def nearest(name: str, names: Any) -> str:
    """Returns "; did you mean ...?" for a misspelled name, or ""."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(names), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
