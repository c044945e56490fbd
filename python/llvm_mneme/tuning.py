# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tuning loop: samplers propose, an executor evaluates, paired measurements decide."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Optional, Protocol, Union

from ._tables import SAMPLERS
from .config import Config
from .errors import MnemeError, RequestError, check_path, check_seconds, nearest, need, opening, show
from .executor import BaseExecutor, Comparison, EvaluationFuture, Executor, Instances, check_count, describe_speedup
from .executor import LEAST_PAIRS
from .recording import Instance
from .result import Result
from .space import BoundSpace, InvalidPoint, Params, Space

if TYPE_CHECKING:
    from .server import Server

# As in llvm-mneme-tune: a trial stops if it takes longer than this multiple of the limit.
_RACE_FACTOR = 1.05
_MOST_INVALID = 1000
_AHEAD_DIVISOR = 64
# Evaluations that are under way besides those that keep the devices busy: as many as end in this time, up to this
# multiple, because the way to the server and back takes time.
_AHEAD_SECONDS = 0.02
_MOST_AHEAD = 3
# An interrupt is seen after this time at the latest.
_WAIT_SECONDS = 0.2


class Trial:
    """A point and its result."""

    __slots__ = ("number", "params", "config", "state", "values", "failure", "error", "result", "token", "started")

    def __init__(self, number: int, params: Params, config: Config, token: Any = None) -> None:
        self.number = number
        self.params = params
        self.config = config
        self.state = "running"  # then "complete", "pruned" (significantly slower than others) or "failed"
        self.values: Optional[list[float]] = None  # one for each objective; None: failed
        self.failure = ""
        self.error = ""
        self.result: Optional[Result] = None  # None after a resumed search
        self.token = token  # the sampler's
        self.started = time.time()

    @property
    def value(self) -> Optional[float]:
        """The first objective."""
        return self.values[0] if self.values else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "params": self.params,
            "config": self.config.to_dict(),
            "state": self.state,
            "values": self.values,
            "failure": self.failure,
            "error": self.error,
        }

    def __repr__(self) -> str:
        what = self.failure or ", ".join("%.6g" % v for v in self.values or [])
        return f"<Trial {self.number} {self.state}: {what} {self.params}>"


class Sampler(Protocol):
    """Any search strategy. ``tell`` is called once for each point that was asked, in any order."""

    def ask(self, count: int) -> Sequence[Mapping[str, Any]]:
        """Returns up to ``count`` points (values by parameter); an empty list if there is none now."""

    def tell(self, trial: Trial) -> None:
        """Receives the result of a point."""


class _Proposer:
    """What the loop asks: points with configurations."""

    def __init__(self, bound: BoundSpace) -> None:
        self.bound = bound

    def ask(self, count: int) -> list[tuple[Params, Config, Any]]:
        raise NotImplementedError

    def tell(self, trial: Trial, duplicate_of: Optional[Trial]) -> None:
        raise NotImplementedError

    def remember(self, trial: Trial) -> None:
        """Learns a trial of an earlier run."""


class _BuiltIn(_Proposer):
    """A sampler of the tools. It runs in the server."""

    def ask(self, count: int) -> list[tuple[Params, Config, Any]]:
        found: list[tuple[Params, Config, Any]] = []
        is_study = self.bound.space.is_study
        for _ in range(_MOST_INVALID):
            points = self.bound.ask(count)
            for number, params, config in points:
                try:
                    chosen = Config(config) if is_study else self.bound.space.config_of(params)
                except InvalidPoint:
                    self.bound.tell(number=number, failure="Invalid")
                else:
                    found.append((params, chosen, number))
            if found or not points:
                return found
        raise RequestError(f"none of {_MOST_INVALID} proposals satisfies the constraint of the space")

    def tell(self, trial: Trial, duplicate_of: Optional[Trial]) -> None:
        self._tell(trial, duplicate_of, number=trial.token)

    def remember(self, trial: Trial) -> None:
        self._tell(trial, None, point=trial.params)

    def _tell(self, trial: Trial, duplicate_of: Optional[Trial], **fields: Any) -> None:
        if trial.values:
            fields["values"] = trial.values
            fields["pruned"] = trial.state == "pruned"
        else:
            fields["failure"] = trial.failure or "Invalid"
        if duplicate_of is not None and duplicate_of.token is not None:
            fields["duplicate_of"] = duplicate_of.token
        self.bound.tell(**fields)


