# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools as functions: bisection, reduction and the assessment of verification."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from .config import Config
from .errors import MnemeError, RequestError, check_path, check_words
from .executor import Instances, collect_instances
from .recording import Instance
from .result import Result
from .suite import find_suite

_OF_SERVERS = ("--workers", "--compile-jobs", "--resources")


class Report(dict[str, Any]):
    """The JSON that a tool prints (docs/schemas)."""

    exit_code = 0

    def _rows(self) -> list[list[object]]:
        """What a summary shows."""
        return [[k, v] for k, v in self.items() if not isinstance(v, (dict, list))]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<15} {value}" for name, value in self._rows())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from ._html import table

        return table(["", ""], self._rows())


class Bisection(Report):
    """What :func:`bisect` found. Printed, it is a summary; as a mapping, the JSON of the tool."""

    @property
    def culprits(self) -> list[dict[str, Any]]:
        """The pass executions that are responsible, the cause first: ``number``, ``pass``, ``unit``, ``spec``, ..."""
        return list(self["passes"]["culprits"])

    @property
    def diff(self) -> str:
        """The part of the culprit's change that makes the difference, else all that it changed; empty if unknown."""
        changes = [self["passes"].get("change") or {}, *self["passes"]["evidence"]]
        return next((c["diff"] for c in changes if c.get("diff")), "")

    @property
    def commands(self) -> dict[str, str]:
        """Command lines that reproduce it, by name."""
        return {c["name"]: c["command"] for c in self["commands"]}

    def _rows(self) -> list[list[object]]:
        rows: list[list[object]] = [["kernel", f"{self['kernel']}, launch {self['record_id']}"]]
        for side in ("good", "bad"):
            result = self[side]["result"]
            text = ": ".join(t for t in (result["answer"], result["failure"], result["error"].split("\n")[0]) if t)
            rows.append([f"{side} side", text])
        rows.append(["found", self["found"].replace("_", " ") + (f": {self['reason']}" if self["reason"] else "")])
        for culprit in self.culprits:
            role = ", exploits it" if culprit["exploiter"] else ""
            rows.append(["culprit", f"{culprit['number']} {culprit['pass']} on {culprit['unit'] or '?'}{role}"])
        for setting in self["settings"]["responsible"]:
            rows.append(["setting", f"{setting['key']}: good {setting['good']!r}, bad {setting['bad']!r}"])
        for number, line in enumerate(self.diff.splitlines()):
            rows.append(["" if number else "diff", line])
        rows += [[f"command {name}", command] for name, command in self.commands.items()]
        return rows


def run_tool(name: str, *arguments: str, timeout: Optional[float] = None, kind: type[Report] = Report) -> Any:
    """Runs a tool of the suite that prints JSON: ``run_tool("replay", "compare", ...)``.

    Raises :class:`RequestError` with its message if it ends with exit code 1.
    """
    command = [find_suite().tool(name), *map(str, arguments)]
    check_words(command)
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException:
        # An interrupt is Python's; the tool ends its own processes.
        process.terminate()
        try:
            process.communicate(timeout=10)
        except BaseException:
            process.kill()
            process.communicate()
        raise
    check_exit(command, process.returncode, err)
    try:
        value = json.loads(out)
    except ValueError:
        raise MnemeError(f"{name} {' '.join(map(str, arguments[:1]))} printed no JSON") from None
    report = kind(value if isinstance(value, dict) else {"items": value})
    report.exit_code = process.returncode
    return report


def check_exit(command: Sequence[str], code: int, err: bytes) -> None:
    """Raises an error with a tool's message, unless its exit code says that it has an answer."""
    if code not in (0, 2, 3):
        text = err.decode(errors="replace")
        _, found, message = text.partition("error: ")
        raise RequestError((message if found else text).strip() or f"{command[0]} ended with {code}")


Launches = Union[Instances, Result]


def _choose(where: Instances) -> Instance:
    """Returns the launch, or the first one of a kernel."""
    found = collect_instances(where)
    kernels = {i.kernel.path: i.kernel.name for i in found}
    if len(kernels) > 1:
        raise RequestError(f"expected one kernel, got {len(kernels)}: {', '.join(kernels.values())}")
    return found[0]


def _replay(
    command: str,
    where: Launches,
    config: Optional[Mapping[str, object]],
    good: Optional[Mapping[str, object]],
    criterion: Optional[str],
    threshold: Optional[str],
    output: Union[None, str, os.PathLike[str]],
    device: Optional[str],
    options: Sequence[str],
    timeout: Optional[float],
    kind: type[Report] = Report,
) -> Any:
    settings: list[str] = []  # of a result's executor
    if isinstance(where, Result):
        if config is not None:
            raise RequestError("a result has a configuration: leave out the other one")
        config, instance = where.config, where.instance
        # Not those that only a server has.
        settings = [w for w in where._options if w.partition("=")[0] not in _OF_SERVERS]
    else:
        instance = _choose(where)
    if device is not None or not any(w.startswith("--device=") for w in settings):
        settings = [w for w in settings if not w.startswith("--device=")]
        settings.append(f"--device={device or 'auto'}")
    settings += [w for w in options if w not in settings]
    words = [command, instance.kernel.path, f"--record-id={instance.record_id}", "--format=json"]
    words += Config(config).options()
    if good is not None:
        import shlex

        words.append(f"--good={shlex.join(Config(good).options())}")
    if criterion is not None:
        words.append(f"--criterion={criterion}")
    if threshold is not None:
        words.append(f"--threshold={threshold}")
    if output is not None:
        words.append(f"--output={check_path(output)}")
    return run_tool("replay", *words, *settings, timeout=timeout, kind=kind)


def bisect(
    instance: Launches,
    config: Optional[Mapping[str, object]] = None,
    *,
    good: Optional[Mapping[str, object]] = None,
    criterion: str = "verify",
    threshold: Optional[str] = None,
    output: Union[None, str, os.PathLike[str]] = None,
    device: Optional[str] = None,
    options: Sequence[str] = (),
    timeout: Optional[float] = None,
) -> Bisection:
    """Finds the pass executions that make a configuration wrong or slow (``llvm-mneme-replay bisect``).

    :param instance: a launch, a kernel (its first launch), or the result of a failed evaluation, which is bisected on
        the device and with the options of its executor. Close executors that use the same GPU first
    :param device: default: that of the result's executor, or ``"auto"``
    :param options: further options
    """
    return _replay(
        "bisect", instance, config, good, criterion, threshold, output, device, options, timeout, Bisection
    )


def reduce(
    instance: Launches,
    config: Optional[Mapping[str, object]] = None,
    *,
    output: Union[str, os.PathLike[str]],
    good: Optional[Mapping[str, object]] = None,
    criterion: str = "verify",
    threshold: Optional[str] = None,
    device: Optional[str] = None,
    options: Sequence[str] = (),
    timeout: Optional[float] = None,
) -> Report:
    """Shrinks a kernel whose configuration is wrong or slow to a report of a bug (``llvm-mneme-replay reduce``).

    The arguments are those of :func:`bisect`."""
    return _replay("reduce", instance, config, good, criterion, threshold, output, device, options, timeout)


def assess(instance: Instances, *, device: str = "auto", options: Sequence[str] = ()) -> Report:
    """Plants faults and counts those that verification catches (``llvm-mneme-replay assess``)."""
    return _replay("assess", instance, None, None, None, None, None, device, options, None)
