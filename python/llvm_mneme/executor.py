# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executors: evaluate configurations on the devices of this machine, as futures."""

from __future__ import annotations

import atexit
import inspect
import math
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from .config import Config
from .errors import (
    ClosedError,
    ForkedError,
    MnemeWarning,
    RecordingError,
    RequestError,
    ServerLostError,
    check_integer,
    check_path,
    check_seconds,
    nearest,
    show,
)
from .recording import Instance, Kernel, Recording
from .result import Result
from .server import Server, check_ir, make_error

if TYPE_CHECKING:
    from .ir import Module

IR = Union[str, bytes, "Module"]
Instances = Union[Instance, Kernel, Recording, str, "os.PathLike[str]", Sequence[Instance]]

# Requests that a server has at a time. The rest wait here, so that they can be cancelled at once.
_MOST_SENT = 4096
# The smallest and the largest of fewer pairs contain the median in less than 95 % of all cases.
LEAST_PAIRS = 6


def _read_speedup(answer: Sequence[Optional[float]]) -> tuple[float, float, float]:
    value, low, high = answer
    return value or 0.0, low or 0.0, math.inf if high is None else high


def _describe_interval(speedup: Sequence[float]) -> str:
    if math.isinf(speedup[2]):
        return f"no interval: fewer than {LEAST_PAIRS} pairs"
    return "%.3f to %.3f" % tuple(speedup[1:])


def describe_speedup(speedup: Sequence[float]) -> str:
    """Returns a speed-up and its interval as text."""
    has_interval = not math.isinf(speedup[2])
    return "%.3f (%s%s)" % (speedup[0], "95 % CI " if has_interval else "", _describe_interval(speedup))


class Comparison(NamedTuple):
    """Configurations that were measured alternately.

    ``speedups[i]`` is that of configuration ``i`` over configuration 0, with the ends of its 95 % confidence interval.
    Fewer than 6 pairs carry no interval: its ends are 0 and infinity, and nothing is significant.
    """

    speedups: Sequence[tuple[float, float, float]]
    samples: Sequence[Sequence[float]]  # nanoseconds, by configuration and round
    configs: Sequence[Config]
    device: str

    @property
    def speedup(self) -> float:
        """Of the second configuration over the first."""
        return self.speedups[1][0]

    @property
    def interval(self) -> Optional[tuple[float, float]]:
        """The 95 % confidence interval of the speed-up; ``None`` of fewer than 6 pairs."""
        return None if math.isinf(self.speedups[1][2]) else self.speedups[1][1:]

    @property
    def is_faster(self) -> bool:
        """The second configuration is significantly faster (the interval is above 1)."""
        return self.speedups[1][1] > 1

    def __repr__(self) -> str:
        parts = [describe_speedup(s) for s in self.speedups[1:]]
        return f"<Comparison: speed-up {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        from ._html import table

        rows = [
            [repr(c), "%.3f" % s[0], _describe_interval(s)] for c, s in zip(self.configs, self.speedups)
        ]
        return table(["configuration", "speed-up", "95 % interval"], rows)


class _Request:
    """A request that may be sent again after the loss of its server."""

    __slots__ = ("type", "fields", "data", "number", "server", "losses", "is_sent")

    def __init__(self, type: str, fields: dict[str, Any], data: bytes = b"") -> None:
        self.type = type
        self.fields = fields
        self.data = data
        self.number = 0
        self.server: Optional[Server] = None
        self.losses = 0
        self.is_sent = False


class EvaluationFuture(Future[Result]):
    """The result of a configuration. Can be awaited, and used with ``concurrent.futures``."""

    def __init__(self, config: Config, instance: Instance) -> None:
        super().__init__()
        self.config = config
        self.instance = instance
        self._executor: Optional[Any] = None
        self._request: Optional[_Request] = None

    def cancel(self) -> bool:
        """Cancels the evaluation unless it has begun. Returns whether it is cancelled."""
        if self.done():
            return self.cancelled()
        if self._executor is not None:
            self._executor._cancel([self])
        return self.cancelled()

    def running(self) -> bool:
        """Returns whether the evaluation may have begun."""
        return not self.done() and self._request is not None and self._request.is_sent

    def _check_process(self) -> None:
        """Raises an error in a forked child, where no result arrives."""
        if not self.done() and self._executor is not None and self._executor._pid != os.getpid():
            raise ForkedError(f"the result arrives in process {self._executor._pid}: wait for it there")

    def result(self, timeout: Optional[float] = None) -> Result:
        self._check_process()
        return super().result(timeout)

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        self._check_process()
        return super().exception(timeout)

    def _mark_cancelled(self) -> None:
        if super().cancel():
            self.set_running_or_notify_cancel()

    def __await__(self) -> Generator[Any, None, Result]:
        import asyncio

        return asyncio.wrap_future(self).__await__()