class _Given(_Proposer):
    """An object with ask and tell."""

    def __init__(self, bound: BoundSpace, sampler: Any) -> None:
        super().__init__(bound)
        self.sampler = sampler

    def ask(self, count: int) -> list[tuple[Params, Config, Any]]:
        found: list[tuple[Params, Config, Any]] = []
        for _ in range(_MOST_INVALID):
            points = self.sampler.ask(count)
            if not isinstance(points, Iterable):
                raise RequestError(f"ask() of the sampler: expected a list of points, got {show(points)}")
            points = list(points)
            for given in points:
                params = dict(given)
                try:
                    point, config = self.bound.configure(params)
                except InvalidPoint as error:
                    trial = Trial(-1, params, Config())
                    trial.state, trial.failure, trial.error = "failed", "Invalid", str(error)
                    self.sampler.tell(trial)
                else:
                    found.append((point, config, None))
            if found or not points:
                return found
        raise RequestError(f"none of {_MOST_INVALID} proposals is valid")

    def tell(self, trial: Trial, duplicate_of: Optional[Trial]) -> None:
        self.sampler.tell(trial)

    def remember(self, trial: Trial) -> None:
        self.sampler.tell(trial)


class _Optuna(_Proposer):
    """An Optuna study."""

    def __init__(self, bound: BoundSpace, sampler: Any, seed: int) -> None:
        super().__init__(bound)
        self.optuna = need("optuna", "optuna")
        directions = [direction for _, direction in bound.objectives]
        if isinstance(sampler, self.optuna.study.Study):
            self.study = sampler
            theirs = [d.name.lower() for d in sampler.directions]
            if theirs != directions:
                raise RequestError(f"the Optuna study has the directions {theirs}, the space {directions}")
        else:
            self.study = self.optuna.create_study(directions=directions, sampler=sampler)
        self.is_single = len(directions) == 1
        self.space = self._distributions()

    def _distributions(self) -> dict[str, Any]:
        d = self.optuna.distributions
        space = {}
        for p in self.bound.parameters:
            name = p["name"]
            if p["kind"] == "int" and "low" in p:
                space[name] = d.IntDistribution(p["low"], p["high"], step=p["step"])
            elif p["kind"] == "real":
                space[name] = d.FloatDistribution(p["low"], p["high"], log=p["log"])
            elif p["kind"] == "pipeline":
                for decision in p["decisions"]:
                    last = decision["count"] - 1
                    space[decision["name"]] = (
                        d.IntDistribution(0, last) if decision["ordered"] else d.CategoricalDistribution(range(last + 1))
                    )
            else:
                space[name] = d.CategoricalDistribution(p["values"])
        return space

    def ask(self, count: int) -> list[tuple[Params, Config, Any]]:
        found: list[tuple[Params, Config, Any]] = []
        for _ in range(_MOST_INVALID):
            trial = self.study.ask(self.space)
            try:
                params, config = self.bound.configure(trial.params)
            except InvalidPoint as error:
                trial.set_user_attr("mneme.error", str(error))
                self.study.tell(trial, state=self.optuna.trial.TrialState.PRUNED)
                continue
            except BaseException:
                self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
                raise
            found.append((params, config, trial))
            if len(found) == count:
                return found
        if found:
            return found
        raise RequestError(f"none of {_MOST_INVALID} points of the Optuna study is valid")

    def tell(self, trial: Trial, duplicate_of: Optional[Trial]) -> None:
        state = self.optuna.trial.TrialState
        token = trial.token
        token.set_user_attr("mneme.config", trial.config.to_dict())
        if trial.failure:
            token.set_user_attr("mneme.failure", trial.failure)
            token.set_user_attr("mneme.error", trial.error[:1000])
            # Never a number: a failure is not a slow launch.
            self.study.tell(token, state=state.FAIL)
        elif trial.state == "pruned" and self.is_single:
            token.report(trial.values[0], 0)  # type: ignore[index]
            self.study.tell(token, state=state.PRUNED)
        else:
            self.study.tell(token, trial.values)


def _make_proposer(
    sampler: Any, space: Space, instance: Instance, server: Server, seed: int
) -> _Proposer:
    if isinstance(sampler, str):
        if sampler not in SAMPLERS or sampler in ("external", "file"):
            names = [n for n in SAMPLERS if n not in ("external", "file")]
            raise RequestError(f"unknown sampler {sampler!r}{nearest(sampler, names)}; there are: {', '.join(names)}")
        return _BuiltIn(BoundSpace(space, instance, server, sampler, seed))
    bound = space.bind(instance, server)
    # Optuna is not imported unless its objects are used.
    if any(kind.__module__.partition(".")[0] == "optuna" for kind in type(sampler).__mro__):
        return _Optuna(bound, sampler, seed)
    if not hasattr(sampler, "ask") or not hasattr(sampler, "tell"):
        raise RequestError(f"expected a sampler's name or an object with ask and tell, got {show(sampler)}")
    return _Given(bound, sampler)


