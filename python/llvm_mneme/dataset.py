# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Datasets: a row for each replay, failures included; IR once by hash; corpora for MLGO."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Optional, Union

from ._tables import METRICS, VERSION
from .errors import RequestError, check_path, need, opening, show
from .recording import Instance, Recording
from .result import Result

if TYPE_CHECKING:
    from .tuning import Study

SCHEMA = 1
_BATCH = 16384

# Names and Arrow types of the columns, besides one for each metric.
_TEXTS: tuple[str, ...] = ("kernel", "static_hash", "record_id", "arch", "recorded_opt_level", "group", "group_launch", "config")
_TEXTS += ("passes", "failure", "error", "compared", "ir_hash", "assembly_hash", "code_hash", "duplicate", "worker", "device")
_TEXTS += ("source_ir", "mneme_version")
_NUMBERS = ("compile_seconds", "run_seconds", "started", "ended")

Results = Union["Study", Iterable[Result]]


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


class _Kernels:
    """The parts of rows that are the same for all replays of a launch."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[Instance, dict[str, Any]]] = {}

    def part(self, instance: Instance) -> dict[str, Any]:
        known = self._parts.get(id(instance))
        if known is None:
            kernel = instance.kernel
            digests = kernel._data.get("ModuleDigests") or [""]
            part = {
                "schema": SCHEMA,
                "mneme_version": VERSION,
                "kernel": kernel.name,
                "static_hash": kernel.static_hash,
                "record_id": instance.record_id,
                "arch": kernel.arch,
                "recorded_opt_level": kernel.opt_level,
                "group": kernel.static_hash,
                "group_launch": f"{kernel.static_hash}.{instance.record_id}",
                "source_ir": digests[0],
            }
            known = self._parts[id(instance)] = (instance, part)
        return known[1]


def _row(result: Result, kernels: _Kernels) -> dict[str, Any]:
    if not isinstance(result, Result):
        raise RequestError(f"expected results, got {show(result)}")
    data = result._data
    instance = result.instance
    row = dict(kernels.part(instance))
    config = result.config
    block, grid = instance.block, instance.grid
    if result._source is not None:
        row["source_ir"] = _hash(result._source)
    row["config"] = json.dumps(config._values, sort_keys=True)
    row["passes"] = config._values.get("passes", "")
    for axis, value in zip("xyz", block):
        row[f"block_{axis}"] = config._values.get(f"block.{axis}", value)
    for axis, value in zip("xyz", grid):
        row[f"grid_{axis}"] = config._values.get(f"grid.{axis}", value)
    row["shared_mem"] = config._values.get("shared_mem", instance.shared_mem)
    row["verified"] = not data["failure"]
    row["failure"] = data["failure"]
    row["error"] = data["error"]
    row["compared"] = data["compared"]
    row["stopped"] = data["stopped"]
    metrics = data["metrics"]
    for name in METRICS:
        row[name] = metrics.get(name)
    row["samples"] = data["samples"]
    row["ir_hash"] = data["ir"]
    row["assembly_hash"] = data["assembly"]
    row["code_hash"] = data["code"]
    row["duplicate"] = data["duplicate"] or ""
    for name in _NUMBERS:
        row[name] = data[name]
    row["worker"] = data["worker"]
    row["device"] = data["device"]
    return row


def rows(results: Results) -> Iterator[dict[str, Any]]:
    """Returns a row for each result of a study or an iterable, as :func:`write` writes it."""
    kernels = _Kernels()
    for result in _results(results):
        yield _row(result, kernels)


def _results(results: Results) -> Iterable[Result]:
    trials = getattr(results, "trials", None)
    if trials is not None:
        return [t.result for t in trials if t.result is not None]
    return results  # type: ignore[return-value]


def _make_schema(arrow: Any) -> Any:
    fields = [("schema", arrow.int32())]
    fields += [(name, arrow.string()) for name in _TEXTS]
    fields += [(f"{what}_{axis}", arrow.int64()) for what in ("block", "grid") for axis in "xyz"]
    fields += [("shared_mem", arrow.int64()), ("verified", arrow.bool_()), ("stopped", arrow.bool_())]
    fields += [(name, arrow.float64()) for name in (*METRICS, *_NUMBERS)]
    fields += [("samples", arrow.list_(arrow.float64()))]
    return arrow.schema(fields, metadata={"mneme_schema": str(SCHEMA), "mneme_version": VERSION})


class Writer:
    """Writes rows one by one, for use during a search::

        with Writer("trials.parquet") as writer:
            tune(space, executor, callbacks=[lambda study, trial: writer.add(trial.result)])

    The suffix is the format: ``.parquet``, ``.jsonl`` or ``.csv``. Lines are appended and flushed one by one; a Parquet
    file is readable when the writer is closed. In CSV, ``samples`` is a JSON list.

    :param ir: ``"recorded"`` or ``"optimized"``: also write the IR, once by hash, as bitcode below ``PATH.ir``. The
        file of a row's IR is ``source_ir`` or ``ir_hash``, with ``.bc``
    """

    def __init__(self, path: Union[str, os.PathLike[str]], ir: Optional[str] = None) -> None:
        self.path = check_path(path)
        if ir not in (None, "recorded", "optimized"):
            raise RequestError(f"ir: expected 'recorded' or 'optimized', got {show(ir)}")
        self._ir = ir
        self._kernels = _Kernels()
        self._batch: list[dict[str, Any]] = []
        self._file: Any = None
        self._seen: set[str] = set()
        suffix = os.path.splitext(self.path)[1]
        if suffix == ".parquet":
            self._arrow = need("pyarrow", "arrow")
            parquet = need("pyarrow.parquet", "arrow")
            self._schema = _make_schema(self._arrow)
            with opening("write", self.path):
                self._parquet = parquet.ParquetWriter(self.path, self._schema, compression="zstd")
        elif suffix in (".jsonl", ".csv"):
            self._parquet = None
            with opening("write", self.path):
                self._file = open(self.path, "a", newline="")
                self._is_empty = not self._file.tell()
        else:
            raise RequestError(f"{self.path!r}: expected a name with .parquet, .jsonl or .csv")
        self._is_csv = suffix == ".csv"

    def add(self, result: Optional[Result]) -> None:
        """Adds a row; ``None`` (a trial of an earlier run) is ignored."""
        if result is None:
            return
        row = _row(result, self._kernels)
        if self._ir:
            self._write_ir(result, row)
        if self._file is not None:
            with opening("write", self.path):
                self._write_line(row)
                self._file.flush()
            return
        self._batch.append(row)
        if len(self._batch) == _BATCH:
            self._write_batch()

    def _write_line(self, row: dict[str, Any]) -> None:
        if not self._is_csv:
            self._file.write(json.dumps(row) + "\n")
            return
        writer = csv.DictWriter(self._file, list(row))
        if self._is_empty:
            writer.writeheader()
            self._is_empty = False
        writer.writerow({**row, "samples": json.dumps(row["samples"])})

    def _write_ir(self, result: Result, row: dict[str, Any]) -> None:
        optimized = self._ir == "optimized"
        name = row["ir_hash"] if optimized else row["source_ir"]
        if not name or name in self._seen:
            return
        self._seen.add(name)
        folder = self.path + ".ir"
        with opening("write", folder):
            os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{name}.bc")
        if not os.path.exists(path):
            _write(path, result.module(optimized).bitcode)

    def _write_batch(self) -> None:
        if self._batch:
            columns = {name: [row[name] for row in self._batch] for name in self._schema.names}
            self._parquet.write_table(self._arrow.table(columns, schema=self._schema))
            self._batch.clear()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        elif self._parquet is not None:
            self._write_batch()
            self._parquet.close()
            self._parquet = None

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write(path: Union[str, os.PathLike[str]], results: Results, *, ir: Optional[str] = None) -> int:
    """Writes the results of a study or an iterable to a file (:class:`Writer`). Returns the number of rows."""
    count = 0
    path = check_path(path)
    with opening("replace", path):
        if os.path.exists(path):
            os.remove(path)
    with Writer(path, ir) as writer:
        for result in _results(results):
            writer.add(result)
            count += 1
    return count


def export_corpus(folder: Union[str, os.PathLike[str]], recordings: Union[Recording, Iterable[Recording]]) -> int:
    """Writes recorded IR as a corpus for MLGO's tools: ``corpus_description.json``, a ``.bc`` and a ``.cmd`` for each
    kernel. Equal IR is written once. Returns the number of modules."""
    folder = check_path(folder)
    with opening("write", folder):
        os.makedirs(folder, exist_ok=True)
    modules: list[str] = []
    seen: set[str] = set()
    for recording in [recordings] if isinstance(recordings, Recording) else recordings:
        if not isinstance(recording, Recording):
            raise RequestError(f"expected recordings, got {show(recording)}")
        for kernel in recording.values():
            bitcode = next(iter(kernel.values())).module().bitcode
            digest = _hash(bitcode)
            if digest in seen:
                continue
            seen.add(digest)
            name = f"{kernel.static_hash}"
            _write(os.path.join(folder, f"{name}.bc"), bitcode)
            arguments = ["-cc1", "-triple", kernel.triple, "-target-cpu", kernel.arch, f"-O{kernel.opt_level}", "-x", "ir"]
            _write(os.path.join(folder, f"{name}.cmd"), "\0".join(arguments).encode())
            modules.append(name)
    if not modules:
        raise RequestError("no kernel to export")
    text = json.dumps({"has_thinlto": False, "modules": modules}, indent=2)
    _write(os.path.join(folder, "corpus_description.json"), text.encode())
    return len(modules)


def _write(path: str, data: bytes) -> None:
    with opening("write", path):
        with open(f"{path}.tmp", "wb") as file:
            file.write(data)
        os.replace(f"{path}.tmp", path)
