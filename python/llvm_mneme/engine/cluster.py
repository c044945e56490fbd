# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An executor on the nodes of a cluster; the engines are behind :class:`Backend`."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import InvalidStateError, ThreadPoolExecutor
from typing import Any, NamedTuple, Optional, Union

from ..errors import MnemeWarning, RequestError, ServerLostError
from ..executor import BaseExecutor, Comparison, EvaluationFuture, Instances, make_comparison, make_options
from ..recording import Instance
from ..result import Result
from ..server import make_error
from ..suite import find_suite
from .node import kernel_path, pack

# An evaluation fails once this many nodes were lost that had it: it may be what they died of.
_MOST_LOSSES = 3
# Evaluations at a node, as a multiple of those that keep it busy: the way there takes time.
_AHEAD = 2
# With a limited number of actors: seconds after which one that has not begun moves to another place, as another study may
# have the GPU or the processors there. Then, the first place is not tried for a while.
_PATIENCE = 15.0
_AVOID = 60.0

Callback = Callable[[Any, Optional[BaseException]], None]


class Slot(NamedTuple):
    """A place for an actor: a node and a number there."""

    node: str
    number: int

    def __str__(self) -> str:
        return f"{self.node}.{self.number}"


class Backend:
    """What an executor needs of an engine.

    Callbacks come one after the other, in a thread of their own: those of the engines must not wait or call the engine.
    """

    name = ""

    def __init__(self) -> None:
        self._events = ThreadPoolExecutor(1, "llvm-mneme events")

    def post(self, done: Callback, result: Any, error: Optional[BaseException]) -> None:
        """Calls a callback."""
        try:
            self._events.submit(done, result, error)
        except RuntimeError:
            pass  # The executor is closed.

    def slots(self) -> list[Slot]:
        """Returns the places of the nodes that are alive now."""
        raise NotImplementedError

    def count_users(self) -> dict[str, int]:
        """Returns the number of actors of all studies by node, as far as the engine knows it."""
        return {}

    def start(self, slot: Slot, spec: dict[str, Any], done: Callback) -> Any:
        """Starts an actor (:class:`NodeServer`). ``done`` gets the result of its ``start``."""
        raise NotImplementedError

    def call(self, actor: Any, method: str, arguments: tuple[Any, ...], done: Callback) -> None:
        """Calls a method of an actor. ``done`` gets an error if the node is lost."""
        raise NotImplementedError

    def stop(self, actor: Any) -> None:
        """Ends an actor, with all its processes."""
        raise NotImplementedError

    def close(self) -> None:
        """Leaves the cluster, if the executor has joined it."""
        self._events.shutdown(wait=False, cancel_futures=True)


class _Job:
    __slots__ = ("future", "kernel", "fields", "text", "data", "losses", "ticket", "node", "is_cancelled")

    def __init__(self, future: EvaluationFuture, kernel: int, fields: dict[str, Any], data: bytes, ticket: int) -> None:
        self.future = future
        self.kernel = kernel
        self.fields = fields
        self.text = ""
        self.data = data
        self.losses = 0
        self.ticket = ticket
        self.node: Optional[_Node] = None
        self.is_cancelled = False


class _Node:
    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.actor: Any = None
        self.began = time.monotonic()
        self.is_ready = False
        self.is_lost = False
        self.is_sending = False
        self.room = 0
        self.offered: dict[str, Any] = {}
        self.jobs: dict[int, _Job] = {}