class Study:
    """The trials of a search and what was found."""

    def __init__(self, instance: Instance, objectives: Sequence[tuple[str, str]], sampler: str) -> None:
        self.instance = instance
        self.objectives = list(objectives)
        self.sampler = sampler
        self.trials: list[Trial] = []
        self.baseline: Optional[Result] = None
        self.end = "running"  # then "trials", "budget", "exhausted", "interrupted"
        self.seconds = 0.0
        self.candidates: list[Trial] = []  # those of the re-test, best first
        self.retest: Optional[Comparison] = None  # of the recorded configuration and the candidates
        self.confirmation: Optional[Comparison] = None  # of the winner alone, with fresh measurements
        self.winner: Optional[Trial] = None  # significantly faster than the recorded configuration

    def _key(self, trial: Trial) -> float:
        value = trial.values[0]  # type: ignore[index]
        return value if self.objectives[0][1] == "minimize" else -value

    @property
    def completed(self) -> list[Trial]:
        """Verified and completely measured trials."""
        return [t for t in self.trials if t.state == "complete"]

    @property
    def best(self) -> Trial:
        """The best trial by the first objective, or the winner of the re-test."""
        if self.winner is not None:
            return self.winner
        completed = self.completed
        if not completed:
            raise RequestError("no trial has verified")
        return min(completed, key=self._key)

    @property
    def best_config(self) -> Config:
        return self.best.config

    @property
    def best_params(self) -> Params:
        return self.best.params

    @property
    def pareto(self) -> list[Trial]:
        """The trials that no other trial dominates."""
        signs = [1 if d == "minimize" else -1 for _, d in self.objectives]
        points = [([s * v for s, v in zip(signs, t.values)], t) for t in self.completed]  # type: ignore[arg-type]
        points.sort(key=lambda p: p[0])
        front: list[tuple[list[float], Trial]] = []
        for values, trial in points:
            if not any(all(a <= b for a, b in zip(other, values)) for other, _ in front):
                front.append((values, trial))
        return [trial for _, trial in front]

    @property
    def failures(self) -> dict[str, int]:
        """The number of failed trials by kind."""
        counts: dict[str, int] = {}
        for trial in self.trials:
            if trial.failure:
                counts[trial.failure] = counts.get(trial.failure, 0) + 1
        return counts

    @property
    def speedup(self) -> Optional[tuple[float, float, float]]:
        """The winner's speed-up over the recorded configuration and its 95 % confidence interval."""
        if self.confirmation is not None:
            return self.confirmation.speedups[1]
        if self.retest is not None:
            return max(self.retest.speedups[1:], key=lambda s: s[1])
        return None

    def to_pandas(self) -> Any:
        """Returns the trials as a pandas DataFrame."""
        pandas = need("pandas", "pandas")
        return pandas.DataFrame(
            [
                {
                    "number": t.number,
                    "state": t.state,
                    "failure": t.failure,
                    **{m: v for (m, _), v in zip(self.objectives, t.values or [])},
                    **{f"params.{k}": v for k, v in t.params.items()},
                }
                for t in self.trials
            ]
        )

    def plot_convergence(self, **options: Any) -> Any:
        """See :func:`llvm_mneme.plots.convergence`."""
        from . import plots

        return plots.convergence(self, **options)

    def __repr__(self) -> str:
        from .result import _nanoseconds

        text = f"<Study of {self.instance.kernel.name}: {len(self.trials)} trials"
        if self.failures:
            text += f", {sum(self.failures.values())} failed"
        if self.completed:
            value = self.best.value
            is_time = self.objectives[0][0] == "time"
            text += f", best {self.objectives[0][0]} {_nanoseconds(value) if is_time else '%g' % (value or 0)}"
        if self.winner and self.speedup:
            text += ", speed-up " + describe_speedup(self.speedup)
        elif self.retest:
            text += ", nothing significantly faster than recorded"
        return text + f"; ended: {self.end}>"

    def _repr_html_(self) -> str:
        from ._html import table

        rows: list[list[object]] = [
            ["kernel", self.instance.kernel.name],
            ["trials", f"{len(self.trials)}, sampler {self.sampler}, {self.seconds:.1f} s, ended: {self.end}"],
            ["failed", ", ".join(f"{n} {k}" for k, n in sorted(self.failures.items())) or "none"],
        ]
        if self.completed:
            rows.append(["best", repr(self.best)[1:-1]])
        if self.speedup:
            what = "winner" if self.winner else "no significant winner"
            rows.append(["re-test", f"{what}: speed-up {describe_speedup(self.speedup)}"])
        return table(["", ""], rows)


