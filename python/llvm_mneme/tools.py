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
from .recording import Instance
from .result import Result
from .suite import find_suite


class Report(dict[str, Any]):
    """The JSON that a tool prints (docs/schemas)."""

    exit_code = 0

    def _repr_html_(self) -> str:
        from ._html import table

        return table(["", ""], [[k, v] for k, v in self.items() if not isinstance(v, (dict, list))])


def run_tool(name: str, *arguments: str, timeout: Optional[float] = None) -> Report:
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
    if process.returncode not in (0, 2, 3):
        text = err.decode(errors="replace")
        _, found, message = text.partition("error: ")
        raise RequestError((message if found else text).strip() or f"{command[0]} ended with {process.returncode}")
    try:
        value = json.loads(out)
    except ValueError:
        raise MnemeError(f"{name} {' '.join(map(str, arguments[:1]))} printed no JSON") from None
    report = Report(value if isinstance(value, dict) else {"items": value})
    report.exit_code = process.returncode
    return report



def _replay(
    command: str,
    instance: Union[Instance, Result],
    config: Optional[Mapping[str, object]],
    good: Optional[Mapping[str, object]],
    criterion: Optional[str],
    threshold: Optional[str],
    output: Union[None, str, os.PathLike[str]],
    device: str,
    options: Sequence[str],
    timeout: Optional[float],
) -> Report:
    if isinstance(instance, Result):
        if config is not None:
            raise RequestError("a result has a configuration: leave out the other one")
        config, instance = instance.config, instance.instance
    words = [command, instance.kernel.path, f"--record-id={instance.record_id}", f"--device={device}", "--format=json"]
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
    return run_tool("replay", *words, *options, timeout=timeout)


def bisect(
    instance: Union[Instance, Result],
    config: Optional[Mapping[str, object]] = None,
    *,
    good: Optional[Mapping[str, object]] = None,
    criterion: str = "verify",
    threshold: Optional[str] = None,
    output: Union[None, str, os.PathLike[str]] = None,
    device: str = "auto",
    options: Sequence[str] = (),
    timeout: Optional[float] = None,
) -> Report:
    """Finds the pass executions that make a configuration wrong or slow (``llvm-mneme-replay bisect``).

    ``instance`` may be the result of a failed evaluation. Close executors that use the same GPU first.
    """
    return _replay("bisect", instance, config, good, criterion, threshold, output, device, options, timeout)


def reduce(
    instance: Union[Instance, Result],
    config: Optional[Mapping[str, object]] = None,
    *,
    output: Union[str, os.PathLike[str]],
    good: Optional[Mapping[str, object]] = None,
    criterion: str = "verify",
    threshold: Optional[str] = None,
    device: str = "auto",
    options: Sequence[str] = (),
    timeout: Optional[float] = None,
) -> Report:
    """Shrinks a kernel whose configuration is wrong or slow to a report of a bug (``llvm-mneme-replay reduce``)."""
    return _replay("reduce", instance, config, good, criterion, threshold, output, device, options, timeout)


def assess(instance: Instance, *, device: str = "auto", options: Sequence[str] = ()) -> Report:
    """Plants faults and counts those that verification catches (``llvm-mneme-replay assess``)."""
    return _replay("assess", instance, None, None, None, None, None, device, options, None)
