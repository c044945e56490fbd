# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's CompileIQ as a sampler: it proposes controls files of ptxas, Mneme verifies and measures them."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from .errors import RequestError, check_path, need, show
from .space import Choice, Space, _read_objectives

if TYPE_CHECKING:
    from .space import Params
    from .tuning import Trial

_KEY = "ptxas_controls"


class CompileIQ:
    """A search of CompileIQ (1.1 or later), for :func:`llvm_mneme.tune`.

    >>> sampler = CompileIQ("ptxas13.3.bin", generations=10, pool_size=16)
    >>> study = tune(sampler.space(), kernel, sampler=sampler, options=["--ptxas=/opt/cuda-13.3/bin/ptxas"])

    :param search_space: a file of NVIDIA (``.bin``), one of CompileIQ's providers (``PtxasSearchSpace(version="13.3")``),
        a dictionary of CompileIQ's parameters, or a list of these. A file and a provider yield the setting
        ``ptxas_controls``, a dictionary the parameters of its names
    :param generations: of the search, each of ``pool_size`` candidates
    :param objectives: as of :class:`Space`
    :param options: of ``compileiq.ciq.Search``
    """

    def __init__(
        self,
        search_space: Any,
        *,
        generations: int = 10,
        pool_size: int = 16,
        objectives: Sequence[Union[str, tuple[str, str]]] = ("time",),
        **options: Any,
    ) -> None:
        ciq, types = need("compileiq.ciq", "compileiq"), need("compileiq.types", "compileiq")
        if not hasattr(ciq.Search, "ask") or not hasattr(types.WorkerTypes, "MANUAL"):
            raise RequestError("this compileiq has no ask and tell: install 1.1 or later (pip install -U compileiq)")
        self.objectives = _read_objectives(objectives)
        self._score = need("compileiq.utils.validation", "compileiq").Score
        self._invalid = types.INVALID_SCORE
        self._errors = need("compileiq.backends", "compileiq")
        several = isinstance(search_space, (list, tuple))
        spaces = [_locate(s) for s in (search_space if several else [search_space])]
        try:
            self._search = ciq.Search(
                objective_function=_evaluate,
                search_space=spaces if several else spaces[0],
                search_config=types.SearchConfiguration(
                    generations=generations,
                    pool_size=pool_size,
                    num_objectives=len(self.objectives),
                    problem_type="min",
                ),
                worker_type=types.WorkerTypes.MANUAL,
                **{"exit_on_failure": False, "disable_progress_bar": True, **options},
            )
        except ValueError as error:
            raise RequestError(f"CompileIQ: {error}") from None
        self._waiting: list[tuple[Params, Any]] = []  # asked of CompileIQ, not yet given out
        self._pending: dict[str, list[Any]] = {}  # given out: candidates by their values

    def space(self, parameters: Mapping[str, Any] = {}, **options: Any) -> Space:
        """Returns a space with the setting ``ptxas_controls``, the objectives of the search, and ``parameters``: those of
        the dictionary in the search space. ``options`` are those of :class:`Space`."""
        return Space({_KEY: Choice([""]), **parameters}, objectives=self.objectives, **options)

    def ask(self, count: int) -> list[Params]:
        """Returns up to ``count`` candidates. A generation ends with the result of its last candidate."""
        if not self._waiting and not self._pending:
            try:
                self._waiting = [(_read(c.params), c) for c in self._search.ask()]
            except self._errors.SearchSpaceExhaustedError:
                return []
            except self._errors.BackendCapabilityError as error:
                if "completed" not in str(error):
                    raise
                return []
        given, self._waiting = self._waiting[:count], self._waiting[count:]
        for params, candidate in given:
            self._pending.setdefault(_name(params), []).append(candidate)
        return [params for params, _ in given]

    def tell(self, trial: Trial) -> None:
        """Reports the result of a candidate. Trials of an earlier run, which this search did not propose, are ignored."""
        name = _name(trial.params)
        candidates = self._pending.get(name)
        if not candidates:
            return
        candidate = candidates.pop()
        if not candidates:
            del self._pending[name]
        scores = [self._invalid] * len(self.objectives)
        if trial.values is not None:
            scores = [
                float(v if direction == "minimize" else -v) for v, (_, direction) in zip(trial.values, self.objectives)
            ]
        self._search.tell(
            [
                self._score(
                    score=scores if len(scores) > 1 else scores[0],
                    params=candidate.params,
                    param_id=candidate.param_id,
                    num_objectives=len(scores),
                )
            ]
        )


def _evaluate(candidate: Any) -> Any:
    raise RequestError("CompileIQ is asked for candidates, it evaluates none")


def _locate(space: Any) -> Any:
    """Returns a search space as CompileIQ takes it."""
    if not isinstance(space, (str, os.PathLike)):
        return space
    path = pathlib.Path(check_path(space))
    if not path.is_file():
        raise RequestError(f"no search space {show(str(path))}: name a file of NVIDIA, or a PtxasSearchSpace")
    return path


def _read(params: Any) -> Params:
    """Returns the values of a candidate by parameter."""
    if isinstance(params, list):
        return {name: value for part in params for name, value in _read(part).items()}
    if isinstance(params, dict):
        return dict(params)
    # Of a file: the controls in hexadecimal digits.
    return {_KEY: f"hex:{params}"}


def _name(params: Mapping[str, Any]) -> str:
    return json.dumps(params, sort_keys=True, default=str)