class _Journal:
    """Trials as lines of JSON, so that a killed search loses no finished trial."""

    def __init__(self, path: Union[str, os.PathLike[str]], identity: dict[str, Any]) -> None:
        self.path = check_path(path)
        self.trials: list[dict[str, Any]] = []
        self.lines: list[int] = []  # of trials, from 1
        self._whole: Optional[int] = None  # bytes in front of an incomplete line; a refused search keeps it
        identity = {"mneme_study": 2, **identity}
        with opening("use the journal", self.path):
            exists = os.path.exists(self.path) and os.path.getsize(self.path) > 0
            if exists:
                self._read(identity)
            self._file = open(self.path, "a")
            if not exists:
                self._write(identity)

    def _read(self, identity: dict[str, Any]) -> None:
        with open(self.path, "rb") as file:
            lines = file.read().split(b"\n")
        torn = lines.pop()  # after a crash, the last line may be incomplete
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise self.damaged(number, str(error)) from None
            if number == 1:
                self._check(entry, json.loads(json.dumps(identity)))
                continue
            self.trials.append(entry)
            self.lines.append(number)
        if not lines:
            raise self.damaged(1, "it has no newline")
        if torn:
            self._whole = sum(len(line) + 1 for line in lines)

    def damaged(self, line: int, why: str) -> RequestError:
        return RequestError(f"{self.path}:{line}: damaged journal: {why}: name another file, or remove it")

    def _check(self, found: Any, identity: dict[str, Any]) -> None:
        """Raises an error unless the first line describes this search."""
        if not isinstance(found, dict) or "mneme_study" not in found:
            raise self.damaged(1, "expected the description of a search")
        other = [key.replace("_", " ") for key in identity if found.get(key) != identity[key]]
        if other:
            raise RequestError(
                f"{self.path!r} is the journal of another search, which differs in: {', '.join(other)}: "
                "name another file, or remove it"
            )

    def read_trials(
        self, objectives: Sequence[tuple[str, str]], make: Optional[Callable[[Params], Config]]
    ) -> Iterator[Trial]:
        """Returns the trials of the earlier run. Raises an error if ``make`` makes another configuration of one."""
        for number, (line, entry) in enumerate(zip(self.lines, self.trials)):
            try:
                found = entry["number"]
                params, config = entry["params"], Config(entry["config"])
                state, values = entry["state"], entry["values"]
                failure, error = entry["failure"], entry["error"]
            except (KeyError, TypeError, MnemeError) as problem:
                raise self.damaged(line, f"expected a trial: {type(problem).__name__}: {problem}") from None
            numbers = values if isinstance(values, list) else []
            if (
                not isinstance(params, dict)
                or not isinstance(failure, str)
                or not isinstance(error, str)
                or state not in ("complete", "pruned", "failed")
                or (values is not None) != (state != "failed")
                or len(numbers) != (0 if values is None else len(objectives))
                or not all(type(v) in (int, float) and abs(v) < 1e300 for v in numbers)
            ):
                raise self.damaged(line, "expected a trial")
            if type(found) is not int or found != number:
                raise self.damaged(line, f"expected trial {number}, got {show(found)}")
            for (metric, _), value in zip(objectives, numbers):
                if metric == "time" and value <= 0:
                    raise self.damaged(line, f"expected a time above 0, got {value!r}")
            try:
                expected = make(params) if make else config
            except Exception as problem:  # of the user's functions
                raise self._differs(line, f"{type(problem).__name__}: {problem}") from None
            if expected != config:
                raise self._differs(line, f"{expected!r} instead of {config!r}")
            trial = Trial(-1, params, config)
            trial.state, trial.values, trial.failure, trial.error = state, values, failure, error
            yield trial

    def _differs(self, line: int, why: str) -> RequestError:
        return RequestError(
            f"{self.path}:{line}: the space makes another configuration of these parameters: {why}: "
            "name another file, or remove it"
        )

    def _write(self, entry: dict[str, Any]) -> None:
        with opening("write", self.path):
            if self._whole is not None:
                self._file.truncate(self._whole)
                self._whole = None
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()

    def add(self, trial: Trial) -> None:
        self._write(trial.to_dict())

    def close(self) -> None:
        self._file.close()


