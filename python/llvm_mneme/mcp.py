# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server of the Model Context Protocol (MCP), with which agents replay, tune and package recorded kernels.

``python -m llvm_mneme.mcp --read=FOLDER --write=FOLDER`` talks to a client over its standard streams. The command line
sets the limits of all calls (docs/HowTo/UseAnAgent.rst).
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import math
import os
import re
import shlex
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from ._tables import METRICS, SETTINGS, VERSION
from .config import Config
from .errors import MnemeError, RequestError, check_path, check_words, nearest, need, opening, show
from .recording import Instance, Kernel, Recording
from .suite import find_suite
from .tools import check_exit

_MOST_TEXT = 4096  # characters of a text, except for sources
_MOST_ITEMS = 100  # elements of a list of an answer
_MOST_ENTRIES = 100_000  # of a folder that a call names
_MOST_SOURCE = 1 << 20  # characters of a version
_MOST_CONFIG = 1 << 16  # characters of a configuration in JSON
_GRACE = 10.0  # seconds for a tool to end its own processes
_BUDGET_SHARE = 0.8  # of a call's time, for the search of a study; the rest is for its start and end
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Limits(NamedTuple):
    """What the person who starts the server permits. No call can change it."""

    read: Sequence[str]  # folders, without symbolic links
    write: Sequence[str]
    devices: Sequence[str]  # the first is the default
    applications: Mapping[str, Sequence[str]]  # command lines for prove, by name
    call_seconds: float
    total_seconds: float


class _Parameter(NamedTuple):
    type: str  # a type of JSON
    help: str
    least: float = 0  # of numbers
    most: float = _MOST_TEXT  # of numbers, or the number of characters of a text


_PARAMETERS = {
    "recording": _Parameter("string", "folder of a recording, or a kernel's JSON file in it"),
    "kernel": _Parameter("string", "name or static hash; may be left out if the recording has one kernel"),
    "launch": _Parameter("string", "record id; default: the first launch"),
    "config": _Parameter("object", "settings that differ from the recorded ones, by their keys (tool 'settings'): {\"passes\": \"default<O3>\", \"block.x\": 128}. Default: none"),
    "baseline": _Parameter("object", "the configuration to compare with. Default: the recorded one"),
    "good": _Parameter("object", "a configuration that is good. Default: the same without optional passes"),
    "device": _Parameter("string", "one of the devices that the server may use. Default: the first one"),
    "resources": _Parameter("boolean", "on the host device, also compile for the GPU, for registers and spills. Default: false"),
    "counters": _Parameter("string", "'default', 'all', or names separated by commas, of metrics of the tool 'settings'. GPUs only. Default: none"),
    "criterion": _Parameter("string", "verify, time, or another metric. Default: verify"),
    "threshold": _Parameter("string", "smallest difference that counts as bad, such as '5%'; not for verify"),
    "budget": _Parameter("number", "seconds of the study. Default: as much as a call may take, at most 60", 1, 1e9),
    "trials": _Parameter("integer", "limit of configurations. Default: none", 1, 1e9),
    "preset": _Parameter("string", "a preset of llvm-mneme-tune, such as standard or launch. Default: standard"),
    "space": _Parameter("object", "values to search, by keys of settings, in the syntax of llvm-mneme-tune: {\"block.x\": \"64..1024:64\", \"passes\": \"default<{O2|O3}>\"}. Default: the preset"),
    "output": _Parameter("string", "new folder or file, in a folder that may be written"),
    "source": _Parameter("string", "folder of 'llvm-mneme-record source', with kernel.cu"),
    "text": _Parameter("string", "the whole text of the version: kernel.cu with changes between its marker lines. Default: kernel.cu as it is", 0, _MOST_SOURCE),
    "until": _Parameter("string", "last stage: verify, measure, compare or held-out. Default: held-out"),
    "study": _Parameter("string", "best.json of a study"),
    "package": _Parameter("string", "file of the tool 'pack'"),
    "application": _Parameter("string", "one of the applications that the server may run, by name"),
    "ignore_lines": _Parameter("string", "POSIX extended regular expression of output lines that differ between any two runs"),
    "runs": _Parameter("integer", "pairs of runs. Default: 10", 1, 1000),
}

_Handler = Callable[["Session", dict[str, Any]], Awaitable[dict[str, Any]]]


