# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search spaces: parameters in Python, or studies of ``llvm-mneme-tune``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from ._tables import METRICS, SETTINGS
from .config import Config
from .errors import RequestError, check_path, nearest, opening, show

if TYPE_CHECKING:
    from .recording import Instance
    from .server import Server

Params = dict[str, Any]


class Int(NamedTuple):
    """Integers from ``low`` to ``high``, with a step or as powers of two times ``low`` (``log``)."""

    low: int
    high: int
    step: int = 1
    log: bool = False
    default: Optional[int] = None


class Float(NamedTuple):
    """Numbers from ``low`` to ``high``, uniform or uniform in the logarithm."""

    low: float
    high: float
    log: bool = False
    default: Optional[float] = None


class Bool(NamedTuple):
    """True or False."""

    default: Optional[bool] = None


class Choice(NamedTuple):
    """One of several values of one type."""

    values: Sequence[Any]
    default: Any = None


class Pipeline(NamedTuple):
    """A space of pass pipelines (docs/PipelineSpaces.rst): ``"default<{O1|O2|O3}>"``. Its value is a pipeline."""

    space: str
    default: Optional[str] = None


Parameter = Union[Int, Float, Bool, Choice, Pipeline]


def _parameter(name: str, given: Any) -> Parameter:
    """Converts shorthands: ``range``, lists, tuples of two floats."""
    if isinstance(given, (Int, Float, Bool, Choice, Pipeline)):
        return given
    if isinstance(given, range):
        if not len(given) or given.step <= 0:
            raise RequestError(f"parameter {name!r}: {given!r} is not an increasing range")
        return Int(given[0], given[-1], given.step)
    if given is bool:
        return Bool()
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(v, float) for v in given):
        return Float(*given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return Choice(list(given))
    raise RequestError(
        f"parameter {name!r}: expected Int, Float, Bool, Choice, Pipeline, a range or a list, got {show(given)}"
    )


def _describe(name: str, p: Parameter) -> dict[str, Any]:
    """Returns a parameter in the form of the protocol."""
    numbers = [p.low, p.high] if isinstance(p, (Int, Float)) else []
    try:
        finite = all(map(math.isfinite, numbers))
    except (OverflowError, TypeError):  # too large, or no number
        finite = False
    if not finite:
        raise RequestError(f"parameter {name!r}: its bounds are not finite")
    if isinstance(p, Int):
        result: dict[str, Any] = {"kind": "int", "low": p.low, "high": p.high}
        if p.log:
            result["log"] = True
        elif p.step != 1:
            result["step"] = p.step
    elif isinstance(p, Float):
        result = {"kind": "real", "low": float(p.low), "high": float(p.high), "log": p.log}
    elif isinstance(p, Bool):
        result = {"kind": "bool"}
    elif isinstance(p, Choice):
        result = {"kind": "choice", "values": list(p.values)}
    else:
        result = {"kind": "pipeline", "space": p.space}
    if p.default is not None:
        result["default"] = p.default
    return {"name": name, **result}


class InvalidPoint(Exception):
    """A point that violates a constraint."""


class Space:
    """A search space.

    With parameters in Python::

        Space({"threads": range(64, 1025, 64), "level": ["O1", "O3"]},
              derived=lambda p: Config(block_x=p["threads"], passes=f"default<{p['level']}>"),
              constraint=lambda p: p["threads"] < 1024 or p["level"] == "O3")

    ``derived`` converts values of the parameters to a configuration; without it, the parameters are settings. It and
    ``constraint`` may take the launch as a second argument. A subclass may instead define the methods ``dimensions()``,
    ``derived(params)`` and ``constraints(params)``, as with LLNL's Mneme.

    Studies of the tools: :meth:`from_study`, :meth:`preset`, :meth:`options`.

    :param objectives: metrics, ``"time"`` or ``("reg_usage", "minimize")``; several for a Pareto set
    """

    def __init__(
        self,
        parameters: Optional[Mapping[str, Any]] = None,
        *,
        derived: Optional[Callable[..., Any]] = None,
        constraint: Optional[Callable[..., Any]] = None,
        objectives: Sequence[Union[str, tuple[str, str]]] = ("time",),
    ) -> None:
        self._fields: Optional[dict[str, Any]] = None
        self._given = parameters
        self._derived = derived
        self._constraint = constraint
        self.objectives = _read_objectives(objectives)

    # -- Studies -------------------------------------------------------------------------------------------------------

    @classmethod
    def from_study(cls, study: Union[str, os.PathLike[str]], **options: Any) -> Space:
        """A study in the dialect ``mneme``: a file (``.mlir``) or its text. ``options`` are those of :meth:`options`."""
        if not isinstance(study, str) or "\n" not in study:
            path = check_path(study)
            with opening("read", path), open(path, errors="replace") as file:
                study = file.read()
        return cls._of_fields({"study": study}, options)

    @classmethod
    def preset(cls, name: str = "standard", **options: Any) -> Space:
        """A preset of ``llvm-mneme-tune``: ``"launch"``, ``"standard"``, ..."""
        return cls._of_fields({"preset": name}, options)

    @classmethod
    def options(cls, **options: Any) -> Space:
        """Options of ``llvm-mneme-tune`` (docs/Studies.rst), with ``_`` for ``-`` in their names.

        >>> Space.options(block_x="64..1024:64", passes="default<{O1|O3}>", require=["block.x < 512"])
        """
        if not options:
            raise RequestError("a space needs an option: block_x='64..1024:64'")
        return cls._of_fields({}, options)

    @classmethod
    def _of_fields(cls, fields: dict[str, Any], options: Mapping[str, Any]) -> Space:
        names = [s.tune_option for s in SETTINGS.values() if s.tune_option]
        names += ["grid", "opt", "derive", "require", "objective"]
        words = []
        for key, value in options.items():
            name = key.replace("_", "-")
            if name not in names:
                known = [n.replace("-", "_") for n in names]
                axes = [n for n in known if n.startswith(f"{key}_")]
                hint = f"; there are: {', '.join(axes)}" if axes else nearest(key, known)
                raise RequestError(f"unknown option {key!r}{hint}")
            for text in value if isinstance(value, (list, tuple)) else [value]:
                try:
                    words.append({"name": name, "text": str(text)})
                except (ValueError, RecursionError):
                    raise RequestError(f"option {key!r}: {show(text)} is no text") from None
        space = cls.__new__(cls)
        Space.__init__(space)
        space._fields = {**fields, **({"options": words} if words else {})}
        return space

    # -- Parameters ----------------------------------------------------------------------------------------------------

    def dimensions(self) -> Mapping[str, Any]:
        """Returns the parameters by name. A subclass may define it."""
        if not self._given:
            raise RequestError("the space has no parameters")
        return self._given

    def derived(self, params: Params) -> Any:
        """Converts values of the parameters to a configuration. A subclass may define it."""
        return params if self._derived is None else self._call(self._derived, params)

    def constraints(self, params: Params) -> Any:
        """Returns whether the values are allowed. A subclass may define it."""
        return True if self._constraint is None else self._call(self._constraint, params)

    _instance: Optional[Instance] = None

    def _call(self, function: Callable[..., Any], params: Params) -> Any:
        import inspect

        try:
            takes = len(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            takes = 1
        return function(params, self._instance) if takes > 1 else function(params)

    @property
    def is_study(self) -> bool:
        """The space is a study of the tools, not parameters in Python."""
        return self._fields is not None

    def parameters(self) -> dict[str, Parameter]:
        """Returns the parameters of a space in Python."""
        return {name: _parameter(name, given) for name, given in self.dimensions().items()}

    def define(self) -> dict[str, Any]:
        """Returns the space in the form of the protocol."""
        if self._fields is not None:
            return dict(self._fields)
        return {
            "parameters": [_describe(name, p) for name, p in self.parameters().items()],
            "objectives": [{"metric": m, "direction": d} for m, d in self.objectives],
        }

    def config_of(self, params: Params) -> Config:
        """Returns the configuration of valid values of Python parameters. Raises :class:`InvalidPoint`."""
        if not self.constraints(params):
            raise InvalidPoint("the constraint does not hold")
        return Config(self.derived(params))

    def bind(self, instance: Instance, server: Optional[Server] = None) -> BoundSpace:
        """Binds the space to a launch."""
        return BoundSpace(self, instance, server or instance.kernel._reader())

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Space of {', '.join(self.dimensions())}>"
        if "preset" in self._fields:
            return f"<Space: preset {self._fields['preset']}>"
        words = [f"--{o['name']}={o['text']!r}" for o in self._fields.get("options", [])]
        return f"<Space: {'study ' if 'study' in self._fields else ''}{' '.join(words)}>"


class BoundSpace:
    """A space for a launch, with a sampler of the tools. A server holds it."""

    def __init__(self, space: Space, instance: Instance, server: Server, sampler: str = "random", seed: int = 0) -> None:
        self.space = space
        self.instance = instance
        self._server = server
        space._instance = instance
        answer, _ = server.call(
            "space", instance=instance.record_id, sampler=sampler, seed=seed, **space.define()
        )
        self._number = answer["space"]
        self.name: str = answer["study"]
        self.parameters: list[dict[str, Any]] = answer["parameters"]
        self.dimensions: list[str] = answer["dimensions"]
        self.count: Optional[int] = int(answer["count"]) if answer["count"] else None
        self.default: Params = answer["default"]
        self.objectives = [(o["metric"], o["direction"]) for o in answer["objectives"]]

    def ask(self, count: int) -> list[tuple[int, Params, dict[str, Any]]]:
        """Returns proposals: number, values, configuration (of a study)."""
        answer, _ = self._server.call("ask", space=self._number, count=count)
        return [(p["number"], p["point"], p["config"]) for p in answer["points"]]

    def tell(self, **fields: Any) -> None:
        """Reports the result of a proposal."""
        # Nothing depends on the answer: the next proposal comes after it.
        self._server.send("tell", {"space": self._number, **fields}, _check)

    def configure(self, params: Params) -> tuple[Params, Config]:
        """Returns all values of a point, and its configuration. Raises :class:`InvalidPoint`."""
        if not self.space.is_study and not any(p["kind"] == "pipeline" for p in self.parameters):
            return params, self.space.config_of(params)
        try:
            answer, _ = self._server.call("configure", space=self._number, point=params)
        except RequestError as error:
            raise InvalidPoint(str(error)) from None
        point = answer["point"]
        return point, Config(answer["config"]) if self.space.is_study else self.space.config_of(point)

    def close(self) -> None:
        """Lets the server forget the space."""
        if not self._server.closed:
            self._server.send("drop", {"space": self._number}, lambda answer, extra: None)


def _check(answer: Optional[dict[str, Any]], _: Any) -> None:
    if answer and answer["type"] == "failed":
        import warnings

        from .errors import MnemeWarning

        warnings.warn(f"the sampler refused a result: {answer['error']}", MnemeWarning, stacklevel=2)


def _read_objectives(given: Sequence[Union[str, tuple[str, str]]]) -> list[tuple[str, str]]:
    result = []
    for one in [given] if isinstance(given, str) else given:
        metric, direction = (one, "") if isinstance(one, str) else one
        if metric not in METRICS:
            raise RequestError(f"unknown metric {metric!r}{nearest(metric, METRICS)}")
        if direction not in ("", "minimize", "maximize"):
            raise RequestError(f"expected minimize or maximize, got {direction!r}")
        result.append((metric, direction or METRICS[metric].direction))
    if not result:
        raise RequestError("a space needs an objective")
    return result