class ClusterExecutor(BaseExecutor):
    """Evaluates on all nodes of a cluster, also on those that join later.

    Arguments are those of :class:`llvm_mneme.Executor`, with files of the nodes, and:

    :param nodes: the largest number of actors; default: one for each GPU, or one for each node without GPUs
    :param poll: seconds between looks at the nodes of the cluster
    :param wait: seconds to wait for the first node; 0: do not wait
    """

    def __init__(
        self,
        instances: Instances,
        device: str = "auto",
        workers: int = 1,
        compile_jobs: Optional[int] = None,
        app: Optional[str] = None,
        resources: bool = False,
        compile_timeout: Optional[float] = None,
        launch_timeout: Optional[float] = None,
        options: Sequence[str] = (),
        nodes: Optional[int] = None,
        poll: float = 1.0,
        wait: float = 60,
        backend: Union[None, str, Backend] = None,
        counters: Union[str, Sequence[str], None] = None,
        ptxas: Union[None, str, os.PathLike[str]] = None,
        ptxas_controls: Union[None, str, os.PathLike[str]] = None,
        **cluster: Any,
    ) -> None:
        super().__init__(instances)
        self._options = make_options(
            device, workers, compile_jobs, app, resources, compile_timeout, launch_timeout, options, counters, ptxas,
            ptxas_controls,
        )
        self._most_nodes = nodes
        self._poll = poll
        kernels = {i.kernel.path: i.kernel for i in self.instances}
        if len(kernels) > 1 and device != "host":
            raise RequestError("launches of several kernels cannot share a GPU: create one executor after the other")
        self._numbers = {path: number for number, path in enumerate(kernels)}
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._queue: deque[_Job] = deque()
        self._jobs: dict[EvaluationFuture, _Job] = {}
        self._nodes: dict[Slot, _Node] = {}
        self._next = 1
        self._complaint = ""
        self._deaths = 0
        self._avoided: dict[Slot, float] = {}  # places where others have the device, and until when
        self._spec = {
            "suite": find_suite().folder,
            "build": _read_build(),
            "options": self._options,
            "kernels": [
                (kernel_path(k), [i.record_id for i in self.instances if i.kernel.path == path])
                for path, k in kernels.items()
            ],
        }
        self._backend = self._connect(backend, pack(self.instances), cluster)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="llvm-mneme cluster", daemon=True)
        self._thread.start()
        self._wait_for_node(wait)

    def _connect(self, backend: Any, blob: bytes, cluster: dict[str, Any]) -> Backend:
        raise NotImplementedError

    def _wait_for_node(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self._lock:
            while seconds and not any(n.is_ready for n in self._nodes.values()):
                left = deadline - time.monotonic()
                if left <= 0 or (self._complaint and self._deaths > 3):
                    break
                self._changed.wait(min(left, 1))
            else:
                return
        complaint = self._complaint or "no node has joined the cluster"
        self.close(cancel=True)
        raise RequestError(f"no node of the {self._backend.name} cluster can evaluate: {complaint}")

    # -- Nodes ---------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Follows the nodes of the cluster, in a thread of its own."""
        while not self._stop.is_set():
            try:
                slots = self._backend.slots()
            except Exception as error:
                self._complaint = str(error)
                slots = []
            for slot in [s for s in list(self._nodes) if s not in slots]:
                self._lose(self._nodes.get(slot), "its node has left the cluster")
            for slot in self._order(slots):
                with self._lock:
                    full = self._most_nodes is not None and len(self._nodes) >= self._most_nodes
                    if slot in self._nodes or full or self.closed:
                        continue
                    node = self._nodes[slot] = _Node(slot)
                self._start(node)
            self._stop.wait(self._poll)

    def _order(self, slots: list[Slot]) -> list[Slot]:
        """Returns the places to start actors at, best first. Ends actors that wait where others have the device."""
        if self._most_nodes is None:
            return slots
        now = time.monotonic()
        users = self._backend.count_users() if len(self._nodes) < self._most_nodes else {}
        slots = sorted(slots, key=lambda s: (self._avoided.get(s, 0) > now, users.get(s.node, 0)))
        with self._lock:
            free = [s for s in slots if s not in self._nodes and self._avoided.get(s, 0) <= now]
            waiting = [n for n in self._nodes.values() if not n.is_ready and now - n.began > _PATIENCE]
            moved = waiting[: len(free)]
            for node in moved:
                self._avoided[node.slot] = now + _AVOID
                node.is_lost = True
                del self._nodes[node.slot]
        for node in moved:
            if node.actor is not None:
                self._backend.stop(node.actor)
            slots.remove(node.slot)
        return slots

    def _start(self, node: _Node) -> None:
        def done(offered: Any, error: Optional[BaseException]) -> None:
            if error is not None:
                self._lose(node, str(error) or type(error).__name__)
                return
            with self._lock:
                if node.is_lost:
                    return
                node.offered = offered
                node.is_ready = True
                node.room = _AHEAD * offered["capacity"]
                self._complaint = ""
                self._deaths = 0
                self._changed.notify_all()
            self._take(node)
            self._dispatch()

        try:
            node.actor = self._backend.start(node.slot, self._spec, done)
        except Exception as error:
            self._lose(node, str(error))

    def _lose(self, node: Optional[_Node], why: str) -> None:
        """Gives a lost node's evaluations to others."""
        if node is None:
            return
        # Engines add pages about what may have happened.
        why = why.strip().partition("\n")[0]
        with self._lock:
            if node.is_lost or self.closed:
                return
            node.is_lost = True
            node.is_ready = False
            self._nodes.pop(node.slot, None)
            self._complaint = why
            self._deaths += 1
            jobs = list(node.jobs.values())
            node.jobs.clear()
            failed = []
            for job in reversed(jobs):
                job.node = None
                job.losses += 1
                if job.losses >= _MOST_LOSSES:
                    failed.append(job)
                    self._jobs.pop(job.future, None)
                else:
                    self._queue.appendleft(job)
            self._changed.notify_all()
        import warnings

        warnings.warn(
            f"{self._backend.name} node {node.slot} is lost ({why}); {len(jobs)} evaluations begin again",
            MnemeWarning,
            stacklevel=2,
        )
        for job in failed:
            _fail(job.future, ServerLostError(f"{_MOST_LOSSES} nodes that evaluated it were lost, the last one: {why}"))
        if node.actor is not None:
            try:
                self._backend.stop(node.actor)
            except Exception:
                pass
        self._dispatch()

    @property
    def capacity(self) -> int:
        """The number of concurrent evaluations that keeps all devices busy now."""
        with self._lock:
            return max(1, sum(n.offered["capacity"] for n in self._nodes.values() if n.is_ready))

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that evaluate now."""
        with self._lock:
            return [
                {"node": str(n.slot), "under_way": len(n.jobs), **n.offered} for n in self._nodes.values() if n.is_ready
            ]

    @property
    def devices(self) -> list[dict[str, Any]]:
        """The devices of all nodes."""
        return [
            {**device, "id": f"{node['node']}:{device.get('id', device['device'])}"}
            for node in self.nodes
            for device in node["devices"]
        ]

    @property
    def powers(self) -> dict[str, dict[str, Any]]:
        """What the verification of each launch can detect, by record id."""
        nodes = self.nodes
        return self._powers_of(nodes[0]["powers"] if nodes else [])

    # -- Evaluations ---------------------------------------------------------------------------------------------------

    def _submit(self, future: EvaluationFuture, fields: dict[str, Any], data: bytes) -> None:
        with self._lock:
            job = _Job(future, self._numbers[future.instance.kernel.path], fields, data, self._next)
            try:
                job.text = json.dumps(fields, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise RequestError(str(error)) from None
            self._next += 1
            self._jobs[future] = job
            self._queue.append(job)
        self._dispatch()

    def _dispatch(self) -> None:
        """Sends evaluations to nodes with room."""
        batches: dict[_Node, list[_Job]] = {}
        with self._lock:
            if not self._queue or self.closed:
                return
            ready = [n for n in self._nodes.values() if n.is_ready]
            # Equal shares, so that all nodes are busy at the end.
            free = [n for n in ready if not n.is_sending]
            free.sort(key=lambda n: len(n.jobs) / max(1, n.room))
            while self._queue and free:
                share = -(-len(self._queue) // len(free))
                taken = 0
                for node in list(free):
                    batch = self._choose(node, min(share, node.room - len(node.jobs)))
                    taken += len(batch)
                    if batch:
                        batches.setdefault(node, []).extend(batch)
                        # What is submitted until the node has this goes there in one piece: a call costs more than an
                        # evaluation.
                        node.is_sending = True
                    if len(node.jobs) >= node.room:
                        free.remove(node)
                if not taken:
                    break
            self._drop_impossible(ready)
        for node, batch in batches.items():
            message = [(j.ticket, j.kernel, j.text, j.data) for j in batch]

            def done(_: Any, error: Optional[BaseException], node: _Node = node) -> None:
                node.is_sending = False
                if error is not None:
                    self._lose(node, str(error) or type(error).__name__)
                else:
                    self._dispatch()

            self._backend.call(node.actor, "submit", (message,), done)

    def _choose(self, node: _Node, room: int) -> list[_Job]:
        batch: list[_Job] = []
        kept: list[_Job] = []
        while self._queue and len(batch) < room:
            job = self._queue.popleft()
            wanted = job.fields.get("device")
            if wanted:
                slot, _, name = wanted.partition(":")
                if slot != str(node.slot):
                    kept.append(job)
                    continue
                job.text = json.dumps({**job.fields, "device": name})
            limits = job.fields.get("stop_above_on")
            if limits:
                # Without the node, as its server knows the devices.
                prefix = f"{node.slot}:"
                there = {d.removeprefix(prefix): limit for d, limit in limits.items() if d.startswith(prefix)}
                job.text = json.dumps({**json.loads(job.text), "stop_above_on": there})
            job.node = node
            node.jobs[job.ticket] = job
            batch.append(job)
        self._queue.extendleft(reversed(kept))
        return batch

    def _drop_impossible(self, ready: Sequence[_Node]) -> None:
        """Fails evaluations for devices that are gone."""
        names = {str(n.slot) for n in ready}
        gone = [j for j in self._queue if j.fields.get("device") and j.fields["device"].partition(":")[0] not in names]
        for job in gone:
            self._queue.remove(job)
            self._jobs.pop(job.future, None)
            _fail(job.future, ServerLostError(f"{job.fields['device']!r} is gone"))

    def _take(self, node: _Node) -> None:
        """Waits for results of a node, again and again."""

        def done(results: Any, error: Optional[BaseException]) -> None:
            if error is not None:
                self._lose(node, str(error) or type(error).__name__)
                return
            if not self.closed and not node.is_lost:
                self._backend.call(node.actor, "take", (), done)
            finished = []
            with self._lock:
                for ticket, answer, why in results:
                    job = node.jobs.pop(ticket, None)
                    if job is None:
                        continue
                    if answer is None:
                        # The node's server is lost, not the node: a new actor starts.
                        node.jobs[ticket] = job
                        error = ServerLostError(why)
                        break
                    self._jobs.pop(job.future, None)
                    finished.append((job, answer))
                self._changed.notify_all()
            for job, answer in finished:
                self._finish(node, job, answer)
            if error is not None:
                self._lose(node, str(error))
            else:
                self._dispatch()

        self._backend.call(node.actor, "take", (), done)

    def _finish(self, node: _Node, job: _Job, answer: dict[str, Any]) -> None:
        future = job.future
        try:
            if answer["type"] == "failed":
                error = make_error(answer)
                future.set_exception(error)
            elif answer["failure"] == "Cancelled":
                future._mark_cancelled()
            else:
                answer["id"] = job.ticket
                answer["duplicate_of"] = None  # numbers of one node
                if answer["device"]:
                    answer["device"] = f"{node.slot}:{answer['device']}"
                future.set_result(Result(answer, future.config, future.instance, job.data or None, self._options))
        except InvalidStateError:
            pass

    def _cancel(self, futures: Optional[Sequence[EvaluationFuture]]) -> None:
        with self._lock:
            chosen = list(self._jobs) if futures is None else [f for f in futures if f in self._jobs]
            jobs = [self._jobs[f] for f in chosen]
            waiting = {j.ticket for j in jobs if j.node is None}
            self._queue = deque(j for j in self._queue if j.ticket not in waiting)
            away: dict[_Node, list[int]] = {}
            for job in jobs:
                if job.node is None:
                    del self._jobs[job.future]
                else:
                    away.setdefault(job.node, []).append(job.ticket)
        for job in jobs:
            if job.ticket in waiting:
                job.future._mark_cancelled()
        for node, tickets in away.items():
            self._backend.call(node.actor, "cancel", (tickets,), lambda result, error: None)

    def _compare(self, fields: dict[str, Any], instance: Instance) -> Comparison:
        number = self._numbers[instance.kernel.path]
        why = "no node is left"
        for _ in range(_MOST_LOSSES):
            with self._lock:
                ready = [n for n in self._nodes.values() if n.is_ready]
            if not ready:
                self._wait_for_any()
                continue
            node = min(ready, key=lambda n: len(n.jobs))
            got: list[Any] = []
            event = threading.Event()

            def done(answer: Any, error: Optional[BaseException]) -> None:
                got.append((answer, error))
                event.set()

            self._backend.call(node.actor, "compare", (number, json.dumps(fields)), done)
            event.wait()
            answer, error = got[0]
            if error is None:
                answer["device"] = f"{node.slot}:{answer['device']}"
                return make_comparison(answer, fields["configs"])
            if isinstance(error, RequestError):
                raise error
            why = str(error)
            self._lose(node, why)
        raise ServerLostError(f"the comparison cannot be measured: {why}")

    def _wait_for_any(self) -> None:
        with self._lock:
            self._changed.wait(30)

    # -- The end -------------------------------------------------------------------------------------------------------

    def _close(self, cancel: bool) -> None:
        if cancel:
            self._cancel(None)
        else:
            with self._lock:
                while self._jobs:
                    self._changed.wait()
        self._stop.set()
        with self._lock:
            self.closed = True
            nodes = list(self._nodes.values())
            left = list(self._jobs)
            self._jobs.clear()
            self._queue.clear()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        for node in nodes:
            if node.actor is not None:
                try:
                    self._backend.stop(node.actor)
                except Exception:
                    pass
        for future in left:
            future._mark_cancelled()
        self._backend.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{len(self.nodes)} nodes, {len(self._jobs)} under way"
        return f"<{type(self).__name__} of {len(self.instances)} launches: {state}>"


def _fail(future: EvaluationFuture, error: Exception) -> None:
    try:
        future.set_exception(error)
    except InvalidStateError:
        pass


def _read_build() -> str:
    """Returns the build of the head's suite, which the nodes must have."""
    import re
    import subprocess

    from .._tables import VERSION
    from ..suite import wrong_version

    tool = find_suite().tool("replay")
    text = subprocess.run([tool, "--version"], stdout=subprocess.PIPE).stdout.decode(errors="replace")
    found = re.search(r"Mneme version (\S+?), LLVM (\S+?),", text)
    if not found or found.group(1) != VERSION:
        raise wrong_version(tool, found.group(1) if found else "unknown")
    return f"Mneme {found.group(1)}, LLVM {found.group(2)}"