class _Interrupts:
    """Notes the first interrupt (Ctrl-C) instead of raising it, which could be in the middle of taking a result.

    The second one raises. Other handlers than Python's own stay.
    """

    def __init__(self) -> None:
        self.came = False
        self._is_set = False

    def __enter__(self) -> _Interrupts:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._is_set = True
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True

    def __exit__(self, *_: object) -> None:
        if self._is_set:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class _Search:
    """One call of :func:`tune`."""

    def __init__(
        self,
        executor: BaseExecutor,
        instance: Instance,
        proposer: _Proposer,
        study: Study,
        trials: Optional[int],
        budget: Optional[float],
        final: int,
        use_app: bool,
        callbacks: Sequence[Callable[[Study, Trial], None]],
        journal: Optional[_Journal],
    ) -> None:
        self.executor = executor
        self.instance = instance
        self.proposer = proposer
        self.study = study
        self.limit = trials
        self.budget = budget
        self.final = final
        self.use_app = use_app
        self.callbacks = callbacks
        self.journal = journal
        self.objectives = study.objectives
        self.running: dict[EvaluationFuture, Trial] = {}
        self.ahead: list[Trial] = []
        self.done: SimpleQueue[Any] = SimpleQueue()  # of futures
        self.by_request: dict[int, Trial] = {}
        self.began = 0.0
        self.resumed = 0  # trials of an earlier run
        self.times: list[float] = []  # of the best trials, as many as the re-test takes
        # The recorded configuration's nanoseconds by device. Times are scaled to the first device.
        self.baselines: dict[str, float] = {}
        self.baseline_futures: dict[EvaluationFuture, str] = {}
        self.unscaled: dict[str, list[tuple[Trial, Result]]] = {}

    def resume(self) -> None:
        """Takes the trials of an earlier run."""
        if not self.journal:
            return
        space = self.proposer.bound.space
        # The definition of a study makes its configurations, and is part of the journal's description.
        make = None if space.is_study else space.config_of
        for trial in self.journal.read_trials(self.objectives, make):
            trial.number = len(self.study.trials)
            self.study.trials.append(trial)
            self.proposer.remember(trial)
            self._race(trial)

    def measure_baseline(self) -> None:
        """Measures the recorded configuration, or the application's code. Without it, no search makes sense."""
        result = self.executor.submit(instance=self.instance, fresh=True, use_app=self.use_app).result()
        if not result.verified:
            raise RequestError(
                f"the recorded configuration does not verify, so no other can be judged: {result.failure}: {result.error}"
            )
        self.study.baseline = result
        self.baselines[result.device] = result.time or 0

    def run(self) -> None:
        began = time.monotonic()
        try:
            self.resume()
            self.resumed = len(self.study.trials)
            self.measure_baseline()
            self.began = time.monotonic()
            with _Interrupts() as interrupts:
                self._loop(began, interrupts)
        except KeyboardInterrupt:
            self.study.end = "interrupted"
        finally:
            if self.study.end == "interrupted":
                self.executor._cancel(list(self.running))
                self._take(0)
            # Proposals that were never evaluated must not stay open in an Optuna study.
            for trial in [*self.running.values(), *self.ahead]:
                trial.state, trial.failure = "failed", "Cancelled"
                self.proposer.tell(trial, None)
            self.study.seconds = time.monotonic() - began

    def _loop(self, began: float, interrupts: _Interrupts) -> None:
        while not interrupts.came:
            reason = self._reason(began)
            if reason or not self._start():
                self.study.end = reason or "exhausted"
                if not reason and not self.study.trials:
                    raise RequestError("no point of the space satisfies its constraint")
                break
            self._take(_WAIT_SECONDS)
        if self.study.end == "budget":
            self.executor._cancel(list(self.running))
        while (self.running or self.baseline_futures) and not interrupts.came:
            self._take(_WAIT_SECONDS)
        if interrupts.came:
            self.study.end = "interrupted"

    def _reason(self, began: float) -> str:
        count = len(self.study.trials) + len(self.running)
        if self.limit is not None and count >= self.limit and not self.ahead:
            return "trials"
        if self.budget is not None and time.monotonic() - began >= self.budget:
            return "budget"
        return ""

    def _start(self) -> bool:
        """Starts trials while there is room. Returns False if no point is left."""
        capacity = max(1, self.executor.capacity)
        ended = len(self.study.trials) - self.resumed
        if ended:
            seconds = max(1e-6, (time.monotonic() - self.began) / ended)
            capacity += min(_MOST_AHEAD * capacity, int(_AHEAD_SECONDS / seconds))
        # Samplers are slow: ask for several points at once.
        if len(self.running) + max(1, capacity // 4) > capacity:
            return True
        if not self.ahead:
            count = len(self.study.trials) + len(self.running)
            wanted = max(capacity - len(self.running), count // _AHEAD_DIVISOR)
            if self.limit is not None:
                wanted = min(wanted, self.limit - count)
            if wanted <= 0:
                return bool(self.running)
            for params, config, token in self.proposer.ask(wanted):
                self.ahead.append(Trial(-1, params, config, token))
            if not self.ahead:
                return bool(self.running)
        while self.ahead and len(self.running) < capacity:
            trial = self.ahead.pop(0)
            trial.started = time.time()
            future = self.executor.submit(trial.config, instance=self.instance, stop_above=self._limits())
            self.running[future] = trial
            future.add_done_callback(lambda ended: self.done.put(ended))
        return True

    def _take(self, seconds: float) -> None:
        """Takes finished trials; waits for one."""
        try:
            future = self.done.get(timeout=seconds) if seconds else self.done.get_nowait()
            while True:
                self._end(future)
                future = self.done.get_nowait()
        except Empty:
            pass

    def _end(self, future: EvaluationFuture) -> None:
        if future in self.baseline_futures:
            self._end_baseline(future)
            return
        trial = self.running.pop(future, None)
        if trial is None:
            return
        if future.cancelled():
            trial.state, trial.failure = "failed", "Cancelled"
            self.proposer.tell(trial, None)
            return
        try:
            result = future.result()
        except MnemeError:
            self.running[future] = trial  # told as cancelled
            raise
        device = result.device
        if result.verified and device and device not in self.baselines and result.time:
            self.running[future] = trial
            self._measure_baseline_on(device, trial, result)
            return
        self._end_trial(trial, result)

    def _measure_baseline_on(self, device: str, trial: Trial, result: Result) -> None:
        """Measures the recorded configuration on another device; its trials wait."""
        if device not in self.unscaled:
            self.unscaled[device] = []
            future = self.executor.submit(
                instance=self.instance, fresh=True, use_app=self.use_app, on_device=device
            )
            self.baseline_futures[future] = device
            future.add_done_callback(lambda ended: self.done.put(ended))
        self.unscaled[device].append((trial, result))

    def _end_baseline(self, future: EvaluationFuture) -> None:
        device = self.baseline_futures.pop(future)
        result = None if future.cancelled() or future.exception() else future.result()
        # If the device is gone, the times of its trials are taken as they are.
        self.baselines[device] = (result.time if result is not None and result.verified else None) or 0
        for trial, waiting in self.unscaled.pop(device):
            self.running = {f: t for f, t in self.running.items() if t is not trial}
            self._end_trial(trial, waiting)

    def _end_trial(self, trial: Trial, result: Result) -> None:
        trial.number = len(self.study.trials)
        trial.result = result
        self.by_request[result.number] = trial
        values = [result.metrics.get(metric) for metric, _ in self.objectives]
        first = next(iter(self.baselines.values()), 0)
        here = self.baselines.get(result.device, 0)
        if first and here and first != here:
            values = [
                v * first / here if metric == "time" and v is not None else v
                for v, (metric, _) in zip(values, self.objectives)
            ]
        if not result.verified:
            trial.state, trial.failure, trial.error = "failed", result.failure, result.error
        elif any(v is None or not math.isfinite(v) for v in values):
            missing = [m for (m, _), v in zip(self.objectives, values) if v is None]
            trial.state, trial.failure = "failed", "Unsupported"
            trial.error = f"the objective {missing[0]!r} was not measured; see resources=True" if missing else ""
        else:
            trial.values = values  # type: ignore[assignment]
            trial.state = "pruned" if result.stopped else "complete"
        duplicate = result.duplicate_of
        original = self.by_request.get(duplicate) if duplicate is not None else None
        self.study.trials.append(trial)
        if self.journal:
            self.journal.add(trial)
        self.proposer.tell(trial, original)
        self._race(trial)
        for callback in self.callbacks:
            callback(self.study, trial)

    def _race(self, trial: Trial) -> None:
        if self.objectives != [("time", "minimize")] or trial.state != "complete":
            return
        limit = trial.values[0]  # type: ignore[index]
        samples = sorted(trial.result.samples) if trial.result else []
        if samples:
            # The end of the median's 95 % interval.
            high = samples[min(len(samples) - 1, int(len(samples) / 2 + 0.98 * math.sqrt(len(samples))))]
            limit *= high / samples[len(samples) // 2]
        self.times = sorted([*self.times, limit])[: max(1, self.final)]

    def _limits(self) -> Union[float, dict[str, float]]:
        """Returns the times above which measuring stops, by device: the trial cannot reach the re-test, as it is slower
        than the recorded configuration, or than as many other trials as the re-test takes."""
        first = next(iter(self.baselines.values()), 0)
        if not self.times or not first:
            return 0
        limit = min(first, self.times[-1]) if len(self.times) >= self.final else first
        return {device: _RACE_FACTOR * limit * time / first for device, time in self.baselines.items() if time}

    def test(self, pairs: int, min_effect: float) -> None:
        """Measures the best trials and the recorded configuration alternately."""
        study = self.study
        if not self.final or self.objectives != [("time", "minimize")]:
            return
        codes: set[str] = set()
        chosen: list[Trial] = []
        baseline = study.baseline.code_hash if study.baseline else ""
        for trial in sorted(study.completed, key=study._key):
            code = trial.result.code_hash if trial.result else str(trial.number)
            launch = {k: v for k, v in trial.config.items() if k.split(".")[0] in ("block", "grid", "shared_mem")}
            same = f"{code} {sorted(launch.items())}"
            if same in codes or (code == baseline and not launch):
                continue
            codes.add(same)
            chosen.append(trial)
            if len(chosen) == self.final:
                break
        if not chosen:
            return
        study.candidates = chosen
        configs = [Config(), *(t.config for t in chosen)]
        study.retest = self.executor.compare(*configs, pairs=pairs, instance=self.instance, use_app=self.use_app)
        best = max(range(1, len(configs)), key=lambda i: study.retest.speedups[i][1])  # type: ignore[union-attr]
        if study.retest.speedups[best][1] < 1 + min_effect:
            return
        # The best of several is better than it is: only a fresh measurement is unbiased.
        study.confirmation = self.executor.compare(
            Config(), configs[best], pairs=2 * pairs, instance=self.instance, use_app=self.use_app
        )
        if study.confirmation.speedups[1][1] >= 1 + min_effect:
            study.winner = chosen[best - 1]


def tune(
    space: Space,
    on: Union[BaseExecutor, Instances],
    *,
    sampler: Union[str, Sampler, Any] = "lfbo",
    trials: Optional[int] = None,
    budget: Optional[float] = None,
    seed: int = 0,
    instance: Union[None, str, Instance] = None,
    retest: int = 5,
    pairs: int = 30,
    min_effect: float = 0.005,
    use_app: bool = False,
    allow_vacuous: bool = False,
    journal: Union[None, str, os.PathLike[str]] = None,
    callbacks: Iterable[Callable[[Study, Trial], None]] = (),
    progress: Optional[bool] = None,
    **options: Any,
) -> Study:
    """Searches a space for the best configuration of a launch.

    An interrupt (Ctrl-C) ends the search and returns what was found.

    :param on: an executor, or what an executor takes; then ``options`` are those of :class:`Executor`
    :param sampler: a sampler of the tools (``"lfbo"``, ``"tpe"``, ``"nsga2"``, ...), an Optuna sampler or study, or any
        object with ``ask`` and ``tell`` (:class:`Sampler`)
    :param trials: number of trials; default: 200 without a budget
    :param budget: seconds of the search
    :param seed: of a sampler of the tools
    :param instance: the launch; default: the first
    :param retest: number of best trials that are measured again, alternately with the recorded configuration; 0: none
    :param pairs: measurements of each in the re-test, at least 6
    :param min_effect: smallest speed-up of a winner, as a fraction
    :param use_app: the baseline is the application's machine code
    :param allow_vacuous: also search if verification would accept a kernel that does nothing
    :param journal: a file for finished trials; if it exists, the search is continued
    :param callbacks: called with the study and each trial that has ended
    :param progress: a progress bar (tqdm, if installed); default: in terminals and notebooks
    """
    if not isinstance(on, BaseExecutor):
        with Executor(on, **options) as executor:
            return tune(
                space, executor, sampler=sampler, trials=trials, budget=budget, seed=seed, instance=instance,
                retest=retest, pairs=pairs, min_effect=min_effect, use_app=use_app, allow_vacuous=allow_vacuous,
                journal=journal, callbacks=callbacks, progress=progress,
            )  # fmt: skip
    if options:
        raise RequestError(f"unknown option {next(iter(options))!r}")
    if not isinstance(space, Space):
        raise RequestError(f"expected a Space, got {show(space)}")
    counts = (("trials", trials, 1), ("seed", seed, 0), ("retest", retest, 0))
    # Fewer pairs make no speed-up significant.
    for name, number, least in (*counts, ("pairs", pairs, LEAST_PAIRS if retest else 1)):
        if number is not None:
            check_count(name, number, least)
    if budget is not None and check_seconds("budget", budget) <= 0:
        raise RequestError(f"budget: expected a positive number of seconds, got {show(budget)}")
    if trials is None and budget is None:
        trials = 200
    launch = on.instance(instance)
    if not allow_vacuous and on.powers.get(launch.record_id, {}).get("vacuous"):
        raise RequestError(
            f"launch {launch.record_id}: verification is vacuous: an empty kernel would match; tune another launch, or "
            f"allow this one with allow_vacuous=True"
        )
    proposer = _make_proposer(sampler, space, launch, launch.kernel._reader(), seed)
    name = sampler if isinstance(sampler, str) else type(sampler).__name__
    study = Study(launch, proposer.bound.objectives, name)
    log = _Journal(journal, _identify(on, launch, space, use_app)) if journal is not None else None
    bar = _Progress(study, trials, progress)
    search = _Search(
        on, launch, proposer, study, trials, budget, retest, use_app, [*callbacks, bar.update], log
    )
    try:
        search.run()
        bar.close()
        if study.end != "interrupted" and study.completed:
            try:
                search.test(pairs, min_effect)
            except KeyboardInterrupt:
                study.end = "interrupted"
    finally:
        bar.close()
        proposer.bound.close()
        if log:
            log.close()
    return study


def _identify(executor: BaseExecutor, instance: Instance, space: Space, use_app: bool) -> dict[str, Any]:
    """Returns what the values of trials depend on."""
    # How many processes work does not matter.
    words = [w for w in executor._options if not w.startswith(("--workers=", "--compile-jobs="))]
    controls = _digest_controls(words, space)
    return {
        **({"ptxas_controls": controls} if controls else {}),
        "static_hash": instance.kernel.static_hash,
        "record_id": instance.record_id,
        "space": space.define(),
        "options": words,
        "devices": sorted({str(d.get("name") or d.get("device")) for d in executor.devices}),
        "use_app": use_app,
    }


def _digest_controls(words: Sequence[str], space: Space) -> dict[str, str]:
    """Returns the digests of the controls files of ptxas that are named: a search is not continued with other ones."""
    from hashlib import sha256
    from pathlib import Path

    definition = space.define()
    texts = [w.partition("=")[2] for w in words if w.startswith("--ptxas-controls=")]
    texts += [o["text"] for o in definition.get("options", []) if o["name"] == "ptxas-controls"]
    names = [part.strip() for text in texts for part in text.split("|")]
    for parameter in definition.get("parameters", []):
        if parameter["name"] == "ptxas_controls":
            names += map(str, parameter.get("values", []))
    digests = {}
    for name in names:
        path = Path(name)
        for file in sorted(path.glob("*.acf")) if path.is_dir() else [path]:
            if name and not name.startswith("hex:") and file.is_file():
                digests[str(file)] = sha256(file.read_bytes()).hexdigest()
    return digests


class _Progress:
    """A progress bar of tqdm, if there is one."""

    def __init__(self, study: Study, total: Optional[int], wanted: Optional[bool]) -> None:
        self.bar: Any = None
        if wanted is False:
            return
        if wanted is None and not _is_shown():
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if wanted:
                need("tqdm", "tqdm")
            return
        self.bar = tqdm(total=total, unit="trial", desc=study.instance.kernel.name[:32])

    def update(self, study: Study, trial: Trial) -> None:
        if self.bar is None:
            return
        from .result import _nanoseconds

        if trial.state == "complete" and study.objectives[0][0] == "time":
            best = min(t.values[0] for t in study.completed if t.values)
            self.bar.set_postfix_str(f"best {_nanoseconds(best)}", refresh=False)
        self.bar.update()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def _is_shown() -> bool:
    """Returns whether a person watches: in a terminal or a notebook."""
    import sys

    if "ipykernel" in sys.modules:
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False