class _Tool(NamedTuple):
    handler: _Handler
    help: str
    required: Sequence[str]
    optional: Sequence[str]
    writes: bool  # files in a folder that may be written

    def runs(self) -> bool:
        """Whether it runs a tool of the suite, which takes time and may need a device."""
        return self.writes or "device" in self.optional

    def runs_application(self) -> bool:
        return "application" in self.required

    def schema(self) -> dict[str, Any]:
        """Returns the JSON schema of the arguments."""
        properties: dict[str, dict[str, Any]] = {}
        for name in (*self.required, *self.optional):
            p = _PARAMETERS[name]
            properties[name] = {"type": p.type, "description": p.help}
            if p.type == "string":
                properties[name]["maxLength"] = int(p.most)
            elif p.type in ("integer", "number"):
                properties[name] |= {"minimum": p.least, "maximum": p.most}
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


TOOLS: dict[str, _Tool] = {}


def _tool(help: str, required: str = "", optional: str = "", writes: bool = False) -> Callable[[_Handler], _Handler]:
    """Adds a method of Session to the table of tools."""

    def add(handler: _Handler) -> _Handler:
        TOOLS[handler.__name__] = _Tool(handler, help, required.split(), optional.split(), writes)
        return handler

    return add


def _check_type(name: str, value: object) -> None:
    """Raises an error for a value that is not of the parameter's type or is out of its range."""
    p = _PARAMETERS[name]
    kinds: dict[str, Any] = {"string": str, "object": dict, "boolean": bool, "integer": int, "number": (int, float)}
    if not isinstance(value, kinds[p.type]) or (isinstance(value, bool) and p.type != "boolean"):
        raise RequestError(f"{name}: expected {'an' if p.type[0] in 'io' else 'a'} {p.type}, got {show(value)}")
    if isinstance(value, str):
        if len(value) > p.most:
            raise RequestError(f"{name}: a text of {len(value)} characters, the limit is {int(p.most)}")
        check_words([value])
    elif isinstance(value, (int, float)) and not p.least <= value <= p.most:
        raise RequestError(f"{name}: {show(value)} is not between {p.least:g} and {p.most:g}")


def check_arguments(tool: _Tool, given: object) -> dict[str, Any]:
    """Returns the arguments of a call; raises an error for those that the tool does not have."""
    arguments = {} if given is None else given
    if not isinstance(arguments, dict):
        raise RequestError(f"expected an object of arguments, got {show(arguments)}")
    known = (*tool.required, *tool.optional)
    for name, value in arguments.items():
        if name not in known:
            raise RequestError(f"unknown argument {show(name)}{nearest(name, known)}")
        _check_type(name, value)
    for name in tool.required:
        if name not in arguments:
            raise RequestError(f"{name} is missing: {_PARAMETERS[name].help}")
    return arguments


def _quantity(value: Any, unit: str, interval: Optional[Sequence[Any]] = None) -> dict[str, Any]:
    answer = {"value": value, "unit": unit}
    if interval is not None and None not in interval:
        answer["interval"] = list(interval)
    return answer


