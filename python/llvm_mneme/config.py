# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configurations: the settings of a replay that differ from the recorded ones."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Optional

from ._tables import SETTINGS, ConfigTable, LLVMValue
from .errors import RequestError, check_integer, nearest, show

if TYPE_CHECKING:
    _Base = Mapping[str, LLVMValue]
else:
    _Base = Mapping

# Keys of LLNL's Mneme that have no meaning here, or only one value.
_IGNORED = {"codegen_method": None, "prune": True, "internalize": True}
_AXES = ("x", "y", "z")
_KEY_OF = {key.replace(".", "_"): key for key in SETTINGS}
_LLVM = "llvm."
_DEFINE = "define."


def _name(key: str) -> str:
    """Returns the name of an LLVM option or macro in a key; empty for other keys."""
    return next((key[len(p) :] for p in (_LLVM, _DEFINE) if key.startswith(p)), "")


def _refuse(key: str, why: str) -> RequestError:
    return RequestError(f"{key!r}: {why}")


def _scalar(key: str, value: object) -> LLVMValue:
    """Converts a value of an LLVM option."""
    if isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "item"):  # of NumPy
        return _scalar(key, value.item())
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _refuse(key, f"{value} is not a finite number")
        return value
    if isinstance(value, (list, tuple)) and not any(isinstance(one, (list, tuple)) for one in value):
        return [_scalar(key, one) for one in value]  # type: ignore[misc]
    raise _refuse(key, f"expected a text, a number or a boolean, got {show(value)}")


def _convert(key: str, value: object) -> LLVMValue:
    """Converts a value of a setting to its type."""
    if key.startswith((_LLVM, _DEFINE)):
        return _scalar(key, value)
    kind = SETTINGS[key].type
    if type(value) is int and kind == "int":
        number = value
    elif kind == "text":
        if isinstance(value, str):
            return value
        if key == "ptxas_controls":  # a file, or its contents
            if isinstance(value, (bytes, bytearray)):
                return f"hex:{value.hex()}"
            if isinstance(value, os.PathLike):
                try:
                    with open(value, "rb") as file:
                        return f"hex:{file.read().hex()}"
                except OSError as error:
                    raise _refuse(key, f"{os.fsdecode(value)!r}: {error.strerror}") from None
        if key == "ptxas_options" and isinstance(value, (list, tuple)):
            import shlex

            return shlex.join(map(str, value))
        raise _refuse(key, f"expected a text, got {show(value)}")
    elif kind == "bool":
        if isinstance(value, bool):
            return value
        if type(value).__name__ in ("bool_", "bool"):  # of NumPy
            return bool(value)
        raise _refuse(key, f"expected True or False, got {show(value)}")
    else:
        if isinstance(value, float) and not math.isfinite(value):
            raise _refuse(key, f"{value} is not a finite number")
        number = check_integer(repr(key), value)
    if not 0 <= number < 2**53:
        raise _refuse(key, f"{show(number)} is out of range")
    return number