def collect_instances(instances: Instances) -> list[Instance]:
    """Returns the launches of a recording, a kernel, a path or a list."""
    try:
        return _collect(instances)
    except RecursionError:
        raise RecordingError("the list of launches is nested too deeply") from None


def _collect(instances: Instances) -> list[Instance]:
    if isinstance(instances, (str, os.PathLike)):
        instances = Recording(instances)
    if isinstance(instances, Recording):
        found = instances.instances
    elif isinstance(instances, Kernel):
        found = list(instances.values())
    elif isinstance(instances, Instance):
        found = [instances]
    elif not isinstance(instances, Iterable):
        raise RecordingError(f"expected a recording, a kernel, launches or a path, got {show(instances)}")
    else:
        found = [i for one in instances for i in _collect(one)]
    if not found:
        raise RecordingError("no recorded launch")
    return found


def make_options(
    device: str = "auto",
    workers: int = 1,
    compile_jobs: Optional[int] = None,
    app: Optional[str] = None,
    resources: bool = False,
    compile_timeout: Optional[float] = None,
    launch_timeout: Optional[float] = None,
    options: Sequence[str] = (),
    counters: Union[str, Sequence[str], None] = None,
    ptxas: Union[None, str, os.PathLike[str]] = None,
    ptxas_controls: Union[None, str, os.PathLike[str]] = None,
) -> list[str]:
    """Returns the options of ``llvm-mneme-replay serve``."""
    if isinstance(options, str):
        raise RequestError("options: expected a list of words, got a text")
    if not isinstance(options, Iterable):
        raise RequestError(f"options: expected a list of words, got {show(options)}")
    for option in options:
        if not isinstance(option, str):
            raise RequestError(f"options: expected a list of words, got {show(option)} in it")
        # The package's own connection.
        if option.lstrip("-").startswith("listen"):
            raise RequestError(f"options: {option!r} starts a server for others: start it with llvm-mneme-replay serve")
    words = [f"--device={device}", f"--workers={check_integer('workers', workers)}"]
    if compile_jobs is not None:
        words.append(f"--compile-jobs={check_integer('compile_jobs', compile_jobs)}")
    if app is not None:
        words.append(f"--app={check_path(app)}")
    if resources:
        words.append("--resources")
    if counters is not None:
        words.append(f"--counters={counters if isinstance(counters, str) else ','.join(counters)}")
    if ptxas is not None:
        words.append(f"--ptxas={check_path(ptxas)}")
    if ptxas_controls is not None:
        words.append(f"--ptxas-controls={check_path(ptxas_controls)}")
    if compile_timeout is not None:
        words.append(f"--compile-timeout={check_seconds('compile_timeout', compile_timeout)}")
    if launch_timeout is not None:
        words.append(f"--launch-timeout={check_seconds('launch_timeout', launch_timeout)}")
    return [*words, *options]