def _metrics(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the known metrics that have a value, with their units."""
    return {n: _quantity(values[n], m.unit or "share") for n, m in METRICS.items() if values.get(n) is not None}


def _speedup(value: Optional[Mapping[str, Any]]) -> Optional[dict[str, Any]]:
    if value is None:
        return None
    return _quantity(value["value"], "times as fast", (value["low"], value["high"]))


def _shorten(items: Sequence[Any]) -> list[Any]:
    return [*items[:_MOST_ITEMS], *([f"{len(items) - _MOST_ITEMS} more"] if len(items) > _MOST_ITEMS else [])]


def _after_replay(verdict: str) -> str:
    """Says what to do after a replay."""
    if verdict.startswith("Match"):
        return "It verifies: 'compare' it with the recorded configuration, or call 'counters' to see what limits it."
    if verdict in ("Mismatch", "Crash", "Timeout", "TooFast"):
        return "It is wrong, and its time means nothing: 'bisect' finds the passes that are responsible."
    return "It was not verified: read 'error' and correct the configuration."


def _describe_judgement(judgement: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer for a judgement of llvm-mneme-evolve."""
    if judgement["suspicions"]:
        hint = "Remove what is suspicious, and call 'evaluate' again."
    elif not judgement["passed"]:
        hint = "Read 'error' and 'diagnostics', correct the version, and call 'evaluate' again."
    elif judgement["speedup"] and judgement["speedup"][1] is not None and judgement["speedup"][1] > 1:
        hint = "It is significantly faster: keep it, and try the next change."
    else:
        hint = "It is correct but not significantly faster: try another change."
    value, low, high = judgement["speedup"] or (None, None, None)
    return {
        **{k: judgement[k] for k in ("passed", "stage", "failure", "suspicions")},
        "error": (judgement["error"] or "")[:_MOST_TEXT],
        "diagnostics": _shorten(judgement["diagnostics"]),
        "speedup": value and _quantity(value, "times as fast", (low, high)),
        "tested": _quantity(judgement["tested_launches"], "launches"),
        "metrics": _metrics(judgement["metrics"]),
        "next": hint,
    }


def _space_options(arguments: Mapping[str, Any]) -> list[str]:
    """Returns llvm-mneme-tune's options for a space."""
    words = [f"--preset={arguments['preset']}"] if "preset" in arguments else []
    # The file of a source, or of controls, would be read when the space is written, before anything is checked.
    files = ("source", "ptxas_controls")
    options = {s.key: s.tune_option for s in SETTINGS.values() if s.tune_option and s.key not in files}
    for key, value in arguments.get("space", {}).items():
        if key not in options:
            raise RequestError(f"space: no setting to search: {show(key)}{nearest(key, options)}")
        if not isinstance(value, str):
            raise RequestError(f"space: {key}: expected a text, got {show(value)}")
        words.append(f"--{options[key]}={value}")
    return words


def _walk(folder: str) -> Iterator[os.DirEntry[str]]:
    """Returns all entries below a folder; follows no symbolic link."""
    waiting, count = [folder], 0
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError as error:
            raise RequestError(f"cannot read {show(folder)}: {error.strerror}") from None
        count += len(entries)
        if count > _MOST_ENTRIES:
            raise RequestError(f"{show(folder)} has more than {_MOST_ENTRIES} entries: name a folder in it")
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            yield entry


def _check_kind(path: str) -> None:
    """Raises an error for a pipe, socket or device: to open it may block the server, and reading it may never end."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return  # whoever opens it reports it
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise RequestError(f"{show(path)} is not a regular file or a folder")


def _find_recordings(root: str) -> list[str]:
    """Returns the folders of recordings below a folder."""
    names = (e for e in _walk(root) if e.name.startswith("RecordedIR_") and e.name.endswith(".bc"))
    return sorted({os.path.dirname(e.path) for e in names})


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends a tool, which ends its own processes, and waits for it, also if the call is cancelled."""
    if process.returncode is None:
        process.terminate()
        waiting = asyncio.ensure_future(process.wait())
        try:
            await asyncio.wait_for(asyncio.shield(waiting), _GRACE)
        except (asyncio.TimeoutError, asyncio.CancelledError):
            process.kill()
            await waiting


class Session:
    """The calls of a client, under limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.used_seconds = 0.0
        self._turn = asyncio.Lock()  # one call at a time has the devices
        self._folder = ""
        self._notes: list[str] = []

    def clean(self) -> None:
        """Removes the folder of the call under way, if there is one."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def call(self, name: str, given: object) -> dict[str, Any]:
        """Carries out a call. Raises MnemeError with one line."""
        tool = TOOLS.get(name)
        if tool is None:
            raise RequestError(f"unknown tool {show(name)}{nearest(name, TOOLS)}")
        arguments = check_arguments(tool, given)
        if not tool.runs():
            return await tool.handler(self, arguments)
        async with self._turn:
            with tempfile.TemporaryDirectory(prefix="mneme-mcp-") as self._folder:
                self._notes = []
                answer = await tool.handler(self, arguments)
        if self._notes:
            answer["notes"] = _shorten(self._notes)
        answer["seconds_left"] = _quantity(round(self._seconds_left(), 1), "s")
        return answer

    # Limits.

    def _resolve(self, path: str, roots: Sequence[str], what: str) -> str:
        """Returns a path without symbolic links; raises an error if it is outside of all folders."""
        real = os.path.realpath(check_path(path))
        if not any(os.path.commonpath([real, root]) == root for root in roots):
            raise RequestError(f"{show(path)} is outside of the folders that may be {what}: {', '.join(roots) or 'none'}")
        return real

    def _readable(self, path: str) -> str:
        """Returns a path that may be read. What it contains may be read, too."""
        roots = (*self.limits.read, *self.limits.write)
        real = self._resolve(path, roots, "read")
        _check_kind(real)
        for entry in _walk(real) if os.path.isdir(real) else ():
            if entry.is_symlink():
                self._resolve(entry.path, roots, "read")
            _check_kind(entry.path)
        return real

    def _writable(self, path: str) -> str:
        return self._resolve(path, self.limits.write, "written")

    def _seconds_left(self) -> float:
        return max(0.0, self.limits.total_seconds - self.used_seconds)

    def _call_seconds(self) -> float:
        left = self._seconds_left()
        if not left:
            raise RequestError(
                f"all {self.limits.total_seconds:g} s of the session are used: who starts the server can raise --total-seconds"
            )
        return min(left, self.limits.call_seconds)

    def _device(self, arguments: Mapping[str, Any]) -> str:
        device = arguments.get("device", self.limits.devices[0])
        if device not in self.limits.devices:
            raise RequestError(f"device {show(device)} may not be used, only {', '.join(self.limits.devices)}")
        return f"--device={device}"

    # Running tools.

    async def _run(self, tool: str, *words: str, text: Optional[str] = None, folder: str = "") -> tuple[int, str, str]:
        """Runs a tool within the limits and returns its exit code, output and messages."""
        command = [find_suite().tool(tool), *words]
        check_words(command)
        seconds = self._call_seconds()
        parent = os.getpid()

        def die_with_parent() -> None:
            # Also when this process is killed, no tool is left.
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)

        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL if text is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder or self._folder,
            preexec_fn=die_with_parent,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(None if text is None else text.encode()), seconds)
        except asyncio.TimeoutError:
            limit = "--total-seconds" if seconds < self.limits.call_seconds else "--call-seconds"
            raise RequestError(f"the call was ended at its limit of {seconds:.3g} s ({limit})") from None
        finally:
            await _end(process)
            self.used_seconds += time.monotonic() - started
        code, messages = process.returncode or 0, err.decode(errors="replace")
        check_exit(command, code, err)
        for note in re.findall(r"^(?:llvm-mneme-\w+: )?(?:warning|note): (.*)", messages, re.MULTILINE):
            if note not in self._notes:
                self._notes.append(note)
        return code, out.decode(errors="replace"), messages

    async def _run_json(self, tool: str, *words: str, **options: Any) -> dict[str, Any]:
        _, out, _ = await self._run(tool, *words, **options)
        try:
            return json.loads(out)
        except ValueError:
            raise MnemeError(f"llvm-mneme-{tool} printed no JSON") from None

    def _recording(self, path: str) -> Recording:
        real = self._readable(path)
        if not os.path.isdir(real):
            self._readable(os.path.dirname(real))  # which has the other files of the kernel
        return Recording(real)

    def _kernel(self, arguments: Mapping[str, Any]) -> Kernel:
        recording = self._recording(arguments["recording"])
        return recording[arguments["kernel"]] if "kernel" in arguments else recording.only()

    def _launch(self, arguments: Mapping[str, Any]) -> Instance:
        kernel = self._kernel(arguments)
        return kernel[arguments["launch"]] if "launch" in arguments else next(iter(kernel.values()))

    def _words(self, arguments: Mapping[str, Any]) -> list[str]:
        """Returns the options that choose the launch and the device."""
        launch = self._launch(arguments)
        return [launch.kernel.path, f"--record-id={launch.record_id}", self._device(arguments), "--format=json"]

    def _config(self, name: str, config: Mapping[str, Any]) -> str:
        """Returns the option for a configuration.

        It goes through a file: the tools refuse settings of files that run programs or access other files.
        """
        data = json.dumps({"config": Config(config).to_dict()})
        if len(data) > _MOST_CONFIG:
            raise RequestError(f"{name}: a configuration of {len(data)} characters, the limit is {_MOST_CONFIG}")
        with open(os.path.join(self._folder, f"{name}.json"), "w", encoding="utf-8") as file:
            file.write(data)
        return f"--config={name}.json"

    async def _replay(self, arguments: Mapping[str, Any], *options: str) -> dict[str, Any]:
        words = [*self._words(arguments), self._config("config", arguments.get("config", {})), *options]
        if arguments.get("resources"):
            words.append("--resources")
        if "counters" in arguments:
            words.append(f"--counters={arguments['counters']}")
        result = (await self._run_json("replay", *words))["Result"]
        measurement = result["measurement"] or {}
        resources = result["resources"] or {}
        values = {**result, **resources, **(result["counters"] or {"values": {}})["values"], "time": measurement.get("median")}
        values["shared_mem_usage"] = resources.get("shared")
        if resources.get("spill_stores") is not None:
            values["spills"] = resources["spill_stores"] + (resources["spill_loads"] or 0)
        if result["occupancy"]:
            values["occupancy"] = result["occupancy"]["percent"] / 100
        answer = {"verdict": result["verdict"], "error": result["error"] or result["reason"], "device": result["device"]}
        answer["metrics"] = _metrics(values)
        if "time" in answer["metrics"]:
            answer["metrics"]["time"]["interval"] = measurement["interval"]
        if result["limits"]:
            answer["limited_by"] = result["limited_by"]
            answer["limits"] = {n: _quantity(v, "ns") for n, v in result["limits"].items() if v}
        return answer

    # The tools.

    @_tool("List the settings of a configuration and the metrics of an answer, with their units")
    async def settings(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {
            "settings": {s.key: {"type": s.type, "help": s.help} for s in SETTINGS.values()},
            "metrics": {m.name: {"unit": m.unit or "share", "better": m.direction, "help": m.help} for m in METRICS.values()},
            "next": "Call 'recordings' to find a kernel. Settings that run programs or access files are refused.",
        }

    @_tool("List the recorded kernels in the folders that may be read, or in one of them", optional="recording")
    async def recordings(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if "recording" in arguments:
            folders = [self._recording(arguments["recording"]).path]
        else:
            folders = sorted({f for root in (*self.limits.read, *self.limits.write) for f in _find_recordings(root)})
        found, skipped = [], []
        for folder in folders:
            try:
                kernels = list(self._recording(folder).values())
            except MnemeError as error:
                skipped.append(_one_line(error))
                continue
            for kernel in kernels:
                found.append(
                    {
                        "recording": folder,
                        "kernel": kernel.name,
                        "static_hash": kernel.static_hash,
                        "arch": kernel.arch,
                        "launches": len(kernel),
                    }
                )
        hint = "Call 'show' for a kernel's launches." if found else "Record a program with llvm-mneme-record -o FOLDER -- PROGRAM, below a folder that may be read."
        return {"kernels": _shorten(found), "skipped": _shorten(skipped), "devices": list(self.limits.devices), "applications": list(self.limits.applications), "write": list(self.limits.write), "next": hint}

    @_tool("Show a recorded kernel and its launches: shapes, arguments, memory", "recording", "kernel launch")
    async def show(self, arguments: dict[str, Any]) -> dict[str, Any]:
        kernel, chosen = self._kernel(arguments), self._launch(arguments)
        launches = [
            {"launch": i.record_id, "grid": list(i.grid), "block": list(i.block), "shared_mem": _quantity(i.shared_mem, "bytes"), "occurrences": i.occurrences}
            for i in kernel.values()
        ]
        return {
            "kernel": kernel.name,
            "static_hash": kernel.static_hash,
            "arch": kernel.arch,
            "opt_level": kernel.opt_level,
            "toolchain": kernel.toolchain,
            "launches": _shorten(launches),
            "launch": chosen.record_id,
            "arguments": _shorten([show(a.value) for a in chosen.args]),
            "buffers": _shorten([{"buffer": b.id, "name": b.name, "kind": b.kind, "size": _quantity(b.size, "bytes")} for b in chosen.buffers]),
            "next": "Call 'replay' without a configuration: it must verify before other figures mean anything.",
        }

    @_tool("Replay a launch under one configuration: verdict, time, metrics", "recording", "kernel launch config device resources")
    async def replay(self, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await self._replay(arguments)
        answer["next"] = _after_replay(answer["verdict"])
        return answer

    @_tool("Measure hardware counters and the least possible time (bound) of a launch, and what limits it", "recording", "kernel launch config device counters resources")
    async def counters(self, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await self._replay(arguments, "--bound=on")
        share = answer["metrics"].get("sol", {}).get("value")
        if not answer["verdict"].startswith("Match"):
            answer["next"] = _after_replay(answer["verdict"])
        elif share is not None and share > 0.9:
            answer["next"] = "The time is near the bound: only a version that moves fewer bytes can be faster ('evaluate')."
        else:
            answer["next"] = "The time is above the bound: call 'tune'; if that does not suffice, edit the source ('evaluate')."
        return answer

    @_tool("Compare the times of two configurations: ratio with its 95 % confidence interval", "recording config", "kernel launch baseline device")
    async def compare(self, arguments: dict[str, Any]) -> dict[str, Any]:
        bad = self._config("config", arguments["config"])
        good = self._config("baseline", arguments.get("baseline", {}))
        words = [*self._words(arguments), f"--good={good}", f"--bad={bad}", "--criterion=time"]
        report = await self._run_json("replay", "compare", *words)
        value, low, high = report["ratio"] or (None, None, None)
        if high is not None and high < 1:
            faster, hint = "config", "'tune' searches further and makes a study that 'pack' takes."
        elif low is not None and low > 1:
            faster, hint = "baseline", "'bisect' with criterion time and the baseline as good finds the passes."
        else:
            faster, hint = None, "Neither is significantly faster: keep the baseline."
        return {
            "faster": faster,
            "reason": report["reason"],
            "time": _quantity(report["bad"], "ns"),
            "baseline_time": _quantity(report["good"], "ns"),
            "ratio": _quantity(value, "times the baseline's time", (low, high)),
            "next": hint,
        }

    @_tool("Find the passes that make a configuration wrong or slow", "recording", "kernel launch config good criterion threshold device")
    async def bisect(self, arguments: dict[str, Any]) -> dict[str, Any]:
        config = self._config("config", arguments.get("config", {}))
        words = [*self._words(arguments), f"--criterion={arguments.get('criterion', 'verify')}"]
        if "good" in arguments:
            words += [f"--good={self._config('good', arguments['good'])}", f"--bad={config}"]
        else:
            words.append(config)
        if "threshold" in arguments:
            words.append(f"--threshold={arguments['threshold']}")
        report = await self._run_json("replay", "bisect", *words)
        culprits = report["passes"]["culprits"]
        change = report["passes"]["change"] or {}
        if report["found"] == "nothing":
            hint = "Nothing is wrong by this criterion: choose another one, or another configuration."
        elif culprits:
            hint = "Leave these executions out ('skip_passes' of the configuration) and replay, or report the bug (llvm-mneme-replay reduce)."
        else:
            hint = "No single pass is responsible: read 'reason' and 'settings'."
        return {
            "found": report["found"],
            "reason": report["reason"],
            "culprits": _shorten([{k: c[k] for k in ("number", "pass", "unit")} for c in culprits]),
            "settings": _shorten(report["settings"]["responsible"]),
            "diff": (change.get("diff") or "")[:_MOST_TEXT],
            "seconds": _quantity(report["seconds"], "s"),
            "next": hint,
        }

    @_tool("Search for a faster configuration within a budget; the winner is verified and tested again", "recording output", "kernel launch budget trials preset space device", writes=True)
    async def tune(self, arguments: dict[str, Any]) -> dict[str, Any]:
        most = _BUDGET_SHARE * self._call_seconds()
        budget = arguments.get("budget", min(60.0, most))
        if budget > most:
            raise RequestError(f"budget: {budget:g} s is more than {most:.3g} s, which is {_BUDGET_SHARE:.0%} of the time of a call")
        output = self._writable(arguments["output"])
        launch = self._launch(arguments)
        where = [launch.kernel.path, f"--record-id={launch.record_id}"]
        # The space goes through a file, as a configuration does.
        _, study, _ = await self._run("tune", *where, *_space_options(arguments), "--print-study")
        with open(os.path.join(self._folder, "space.mlir"), "w", encoding="utf-8") as file:
            file.write(study)
        words = [*where, "--study=space.mlir", self._device(arguments), f"--budget={budget:g}", f"--results-dir={output}"]
        words += ["--quiet", "--format=json", f"--study-store={os.path.join(self.limits.write[0], 'studies')}"]
        if "trials" in arguments:
            words.append(f"--trials={arguments['trials']}")
        summary = await self._run_json("tune", *words)
        outcome = summary["outcome"]
        test = outcome["final_test"] or {"candidates": []}
        winner = next((c for c in test["candidates"] if c["trial"] == outcome["winner"] and outcome["winner"] is not None), None)
        self._notes += [n for n in (*summary["caveats"], *outcome["notes"]) if n not in self._notes]
        return {
            "significant": winner is not None,
            "speedup": _speedup(winner and winner["speedup"]),
            "config": winner and winner["config"],
            "baseline_time": _quantity(outcome["baselines"][0]["ns"] if outcome["baselines"] else None, "ns"),
            "trials": outcome["trials"],
            "failures": outcome["failures"],
            "ended_by": outcome["end"],
            "search": _quantity(outcome["search_seconds"], "s"),
            "study": os.path.join(output, "best.json"),
            "report": os.path.join(output, "report.html"),
            "next": "Call 'pack' with this study." if winner else "Nothing is significantly faster: allow a longer budget or another space, call 'counters' to see what limits the kernel, or edit its source ('evaluate').",
        }

    @_tool("Judge a version of a kernel's source, in a jail: compile, verify, compare, held-out inputs", "recording source", "kernel text until device")
    async def evaluate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        kernel, source = self._kernel(arguments), self._readable(arguments["source"])
        words = [kernel.path, source, "--serve", self._device(arguments)]
        if "until" in arguments:
            words.append(f"--until={arguments['until']}")
        text = arguments.get("text")
        if text is None:
            with opening("read", source), open(os.path.join(source, "kernel.cu"), encoding="utf-8") as file:
                text = file.read(_MOST_SOURCE)
        _, out, _ = await self._run("evolve", "evaluate", *words, text=json.dumps({"text": text}) + "\n")
        lines = [json.loads(line) for line in out.splitlines()]
        if len(lines) != 2 or "passed" not in lines[1]:
            raise MnemeError(lines[-1].get("error", "no judgement") if lines else "no judgement")
        return _describe_judgement(lines[1])

    @_tool("Pack the winner of a study for an application", "recording study output", writes=True)
    async def pack(self, arguments: dict[str, Any]) -> dict[str, Any]:
        recording, study = self._readable(arguments["recording"]), self._readable(arguments["study"])
        output = self._writable(arguments["output"])
        code, _, messages = await self._run("deploy", "pack", recording, study, "-o", output)
        if code:
            hint = "The study has no winner that a package can contain: call 'tune' again."
            return {"packed": False, "reason": _one_line(messages.strip()), "next": hint}
        return {"packed": True, "package": output, "next": "Call 'prove' with this package and an application."}

    @_tool("Run an application with and without a package: same results, and how much faster", "package application", "device ignore_lines runs")
    async def prove(self, arguments: dict[str, Any]) -> dict[str, Any]:
        name, package = arguments["application"], self._readable(arguments["package"])
        if name not in self.limits.applications:
            known = ", ".join(self.limits.applications) or "none (--application)"
            raise RequestError(f"application {show(name)} may not be run, only: {known}")
        device = self._device(arguments).partition(":")[0]
        words = [device, "--format=json", f"--runs={arguments.get('runs', 10)}", f"--limit={max(1, math.floor(_BUDGET_SHARE * self._call_seconds()))}"]
        if "ignore_lines" in arguments:
            words.append(f"--ignore-lines={arguments['ignore_lines']}")
        command = self.limits.applications[name]
        report = await self._run_json("deploy", "prove", *words, package, "--", *command, folder=os.getcwd())
        if not report["equal"]:
            hint = "The results differ: do not use the package. If only lines with times differ, give ignore_lines."
        elif not report["served"]:
            hint = "No launch was served: see 'reasons'."
        else:
            hint = f"Run the application with the package: {shlex.join(['llvm-mneme-deploy', 'run', package, '--', *command])}"
        return {
            "equal": report["equal"],
            "difference": report["difference"],
            "speedup": _speedup(report["speedup"]),
            "served": _quantity(report["served"], "launches"),
            "unmatched": _quantity(report["unmatched"], "launches"),
            "reasons": report["reasons"],
            "pairs": report["pairs"],
            "next": hint,
        }


def _one_line(error: object) -> str:
    """Returns an error of the suite as one line, without quoted lines and carets."""
    lines = [line.strip() for line in str(error).splitlines()]
    marks = [n for n, line in enumerate(lines) if line and not line.strip("^~ ")]
    text = " ".join(line for n, line in enumerate(lines) if n not in marks and n + 1 not in marks)
    # The advice is for the person at a command line, and no call can follow it.
    return text.replace(": if you trust the file, give --allow-programs", ", which no call may")[:_MOST_TEXT]


def make_server(session: Session) -> Any:
    """Returns a server of the package mcp."""
    types = need("mcp.types", "mcp")
    Server = need("mcp.server.lowlevel", "mcp").Server

    def tool(name: str, t: _Tool) -> Any:
        hints = types.ToolAnnotations(
            # An application may do anything, so a client should ask its user first.
            read_only_hint=not t.writes and not t.runs_application(),
            destructive_hint=t.runs_application(),
            idempotent_hint=not t.writes and not t.runs_application(),
            open_world_hint=t.runs_application(),
        )
        return types.Tool(name=name, description=t.help, input_schema=t.schema(), annotations=hints)

    async def list_tools(context: Any, parameters: Any) -> Any:
        return types.ListToolsResult(tools=[tool(name, t) for name, t in TOOLS.items()])

    async def call_tool(context: Any, parameters: Any) -> Any:
        try:
            answer = await session.call(parameters.name, parameters.arguments)
        except Exception as error:
            if not isinstance(error, (MnemeError, OSError)):
                # An error of this file. The client gets one line, the person who started the server all of it.
                import traceback

                traceback.print_exc()
                error = MnemeError(f"internal error in {parameters.name!r}: {type(error).__name__}")
            return types.CallToolResult(content=[types.TextContent(type="text", text=_one_line(error))], is_error=True)
        text = json.dumps(answer, separators=(",", ":"))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=answer)

    return Server(
        "mneme", version=VERSION, instructions=read_skill(), on_list_tools=list_tools, on_call_tool=call_tool
    )


def read_skill() -> str:
    """Returns how to go about a slow kernel: SKILL.md without its header."""
    path = os.path.join(os.path.dirname(__file__), "skills", "slow-kernel", "SKILL.md")
    with open(path, encoding="utf-8") as file:
        return file.read().split("---\n", 2)[2].strip()


def _folder(text: str) -> str:
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    return os.path.realpath(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got {text!r}")
    return value


def _application(text: str) -> tuple[str, list[str]]:
    name, _, command = text.partition("=")
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not name or not words:
        raise argparse.ArgumentTypeError(f"expected NAME=COMMAND, got {text!r}")
    return name, words


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m llvm_mneme.mcp", description="Serve recorded kernels to an agent (MCP over standard streams)."
    )
    parser.add_argument("--read", metavar="FOLDER", type=_folder, action="append", default=[],
                        help="folder that calls may read; repeatable")  # fmt: skip
    parser.add_argument("--write", metavar="FOLDER", type=_folder, action="append", required=True,
                        help="folder that calls may write and read; repeatable. The first one also keeps the study store")  # fmt: skip
    parser.add_argument("--device", action="append", help="device that calls may use; repeatable, the first is the default (default: auto)")
    parser.add_argument("--application", metavar="NAME=COMMAND", type=_application, action="append", default=[],
                        help="application that 'prove' may run, quoted as for a shell; repeatable")  # fmt: skip
    parser.add_argument("--call-seconds", metavar="N", type=_seconds, default=300, help="limit of a call (default: 300)")
    parser.add_argument("--total-seconds", metavar="N", type=_seconds, default=3600, help="limit of all calls together (default: 3600)")
    given = parser.parse_args(arguments)
    limits = Limits(given.read, given.write, given.device or ["auto"], dict(given.application), given.call_seconds, given.total_seconds)
    try:
        stdio = need("mcp.server.stdio", "mcp")
        find_suite()
        session = Session(limits)
        server = make_server(session)
    except MnemeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    async def serve() -> None:
        async with stdio.stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    def end(*unused: object) -> None:
        # A thread waits for standard input and would delay an orderly end. A tool ends with this process.
        session.clean()
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    asyncio.run(serve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
