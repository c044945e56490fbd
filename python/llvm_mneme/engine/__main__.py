# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worker that ``llvm-mneme-tune --engine=ray|dask`` starts: docs/FarmProtocol.rst on one side, a cluster on the other.

    python -m llvm_mneme.engine --engine=ray --recording=K.json --record-id=ID... [--address=A] [--nodes=N] -- OPTIONS
    python -m llvm_mneme.engine --engine=ray --check [--address=A] [--nodes=N]

The second form ends with an error if the engine is not installed or an option is wrong.

To the study, all nodes of the cluster are one worker with many devices, whose number changes. OPTIONS are those of
``llvm-mneme-replay serve``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from typing import Any, BinaryIO, Optional

from ..errors import MnemeError, RequestError, ServerLostError
from ..executor import EvaluationFuture, Executor
from ..recording import Recording

_GREETING = b"\nmneme-farm-worker 5f3b9c0e7ad84216\n"
_STATE_SECONDS = 2.0
# Of FarmProtocol.rst.
_MOST_CAPACITY = 16384
_RESULT: tuple[str, ...] = ("failure", "error", "compared", "stopped", "metrics", "samples", "ir", "assembly", "code", "compile_seconds")
_RESULT += ("run_seconds", "worker", "device")


class Link:
    """Frames: a line ``KIND BYTES JSON``, then bytes."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()

    def send(self, kind: str, **fields: Any) -> None:
        line = f"{kind} 0 {json.dumps(fields)}\n".encode()
        with self._lock:
            self._sink.write(line)
            self._sink.flush()

    def receive(self) -> Optional[tuple[str, dict[str, Any]]]:
        """Returns the next message; None at the end."""
        line = self._source.readline()
        if not line.endswith(b"\n"):
            return None
        kind, size, text = line.split(b" ", 2)
        if int(size):
            self._source.read(int(size))
        return kind.decode(), json.loads(text)


class Worker:
    """A worker of a study, on a cluster."""

    def __init__(self, link: Link, engine: str, recording: str, ids: list[str], options: list[str], cluster: dict[str, Any]):
        self.link = link
        self.engine = engine
        self.recording = recording
        self.ids = ids
        self.options = options
        self.cluster = cluster
        self.executor: Any = None
        self.under_way: dict[int, EvaluationFuture] = {}
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.state_lock = threading.Lock()
        self.sent_devices: set[str] = set()

    def run(self) -> int:
        link = self.link
        try:
            message = self.greet()
        except MnemeError as error:
            link.send("failed", error=str(error))
            return 1
        if message is None:
            return 1
        kind, fields = message
        if kind == "refused":
            print(f"the study refused this worker: {fields['error']}", file=sys.stderr)
            return 1
        if kind != "start":
            print(f"unexpected answer to 'hello': {kind}", file=sys.stderr)
            return 1
        try:
            kernel = Recording(self.recording).only()
            self.instances = [kernel[i] for i in self.ids] if self.ids else list(kernel.values())
            self.executor = Executor(
                self.instances, backend=self.engine, device=self.device(), options=self.rest(), wait=300, **self.cluster
            )
        except Exception as error:
            # Another worker would fail in the same way; that of an engine is of any class.
            link.send("failed", error=str(error) or type(error).__name__)
            return 1
        threading.Thread(target=self.send_states, daemon=True).start()
        try:
            while not self.ended.is_set():
                message = link.receive()
                if message is None:
                    return 1
                self.take(*message)
            return 0
        finally:
            self.ended.set()
            self.executor.close(cancel=True)

    def greet(self) -> Optional[tuple[str, dict[str, Any]]]:
        """Says hello. Returns the answer."""
        from .cluster import _read_build

        self.link._sink.write(_GREETING)
        self.link.send("hello", version=_read_build(), name=f"{self.engine}:{os.getpid()}")
        return self.link.receive()

    def device(self) -> str:
        given = [o.partition("=")[2] for o in self.options if o.startswith("--device=")]
        return given[-1] if given else "auto"

    def rest(self) -> list[str]:
        return [o for o in self.options if not o.startswith("--device=")]

    def send_states(self) -> None:
        last: Any = None
        sent = 0.0
        while not self.ended.wait(0.1):
            nodes = self.executor.nodes
            summary = [n["node"] for n in nodes]
            if summary != last or time.monotonic() - sent >= _STATE_SECONDS:
                self.send_state(nodes)
                last, sent = summary, time.monotonic()

    def send_state(self, nodes: list[dict[str, Any]]) -> None:
        devices = []
        for node in nodes:
            for device in node["devices"]:
                name = f"{node['node']}:{device.get('id', device['device'])}"
                info = {key: device.get(key, "") for key in ("name", "arch", "gpu", "driver", "uuid")}
                devices.append({"device": device["device"], "id": name, "info": info, "error": "", "waiting": False})
        capacity = 2 * sum(n["capacity"] for n in nodes)
        jobs = sum(n["compile_jobs"] for n in nodes)
        with self.state_lock:
            try:
                self.link.send(
                    "state",
                    farm={"host": self.engine, "compile_jobs": jobs, "devices": devices[:1024]},
                    statistics=_no_statistics(),
                    capacity=min(capacity, _MOST_CAPACITY),
                )
            except OSError:
                self.ended.set()
            self.sent_devices = {d["id"] for d in devices}

    def take(self, kind: str, fields: dict[str, Any]) -> None:
        if kind == "evaluate":
            self.evaluate(fields["ticket"], fields["request"])
        elif kind == "cancel":
            with self.lock:
                futures = dict(self.under_way)
            self.executor._cancel(list(futures.values()))
            gone = [t for t, f in futures.items() if f.cancelled()]
            with self.lock:
                for ticket in gone:
                    self.under_way.pop(ticket, None)
            self.link.send("cancelled", tickets=gone[:_MOST_CAPACITY])
        elif kind == "compare-there":
            threading.Thread(target=self.compare, args=(fields,), daemon=True).start()
        elif kind == "end":
            self.ended.set()

    def evaluate(self, ticket: int, request: dict[str, Any]) -> None:
        instance = self.instances[request["instance"]]
        fields = {
            "config": request["config"],
            "instance": instance.record_id,
            "fresh": request["fresh"],
            "attempt": request["attempt"],
            "own_process": request["own_process"],
            "stop_above": request["stop_above"],
            "stop_above_on": request["stop_above_on"],
            "launch_timeout": request["launch_timeout"],
            "app": request["app"],
            "measure": request["measure"],
            "device": request["device"],
        }
        from ..config import Config

        future = EvaluationFuture(Config(), instance)
        future._executor = self.executor
        with self.lock:
            self.under_way[ticket] = future
        future.add_done_callback(lambda done: self.answer(ticket, done))
        self.executor._submit(future, fields, b"")

    def answer(self, ticket: int, future: Any) -> None:
        with self.lock:
            if self.under_way.pop(ticket, None) is None:
                return
        if future.cancelled():
            self.link.send("cancelled", tickets=[ticket])
            return
        error = future.exception()
        result: dict[str, Any] = {
            "failure": "WorkerLost" if isinstance(error, ServerLostError) else "Invalid",
            "error": str(error)[:60000],
            "compared": "exact",
            "stopped": False,
            "metrics": {},
            "samples": [],
            "ir": "",
            "assembly": "",
            "code": "",
            "compile_seconds": 0,
            "run_seconds": 0,
            "worker": "",
            "device": "",
        }
        if error is None:
            data = future.result()._data
            result = {key: data[key] for key in _RESULT}
        result["duplicate"] = None
        result["duplicate_of"] = None
        if result["device"] and result["device"] not in self.sent_devices:
            self.send_state(self.executor.nodes)
        try:
            self.link.send("evaluated", ticket=ticket, result=result)
        except OSError:
            self.ended.set()

    def compare(self, fields: dict[str, Any]) -> None:
        requests = fields["requests"]
        instance = self.instances[requests[0]["instance"]]
        paired: dict[str, Any] = {"failure": "", "error": "", "samples": [], "worker": "", "device": ""}
        try:
            got = self.executor._compare(
                {
                    "configs": [r["config"] for r in requests],
                    "instance": instance.record_id,
                    "rounds": fields["rounds"],
                    "app": requests[0]["app"],
                    "launch_timeout": max(r["launch_timeout"] for r in requests),
                },
                instance,
            )
            paired["samples"] = [list(s) for s in got.samples]
            paired["device"] = got.device
        except ServerLostError as error:
            paired.update(failure="WorkerLost", error=str(error))
        except RequestError as error:
            kind, _, text = str(error).partition(": ")
            known = kind in ("Mismatch", "Crash", "Timeout", "CompileError", "Unsupported", "TooFast", "Invalid")
            paired.update(failure=kind if known else "Invalid", error=text if known else str(error))
        if paired["device"] and paired["device"] not in self.sent_devices:
            self.send_state(self.executor.nodes)
        try:
            self.link.send("compared-there", ticket=fields["ticket"], paired=paired)
        except OSError:
            self.ended.set()


def _no_statistics() -> dict[str, Any]:
    """The nodes count their own work."""
    counts: tuple[str, ...] = ("requests", "compiles", "runs", "results", "reused", "same_config", "same_ir", "same_assembly", "same_code")
    counts += ("compiler_deaths", "runner_deaths", "requeued", "starts", "bytes_sent", "bytes_received")
    return {**{name: 0 for name in counts}, "compile_seconds": 0, "runners": []}


def check(engine: str) -> int:
    """Says what to install if the engine is missing. Importing it would take long."""
    from importlib.util import find_spec

    package = {"dask": "distributed"}.get(engine, engine)
    if find_spec(package):
        return 0
    print(f"error: {sys.executable!r} has no {package}: pip install 'llvm-mneme[{engine}]'", file=sys.stderr)
    return 1


def main(words: list[str]) -> int:
    options: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, options = words[:at], words[at + 1 :]
    engine, recording, ids = "", "", []
    only_check = False
    cluster: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name == "--engine":
            engine = value
        elif word == "--check":
            only_check = True
        elif name == "--recording":
            recording = value
        elif name == "--record-id":
            ids.append(value)
        elif name == "--address":
            cluster["address"] = value
        elif name == "--nodes" and value.isdecimal() and int(value) > 0:
            cluster["nodes"] = int(value)
        else:
            print(f"error: wrong option {word!r}: expected --address=A or --nodes=N", file=sys.stderr)
            return 1
    if only_check:
        return check(engine)
    # Whatever an engine prints must not reach the study.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    # Without a place in the sources: the study shows it.
    warnings.showwarning = lambda message, *_, **__: print(message, file=sys.stderr)
    return Worker(Link(source, sink), engine, recording, ids, options, cluster).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