class Config(ConfigTable, _Base):
    """A configuration: settings by key, as ``llvm-mneme-tune`` writes them to ``best.json``.

    >>> Config(passes="default<O3>", block=(256, 1), llvm={"unroll-threshold": 100})
    Config(passes='default<O3>', block_x=256, block_y=1, llvm={'unroll-threshold': 100})

    A keyword is the key with ``_`` for ``.``; ``block`` and ``grid`` take numbers for several axes, ``llvm`` LLVM
    options, ``define`` macros of the source. The first argument may be another configuration or mapping: of keys and values, or what LLNL's Mneme
    writes. A configuration does not change and can be a key of a dictionary.
    """

    __slots__ = ("_hash",)

    @staticmethod
    def _collect(
        values: Optional[Mapping[str, object]],
        given: Mapping[str, object],
        unknown: Mapping[str, object],
    ) -> dict[str, LLVMValue]:
        result: dict[str, LLVMValue] = {}
        if isinstance(values, Config):
            result.update(values._values)
        elif values is not None:
            if not isinstance(values, Mapping):
                raise RequestError(f"expected a mapping of keys and values, got {show(values)}")
            for key, value in values.items():
                Config._add(result, key, value)
        for key, value in given.items():
            if value is not None:
                Config._add(result, key, value)
        for key, value in unknown.items():
            Config._add(result, key, value)
        return result

    @staticmethod
    def _add(result: dict[str, LLVMValue], key: str, value: object) -> None:
        key = _KEY_OF.get(key, key) if isinstance(key, str) else key
        if key in SETTINGS or (isinstance(key, str) and _name(key)):
            if value is not None:
                result[key] = _convert(key, value)
        elif key in ("llvm", "define") and isinstance(value, Mapping):
            for name, text in value.items():
                Config._add(result, f"{key}.{name}", text)
        elif key in ("block", "grid"):
            for axis, number in _axes(key, value):
                Config._add(result, f"{key}.{axis}", number)
        elif key in _IGNORED:
            if _IGNORED[key] is not None and value != _IGNORED[key]:
                raise _refuse(key, f"{show(value)} is not supported: a recorded kernel is always cut out")
        else:
            raise RequestError(f"unknown key {show(key)}{nearest(key if isinstance(key, str) else '', [*SETTINGS, 'block', 'grid', 'llvm', 'define'])}")

    def __getitem__(self, key: str) -> LLVMValue:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Config):
            return self._values == other._values
        return NotImplemented if not isinstance(other, Mapping) else self._values == dict(other)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash: int = hash(frozenset((k, str(v)) for k, v in self._values.items()))
            return self._hash

    def __or__(self, other: Mapping[str, object]) -> Config:
        return Config({**self._values, **Config(other)._values})

    def __getstate__(self) -> dict[str, LLVMValue]:
        return self._values

    def __setstate__(self, state: dict[str, LLVMValue]) -> None:
        self._values = state

    @property
    def llvm(self) -> dict[str, LLVMValue]:
        """The LLVM options."""
        return {k[len(_LLVM) :]: v for k, v in self._values.items() if k.startswith(_LLVM)}

    @property
    def define(self) -> dict[str, LLVMValue]:
        """The macros of the source."""
        return {k[len(_DEFINE) :]: v for k, v in self._values.items() if k.startswith(_DEFINE)}

    def to_dict(self) -> dict[str, Any]:
        """Returns the keys and values."""
        return dict(self._values)

    def options(self) -> list[str]:
        """Returns the configuration as options of ``llvm-mneme-replay``."""
        words = []
        for key, value in self._values.items():
            if key.startswith(_LLVM):
                for one in value if isinstance(value, list) else [value]:
                    text = str(one).lower() if isinstance(one, bool) else one
                    words.append(f"-mllvm={key[len(_LLVM):]}={text}")
            elif key.startswith(_DEFINE):
                words.append(f"--define={key[len(_DEFINE):]}={value}")
            elif isinstance(value, bool):
                words.append(f"--{SETTINGS[key].option}={str(value).lower()}")
            else:
                words.append(f"--{SETTINGS[key].option}={value}")
        return words

    def __repr__(self) -> str:
        parts = [f"{k.replace('.', '_')}={v!r}" for k, v in self._values.items() if not _name(k)]
        parts += [f"{n}={m!r}" for n, m in (("llvm", self.llvm), ("define", self.define)) if m]
        return f"Config({', '.join(parts)})"

    def _repr_html_(self) -> str:
        from ._html import table

        return table(["setting", "value"], [[k, v] for k, v in self._values.items()] or [["as recorded", ""]])


def _axes(key: str, value: object) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if hasattr(value, "x") and hasattr(value, "y"):
        return [(axis, getattr(value, axis)) for axis in _AXES]
    if isinstance(value, (list, tuple)):
        if not 1 <= len(value) <= 3:
            raise _refuse(key, f"expected 1 to 3 numbers, got {len(value)}")
        return list(zip(_AXES, value))
    return [("x", value)]