def check_count(name: str, value: object, least: int) -> None:
    """Raises an error unless an argument is an integer that is large enough."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RequestError(f"{name}: expected an integer of at least {least}, got {show(value)}")


_open_executors: weakref.WeakSet[BaseExecutor] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for executor in list(_open_executors):
        executor.close(cancel=True)


class BaseExecutor:
    """What executors on this machine and on clusters have in common."""

    instances: list[Instance]
    closed = False
    _options: list[str]  # of llvm-mneme-replay

    def __init__(self, instances: Instances) -> None:
        self._pid = os.getpid()
        self.instances = collect_instances(instances)
        self._by_id = {i.record_id: i for i in self.instances}
        _open_executors.add(self)

    # Implemented by backends.

    def _submit(self, future: EvaluationFuture, fields: dict[str, Any], data: bytes) -> None:
        raise NotImplementedError

    def _cancel(self, futures: Optional[Sequence[EvaluationFuture]]) -> None:
        raise NotImplementedError

    def _compare(self, fields: dict[str, Any], instance: Instance) -> Comparison:
        raise NotImplementedError

    def _close(self, cancel: bool) -> None:
        raise NotImplementedError

    @property
    def capacity(self) -> int:
        """The number of concurrent evaluations that keeps all devices busy."""
        raise NotImplementedError

    @property
    def devices(self) -> list[dict[str, Any]]:
        """The devices, as in the summary of a study."""
        raise NotImplementedError

    @property
    def powers(self) -> dict[str, dict[str, Any]]:
        """What the verification of each launch can detect, by record id."""
        raise NotImplementedError

    def _powers_of(self, by_kernel: Iterable[Sequence[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
        kernels = {i.kernel.path: i.kernel for i in self.instances}
        return {
            i.record_id: power
            for path, powers in zip(kernels, by_kernel)
            for i, power in zip([i for i in self.instances if i.kernel.path == path], powers)
        }

    # Submitting.

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedError("the executor is closed: create a new one")
        if self._pid != os.getpid():
            raise ForkedError(
                f"the executor belongs to process {self._pid}: create one in this process, after the fork"
            )

    def instance(self, which: Union[None, str, Instance] = None) -> Instance:
        """Returns a launch of this executor, by default the first."""
        if which is None:
            return self.instances[0]
        record_id = which.record_id if isinstance(which, Instance) else which
        if not isinstance(record_id, str):
            raise RecordingError(f"expected a launch or its record id, got {show(which)}")
        found = [i for i in self.instances if i.record_id.startswith(record_id)]
        if len(found) != 1:
            many = "several launches" if found else "no launch"
            raise RecordingError(f"this executor has {many} {record_id!r}")
        return found[0]

    def submit(
        self,
        config: Union[None, Mapping[str, object]] = None,
        /,
        *,
        ir: Optional[IR] = None,
        instance: Union[None, str, Instance] = None,
        fresh: bool = False,
        attempt: int = 0,
        own_process: bool = False,
        stop_above: Union[float, Mapping[str, float]] = 0,
        measure: bool = True,
        use_app: bool = False,
        on_device: str = "",
        **settings: Any,
    ) -> EvaluationFuture:
        """Compiles, verifies and measures a configuration. Returns a future.

        :param config: a :class:`Config` or mapping; keywords are further settings
        :param ir: replaces the recorded IR: text, bitcode, a :class:`Module`, an llvmlite module
        :param instance: the launch; default: the first of the executor
        :param fresh: measure it even if its code was measured before
        :param attempt: configurations with different attempts share no compilation
        :param own_process: compile in a process that has compiled nothing before
        :param stop_above: nanoseconds above which measuring stops, or those by :attr:`Result.device`
        :param measure: measure it, do not only verify it
        :param use_app: run the application's machine code (``app=`` of the executor) instead of compiling
        :param on_device: the device that must run it, as in :attr:`Result.device`
        """
        self._check_open()
        chosen = config if isinstance(config, Config) and not settings else Config(config, **settings)
        launch = self.instance(instance)
        data = b"" if ir is None else check_ir(ir)
        fields: dict[str, Any] = {"config": chosen._values, "instance": launch.record_id}
        if fresh:
            fields["fresh"] = True
        if attempt:
            fields["attempt"] = attempt
        if own_process:
            fields["own_process"] = True
        if stop_above:
            fields["stop_above_on" if isinstance(stop_above, Mapping) else "stop_above"] = stop_above
        if not measure:
            fields["measure"] = False
        if use_app:
            fields["app"] = True
        if on_device:
            fields["device"] = on_device
        future = EvaluationFuture(chosen, launch)
        future._executor = self
        self._submit(future, fields, data)
        return future

    def evaluate(self, config: Union[None, Mapping[str, object]] = None, /, **options: Any) -> Result:
        """Returns the result of :meth:`submit`."""
        return self.submit(config, **options).result()

    def map(
        self, configs: Iterable[Union[None, Mapping[str, object]]], *, ahead: Optional[int] = None, **options: Any
    ) -> Iterator[Result]:
        """Evaluates configurations. Returns their results in the same order.

        At most ``ahead`` evaluations are under way before the next result is taken; default: four times
        :attr:`capacity`. ``configs`` may be endless.
        """
        self._check_open()
        return self._map(configs, ahead, options)

    def _map(
        self, configs: Iterable[Union[None, Mapping[str, object]]], ahead: Optional[int], options: dict[str, Any]
    ) -> Iterator[Result]:
        waiting: deque[EvaluationFuture] = deque()
        most = max(1, ahead if ahead is not None else 4 * self.capacity)
        try:
            for config in configs:
                waiting.append(self.submit(config, **options))
                while len(waiting) >= most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            if waiting:
                self._cancel(list(waiting))

    def compare(
        self,
        *configs: Union[None, Mapping[str, object]],
        pairs: int = 30,
        instance: Union[None, str, Instance] = None,
        use_app: bool = False,
    ) -> Comparison:
        """Measures two or more configurations alternately, on an otherwise idle device.

        Returns the speed-ups over the first one with 95 % confidence intervals, from 6 pairs on. With ``use_app``, the first one is the
        application's own machine code. Raises :class:`RequestError` if a configuration fails.
        """
        self._check_open()
        check_count("pairs", pairs, 1)
        chosen = [Config(c) for c in configs]
        if len(chosen) < 2:
            raise RequestError(f"expected two or more configurations to compare, got {len(chosen)}")
        launch = self.instance(instance)
        fields = {
            "configs": [c.to_dict() for c in chosen],
            "instance": launch.record_id,
            "rounds": pairs,
            "app": use_app,
        }
        return self._compare(fields, launch)

    def cancel(self) -> None:
        """Cancels all evaluations that have not begun."""
        if not self.closed:
            self._cancel(None)

    # The end.

    def close(self, cancel: bool = False) -> None:
        """Waits for all evaluations, or cancels them, and ends all processes."""
        if self.closed or self._pid != os.getpid():
            return
        self._close(cancel)
        self.closed = True
        _open_executors.discard(self)

    shutdown = close

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        # After an error or interrupt, nobody waits for the results.
        self.close(cancel=kind is not None)

    def __reduce__(self) -> Any:
        raise RequestError("an executor cannot be sent to another process: create one there")


def make_comparison(answer: dict[str, Any], configs: Sequence[Mapping[str, object]]) -> Comparison:
    """Converts an answer to a comparison."""
    if answer["failure"]:
        raise RequestError(f"{answer['failure']}: {answer['error']}" if answer["error"] else answer["failure"])
    return Comparison(
        [_read_speedup(s) for s in answer["speedups"]], answer["samples"], [Config(c) for c in configs], answer["device"]
    )


class Executor(BaseExecutor):
    """Evaluates configurations of recorded launches.

    >>> with Executor(mneme.open("rec")["saxpy"]) as executor:
    ...     futures = [executor.submit(block_x=n) for n in (64, 128, 256)]
    ...     best = min((f.result() for f in futures), key=lambda r: r.time or float("inf"))

    :param instances: a launch, a kernel, a recording, a path, or a list of launches. Launches of several kernels are
        evaluated by several servers, which cannot share a GPU
    :param device: as for ``llvm-mneme-replay --device``: ``"host"``, ``"cuda:0"``, ``"cuda:0,cuda:1"``, ``"auto"``
    :param workers: processes that run kernels on the host device
    :param compile_jobs: compile processes; default: all cores but one per device
    :param app: the application, whose machine code can be evaluated
    :param resources: also compile for the GPU on the host device, for registers and spills
    :param counters: hardware counters of the GPU, which become metrics: ``"default"``, ``"all"`` or names
    :param ptxas: the ptxas that assembles PTX, instead of the toolkit's
    :param ptxas_controls: a controls file of ptxas for all evaluations that set none
    :param options: further options of ``llvm-mneme-replay``: ``["--tolerance=rel:1e-6"]``
    :param resubmit: resubmit evaluations once after the loss of a server; otherwise, they fail at once
    :param backend: ``"ray"`` or ``"dask"``: evaluate on a cluster (:mod:`llvm_mneme.engine`); ``cluster`` has its
        options
    """

    def __new__(cls, *args: Any, backend: Optional[str] = None, **options: Any) -> Any:
        if cls is Executor and backend is not None:
            from .engine import make_executor_class

            # Not an instance of this class, so that __init__ is not called again.
            return make_executor_class(backend)(*args, backend=backend, **options)
        return object.__new__(cls)

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
        resubmit: bool = True,
        backend: Optional[str] = None,
        counters: Union[str, Sequence[str], None] = None,
        ptxas: Union[None, str, os.PathLike[str]] = None,
        ptxas_controls: Union[None, str, os.PathLike[str]] = None,
        **cluster: Any,
    ) -> None:
        if cluster:
            name = next(iter(cluster))
            if name == "devices":
                raise RequestError("unknown option 'devices'; did you mean 'device'? One executor has several GPUs with 'cuda:0,cuda:1'")
            known = inspect.signature(Executor.__init__).parameters
            raise RequestError(f"unknown option {name!r}{nearest(name, known) or ', which needs a backend'}")
        super().__init__(instances)
        self._options = make_options(
            device, workers, compile_jobs, app, resources, compile_timeout, launch_timeout, options, counters, ptxas,
            ptxas_controls,
        )  # fmt: skip
        self._resubmit = resubmit
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._futures: dict[EvaluationFuture, _Request] = {}
        self._waiting: dict[str, deque[EvaluationFuture]] = {}
        self._sent: dict[str, set[_Request]] = {}
        kernels = {i.kernel.path: i.kernel for i in self.instances}
        self._servers: dict[str, Server] = {}
        self._opened: dict[str, dict[str, Any]] = {}
        try:
            for path in kernels:
                self._start(path)
            self._check_devices()
        except BaseException:
            self._close_servers()
            self.closed = True
            raise

    # -- Servers -------------------------------------------------------------------------------------------------------

    def _start(self, path: str) -> Server:
        records = ",".join(i.record_id for i in self.instances if i.kernel.path == path)
        server = Server(path, [*self._options, f"--record-id={records}"], self._note)
        self._servers[path] = server
        self._waiting.setdefault(path, deque())
        self._sent[path] = set()
        self._opened[path], _ = server.call("open")
        return server

    def _check_devices(self) -> None:
        if len(self._servers) < 2:
            return
        for path, opened in self._opened.items():
            for device in opened["farm"].get("devices", []):
                if device["device"] != "host":
                    names = ", ".join(sorted({i.kernel.name for i in self.instances}))
                    raise RequestError(
                        f"launches of several kernels ({names}) cannot share {device['device']}: "
                        f"create one executor after the other, or give each its own device"
                    )

    def _note(self, level: str, text: str) -> None:
        if level == "warning":
            import warnings

            warnings.warn(text, MnemeWarning, stacklevel=2)

    def _server_of(self, instance: Instance) -> Server:
        return self._servers[instance.kernel.path]

    @property
    def capacity(self) -> int:
        """The number of concurrent evaluations that keeps all devices busy."""
        return sum(opened["capacity"] for opened in self._opened.values())

    @property
    def devices(self) -> list[dict[str, Any]]:
        """The devices, as in the summary of a study."""
        self._check_open()
        found: dict[str, dict[str, Any]] = {}
        for server in self._servers.values():
            for device in server.call("stats")[0]["farm"].get("devices", []):
                found[device.get("id", device["device"])] = device
        return list(found.values())

    @property
    def powers(self) -> dict[str, dict[str, Any]]:
        """What the verification of each launch can detect, by record id."""
        return self._powers_of(opened["powers"] for opened in self._opened.values())

    def stats(self) -> list[dict[str, Any]]:
        """Returns the work of each server, as in the summary of a study."""
        self._check_open()
        return [server.call("stats")[0]["work"] for server in self._servers.values()]

    def ping(self) -> None:
        """Sends an empty call to each server and waits for the answers."""
        self._check_open()
        for server in self._servers.values():
            server.call("cancel", requests=[0])

    # -- Evaluations ---------------------------------------------------------------------------------------------------

    def _submit(self, future: EvaluationFuture, fields: dict[str, Any], data: bytes) -> None:
        request = _Request("submit", fields, data)
        future._request = request
        path = future.instance.kernel.path
        try:
            with self._lock:
                self._futures[future] = request
                if len(self._sent[path]) >= _MOST_SENT:
                    self._waiting[path].append(future)
                    return
            self._send(future, request, path)
        except BaseException:
            # A wrong request, or an interrupt, after which the result may come nevertheless.
            self._forget(future, request, path)
            raise

    def _forget(self, future: EvaluationFuture, request: _Request, path: str) -> None:
        with self._lock:
            self._sent[path].discard(request)
            self._futures.pop(future, None)
            if future in self._waiting[path]:
                self._waiting[path].remove(future)
            self._idle.notify_all()

    def _send(self, future: EvaluationFuture, request: _Request, path: str) -> None:
        with self._lock:
            server = self._servers[path]
            self._sent[path].add(request)
            request.server = server
            request.is_sent = True

        def handler(answer: Optional[dict[str, Any]], _: Any) -> None:
            self._take(future, request, path, server, answer)

        try:
            request.number = server.send(request.type, request.fields, handler, request.data)
        except (ServerLostError, ClosedError):
            self._take(future, request, path, server, None)

    def _take(
        self,
        future: EvaluationFuture,
        request: _Request,
        path: str,
        server: Server,
        answer: Optional[dict[str, Any]],
    ) -> None:
        """Takes the answer to an evaluation; None: the server is lost. Called in the reading thread."""
        if answer is None and self._try_again(future, request, path, server):
            return
        with self._lock:
            self._futures.pop(future, None)
            self._sent[path].discard(request)
            following = self._waiting[path].popleft() if self._waiting[path] else None
            self._idle.notify_all()
        try:
            if answer is None:
                if self.closed:
                    future._mark_cancelled()
                else:
                    future.set_exception(ServerLostError(server._lost or "the server is lost"))
            elif answer["type"] == "failed":
                future.set_exception(make_error(answer))
            elif answer["failure"] == "Cancelled":
                future._mark_cancelled()
            else:
                result = Result(answer, future.config, future.instance, request.data or None, self._options)
                result._owner = weakref.ref(self)
                future.set_result(result)
        except InvalidStateError:
            pass  # cancelled meanwhile
        if following is not None:
            assert following._request is not None
            try:
                self._send(following, following._request, path)
            except RequestError as error:
                self._forget(following, following._request, path)
                following.set_exception(error)

    def _try_again(self, future: EvaluationFuture, request: _Request, path: str, server: Server) -> bool:
        """Submits an evaluation to a new server, once."""
        with self._lock:
            if self.closed or not self._resubmit or request.losses:
                return False
            request.losses += 1
            try:
                if self._servers[path] is server:
                    # Called in the lost server's thread, for each of its requests.
                    server.close()
                    self._start(path)
                    import warnings

                    warnings.warn(f"{server._lost}; its evaluations begin again", MnemeWarning, stacklevel=2)
            except Exception:
                return False
        self._send(future, request, path)
        return True

    def _cancel(self, futures: Optional[Sequence[EvaluationFuture]]) -> None:
        with self._lock:
            chosen = list(self._futures) if futures is None else [f for f in futures if f in self._futures]
            waiting = {f for queue in self._waiting.values() for f in queue}.intersection(chosen)
            for path, queue in self._waiting.items():
                self._waiting[path] = deque(f for f in queue if f not in waiting)
            for future in waiting:
                del self._futures[future]
            numbers: dict[Server, list[int]] = {}
            for future in chosen:
                request = self._futures.get(future)
                if request and request.server and request.number:
                    numbers.setdefault(request.server, []).append(request.number)
        for future in waiting:
            future._mark_cancelled()
        for server, requests in numbers.items():
            try:
                if server.is_reading():  # In a callback of a future, which nobody waits for.
                    server.send("cancel", {"requests": requests}, lambda answer, extra: None)
                else:
                    server.call("cancel", requests=requests)
            except (ServerLostError, ClosedError):
                pass

    def _compare(self, fields: dict[str, Any], instance: Instance) -> Comparison:
        server = self._server_of(instance)
        try:
            answer, _ = server.call("compare", **fields)
        except ServerLostError:
            if not self._resubmit:
                raise
            with self._lock:
                if self._servers[instance.kernel.path] is server:
                    server.close()
                    self._start(instance.kernel.path)
                server = self._server_of(instance)
            answer, _ = server.call("compare", **fields)
        return make_comparison(answer, fields["configs"])

    # -- The end -------------------------------------------------------------------------------------------------------

    def _close(self, cancel: bool) -> None:
        if cancel:
            self._cancel(None)
        else:
            with self._lock:
                while self._futures:
                    self._idle.wait()
        self.closed = True
        self._close_servers()
        with self._lock:
            left = list(self._futures)
            self._futures.clear()
        for future in left:
            future._mark_cancelled()

    def _close_servers(self) -> None:
        for server in self._servers.values():
            server.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{len(self._futures)} under way"
        return f"<Executor of {len(self.instances)} launches: {state}>"
