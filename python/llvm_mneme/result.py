# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from ._tables import METRICS, MetricTable
from .config import Config

if TYPE_CHECKING:
    from .ir import Module
    from .recording import Instance

_FIELDS = (
    "failure",
    "error",
    "compared",
    "stopped",
    "metrics",
    "samples",
    "ir",
    "assembly",
    "code",
    "duplicate",
    "duplicate_of",
    "compile_seconds",
    "run_seconds",
    "started",
    "ended",
    "worker",
    "device",
)

_MATCHES = {
    "tolerance": "MatchWithinTolerance",
    "envelope": "MatchWithinEnvelope",
    "unordered": "MatchUnordered",
}


class Result(MetricTable):
    """What became of a configuration: a verdict, times and resources.

    ``failure`` is empty if the launch verified, otherwise a verdict (``Mismatch``, ``Crash``, ``Timeout``,
    ``CompileError``, ``Unsupported``, ``TooFast``) or ``Invalid``, ``WorkerLost``, ``Cancelled``, ``Interrupted``, ``Distrusted``;
    ``error`` is its message. A metric is an attribute: ``time`` in nanoseconds, ``reg_usage``, ...
    """

    __slots__ = ("_data", "config", "instance", "_source", "_owner", "_options")

    def __init__(
        self,
        data: dict[str, Any],
        config: Config,
        instance: Instance,
        source: Optional[bytes] = None,
        options: Sequence[str] = (),
    ) -> None:
        self._data = data
        self.config = config
        self.instance = instance
        self._source = source  # the IR that was submitted
        self._owner: Any = None  # a weak reference to the executor
        self._options = tuple(options)  # of the executor

    @property
    def verdict(self) -> str:
        """As in the JSON of the tools: ``"Match"``, ``"MatchWithinTolerance"``, ``"Mismatch"``, ..."""
        return self.failure or _MATCHES.get(self.compared, "Match")

    @property
    def failure(self) -> str:
        """Empty if the launch verified."""
        return self._data["failure"]

    @property
    def error(self) -> str:
        """The message of the failure."""
        return self._data["error"]

    @property
    def diagnostics(self) -> Sequence[Mapping[str, Any]]:
        """The front end's messages about a source that it rejected: file, line, column, severity, message, ..."""
        return self._data["diagnostics"]

    @property
    def suspicions(self) -> Sequence[str]:
        """Reasons not to trust a source: reads of clocks, inline assembly, ... that the recorded kernel lacks."""
        return self._data["suspicions"]

    @property
    def verified(self) -> bool:
        """The launch left the memory that was recorded."""
        return not self._data["failure"]

    @property
    def compared(self) -> str:
        """The most lenient level at which memory was compared: exact, tolerance, envelope or unordered."""
        return self._data["compared"]

    @property
    def stopped(self) -> bool:
        """Measuring stopped at ``stop_above``."""
        return self._data["stopped"]

    @property
    def metrics(self) -> Mapping[str, float]:
        """All measured metrics, by name."""
        return self._data["metrics"]

    @property
    def samples(self) -> Sequence[float]:
        """Nanoseconds of the timed launches."""
        return self._data["samples"]

    @property
    def ir_hash(self) -> str:
        """Hash of the optimized IR."""
        return self._data["ir"]

    @property
    def assembly_hash(self) -> str:
        """Hash of the PTX."""
        return self._data["assembly"]

    @property
    def code_hash(self) -> str:
        """Hash of the machine code."""
        return self._data["code"]

    @property
    def duplicate(self) -> Optional[str]:
        """The level at which equal code of an earlier configuration was recognized: config, ir, assembly, code."""
        return self._data["duplicate"]

    @property
    def duplicate_of(self) -> Optional[int]:
        """Number of the earlier request of the same executor."""
        return self._data["duplicate_of"]

    @property
    def number(self) -> int:
        """Number of the request."""
        return self._data["id"]

    @property
    def compile_seconds(self) -> float:
        return self._data["compile_seconds"]

    @property
    def run_seconds(self) -> float:
        return self._data["run_seconds"]

    @property
    def started(self) -> float:
        """Seconds since the epoch."""
        return self._data["started"]

    @property
    def ended(self) -> float:
        return self._data["ended"]

    @property
    def worker(self) -> str:
        """The process that measured it."""
        return self._data["worker"]

    @property
    def device(self) -> str:
        """The device that measured it: ``machine/device``."""
        return self._data["device"]

    def _server(self) -> Any:
        """The server of the executor, which has the device; None: it is closed."""
        owner = self._owner() if self._owner is not None else None
        return owner._server_of(self.instance) if owner is not None and not owner.closed else None

    def __getstate__(self) -> Any:
        return (self._data, self.config, self.instance, self._source, self._options)

    def __setstate__(self, state: Any) -> None:
        self._data, self.config, self.instance, self._source, self._options = state
        self._owner = None

    def module(self, optimized: bool = True) -> Module:
        """Returns the IR, by default after the configuration's pipeline."""
        return self.instance._module(self.config, optimized, self._source, self._server())

    def buffer(self, buffer: Any, dtype: Any = None) -> Any:
        """Returns the memory of a buffer after a launch of this configuration, like :meth:`Buffer.before`.

        ``buffer`` is a :class:`Buffer`, or its number, name or tag. The kernel is launched again.
        """
        return self.instance.buffer(buffer)._view(
            "result", dtype, self.config, self._source, self._server()
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns all values with the names of the protocol."""
        return {
            "kernel": self.instance.kernel.name,
            "static_hash": self.instance.kernel.static_hash,
            "record_id": self.instance.record_id,
            "config": self.config.to_dict(),
            **{name: self._data[name] for name in _FIELDS},
        }

    def __repr__(self) -> str:
        what = self.failure or (f"{_nanoseconds(self.time)}" if self.time is not None else "verified")
        return f"<Result {what}: {self.config!r}>"

    def _repr_html_(self) -> str:
        from ._html import table

        rows: list[list[object]] = [["verdict", self.verdict]]
        if self.error:
            rows.append(["error", self.error])
        for name, metric in METRICS.items():
            if name in self.metrics:
                value = self.metrics[name]
                rows.append([name, _nanoseconds(value) if name == "time" else f"{value:g} {metric.unit}".strip()])
        rows += [["device", self.device], ["configuration", repr(self.config)]]
        return table(["", ""], rows)


def _nanoseconds(value: Optional[float]) -> str:
    if value is None:
        return "-"
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value:.4g} ns"
