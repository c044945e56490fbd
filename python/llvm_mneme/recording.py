# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings: kernels and launches as mappings. Reading them needs no server, except for IR and memory."""

from __future__ import annotations

import json
import mmap
import os
import struct
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, TypeVar, Union

from .config import Config
from .errors import RecordingError, check_path, nearest, need, opening, show

if TYPE_CHECKING:
    from .ir import Module
    from .server import Server

_T = TypeVar("_T")

# Values of RecordFormat.h.
_ARGS, _REGION, _ANNOTATION, _END = 1, 2, 4, 255
_KINDS = {1: "heap", 2: "variable", 3: "managed", 4: "pinned", 5: "texture"}
# Element types of annotations: NumPy's names, and formats of struct.
_TYPES = {
    "bytes": ("uint8", "B"),
    "f32": ("float32", "f"),
    "f64": ("float64", "d"),
    "f16": ("float16", "e"),
    "bf16": ("uint16", "H"),
    "i8": ("int8", "b"),
    "i16": ("int16", "h"),
    "i32": ("int32", "i"),
    "i64": ("int64", "q"),
    "u8": ("uint8", "B"),
    "u16": ("uint16", "H"),
    "u32": ("uint32", "I"),
    "u64": ("uint64", "Q"),
}
_DTYPES = tuple(_TYPES)
_TOLERANCES = ("exact", "abs", "rel", "ulp")
_NORMS = ("none", "l1", "l2", "linf")
# Formats of struct by IR type.
_SCALARS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "half": "e", "float": "f", "double": "d"}




def _unknown_type(dtype: object) -> RecordingError:
    return RecordingError(
        f"unknown element type {show(dtype)}: expected one of NumPy ('float32', '<i4') or of an annotation ('f32')"
    )


def _element_type(numpy: Any, dtype: Any) -> Any:
    """Returns NumPy's type. A text has NumPy's meaning if it has one: "i8" has 8 bytes."""
    try:
        # numpy.dtype("bytes") is a text without a length.
        found = numpy.dtype("uint8" if isinstance(dtype, str) and dtype == "bytes" else dtype)
    except TypeError:
        if not isinstance(dtype, str) or dtype not in _TYPES:
            raise _unknown_type(dtype) from None
        found = numpy.dtype(_TYPES[dtype][0])
    if not found.itemsize or found.hasobject:
        raise _unknown_type(dtype)
    return found


def _element_format(dtype: Any) -> str:
    """Returns the format of a memoryview for a type of NumPy or of an annotation, or raises an error that NumPy is needed."""
    formats = dict(_TYPES.values())
    name = dtype.lstrip("<=|") if isinstance(dtype, str) else ""
    kind = {"i": "int", "u": "uint", "f": "float"}.get(name[:1])
    if kind and name[1:] in ("1", "2", "4", "8", "16"):
        name = f"{kind}{8 * int(name[1:])}"
    elif name in _TYPES:
        name = _TYPES[name][0]
    if formats.get(name, "e") == "e":  # of half precision, which a memoryview does not have
        need("numpy", "numpy")
    return formats[name]


class Dim3(NamedTuple):
    """A grid or block."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def size(self) -> int:
        """The number of blocks or threads."""
        return self.x * self.y * self.z

    def __str__(self) -> str:
        return f"{self.x}x{self.y}x{self.z}"


class Argument(NamedTuple):
    """An argument of a recorded launch."""

    name: str
    type: str  # in the IR
    kind: str  # "value", "pointer" or "aggregate"
    data: bytes

    @property
    def value(self) -> Union[int, float, bool, bytes]:
        """A number, the address of a pointer, or the bytes of everything else."""
        if self.kind == "pointer" and len(self.data) == 8:
            return int.from_bytes(self.data, "little")
        if self.type == "i1":
            return bool(self.data[0] & 1)
        form = _SCALARS.get(self.type)
        if self.kind == "value" and form and struct.calcsize(form) == len(self.data):
            return struct.unpack("<" + form, self.data)[0]
        return self.data

    def __repr__(self) -> str:
        value = hex(self.value) if self.kind == "pointer" and isinstance(self.value, int) else repr(self.value)
        return f"<Argument {self.name + ': ' if self.name else ''}{self.type} {value}>"


class Annotation(NamedTuple):
    """The application's rule for comparing a range of memory."""

    address: int
    size: int
    dtype: str
    tolerance: str  # "exact", "abs", "rel" or "ulp"
    value: float
    norm: str
    tag: str


class Buffer:
    """Memory of a recorded launch: an allocation or a device variable."""

    def __init__(self, instance: Instance, id: int, address: int, size: int, kind: str, name: str) -> None:
        self.instance = instance
        self.id = id
        self.address = address
        self.size = size
        self.kind = kind
        self.name = name
        self._views: dict[str, mmap.mmap] = {}

    @property
    def annotations(self) -> list[Annotation]:
        """The application's rules for this memory."""
        return [a for a in self.instance.annotations if self.address <= a.address < self.address + self.size]

    @property
    def dtype(self) -> str:
        """NumPy's name of the element type (``"float32"``), if the application has annotated the buffer; else
        ``"uint8"``."""
        types = {a.dtype for a in self.annotations}
        return _TYPES[types.pop() if len(types) == 1 else "bytes"][0]

    def before(self, dtype: Any = None) -> Any:
        """Returns the contents before the launch: a read-only NumPy array of ``dtype``, without a copy.

        ``dtype`` is one of NumPy (``"float32"``, ``"i8"``: 8 bytes), or of an annotation if NumPy has none of that name
        (``"f32"``); default: :attr:`dtype`. Without NumPy, the result is a ``memoryview``. The server reads the memory
        once; later views share it.
        """
        return self._view("before", dtype)

    def after(self, dtype: Any = None) -> Any:
        """Returns the contents after the launch, like :meth:`before`."""
        return self._view("after", dtype)

    def _view(
        self,
        when: str,
        dtype: Any,
        config: Optional[Config] = None,
        source: Optional[bytes] = None,
        server: Optional[Server] = None,
    ) -> Any:
        view = self._views.get(when) if config is None else None
        if view is None:
            view = self._map(when, config, source, server)
            if config is None and view is not None:
                self._views[when] = view
        if dtype is None:
            dtype = self.dtype
        try:
            import numpy
        except ImportError:
            form = _element_format(dtype)
            count = self.size // struct.calcsize(form)
            plain: Any = memoryview(view or b"").toreadonly()
            return plain[: count * struct.calcsize(form)].cast(form)
        kind = _element_type(numpy, dtype)
        count = self.size // kind.itemsize
        if not count or view is None:
            return numpy.empty(0, kind)
        return numpy.frombuffer(view, kind, count)

    def _map(
        self, when: str, config: Optional[Config], source: Optional[bytes], server: Optional[Server]
    ) -> Optional[mmap.mmap]:
        fields: dict[str, Any] = {"buffer": self.id, "instance": self.instance.record_id, "when": when}
        if config is not None:
            fields["config"] = config.to_dict()
        server = server or self.instance.kernel._reader()
        _, descriptor = server.call("memory", source or b"", **fields)
        try:
            return mmap.mmap(descriptor, self.size, prot=mmap.PROT_READ) if self.size else None
        finally:
            os.close(descriptor)

    def __repr__(self) -> str:
        from ._html import size

        name = f" {self.name!r}" if self.name else ""
        return f"<Buffer {self.id}{name}: {size(self.size)} of {self.kind}>"


class Instance:
    """One recorded launch."""

    def __init__(self, kernel: Kernel, record_id: str, data: Mapping[str, Any]) -> None:
        self.kernel = kernel
        self.record_id = record_id
        self._data = data
        self._snapshot: Optional[_Snapshot] = None

    @property
    def grid(self) -> Dim3:
        return Dim3(*(self._data["GridDims"][axis] for axis in "xyz"))

    @property
    def block(self) -> Dim3:
        return Dim3(*(self._data["BlockDims"][axis] for axis in "xyz"))

    @property
    def shared_mem(self) -> int:
        """Bytes of dynamic shared memory."""
        return self._data["SharedMem"]

    @property
    def cooperative(self) -> bool:
        return self._data.get("Cooperative", False)

    @property
    def cluster(self) -> Dim3:
        """Size of a cluster, in blocks: 1, 1, 1 without clusters."""
        dims = self._data.get("ClusterDims", {})
        return Dim3(*(dims.get(axis, 1) for axis in "xyz"))

    @property
    def occurrences(self) -> int:
        """Launches with this configuration, recorded or not."""
        return self._data.get("Occurrences", 1)

    @property
    def device(self) -> Mapping[str, str]:
        """The GPU that ran the launch; empty for the host device."""
        return self._data.get("Device", {})

    @property
    def config(self) -> Config:
        """The recorded launch as a configuration."""
        return Config(block=self.block, grid=self.grid, shared_mem=self.shared_mem)

    def _read(self) -> _Snapshot:
        if self._snapshot is None:
            path = os.path.join(self.kernel.folder, os.path.basename(self._data["Prologue"]))
            self._snapshot = _Snapshot(self, path)
        return self._snapshot

    @property
    def args(self) -> Sequence[Argument]:
        """The arguments with their values."""
        types = self.kernel._data["Args"]
        values = self._read().args
        if len(types) != len(values):
            raise RecordingError(f"{self.record_id}: its arguments are not those of the kernel")
        return [Argument(t["Name"], t["Type"], t["Kind"], v) for t, v in zip(types, values)]

    @property
    def buffers(self) -> Sequence[Buffer]:
        """The memory, sorted by address."""
        return self._read().buffers

    @property
    def annotations(self) -> Sequence[Annotation]:
        """The application's rules for comparing memory."""
        return self._read().annotations

    def buffer(self, which: Union[int, str, Buffer]) -> Buffer:
        """Returns a buffer by number, name of a variable, tag of an annotation, or an address inside it."""
        if isinstance(which, Buffer):
            return which
        for buffer in self.buffers:
            if buffer.id == which or (which and buffer.name == which):
                return buffer
        for buffer in self.buffers:
            inside = isinstance(which, int) and buffer.address <= which < buffer.address + buffer.size
            if inside or any(a.tag == which for a in buffer.annotations):
                return buffer
        names = [b.name for b in self.buffers if b.name] + [a.tag for a in self.annotations if a.tag]
        raise RecordingError(f"launch {self.record_id} has no buffer {which!r}{nearest(str(which), names)}")

    def pointee(self, argument: Union[int, Argument]) -> Optional[Buffer]:
        """Returns the buffer that a pointer argument points into; None if it points into none."""
        if isinstance(argument, int):
            if not 0 <= argument < len(self.args):
                raise RecordingError(f"launch {self.record_id} has no argument {show(argument)}: it has {len(self.args)}")
            argument = self.args[argument]
        if not isinstance(argument, Argument):
            raise RecordingError(f"expected the number of an argument, got {show(argument)}")
        value = argument.value
        if argument.kind != "pointer" or not isinstance(value, int):
            return None
        for buffer in self.buffers:
            if buffer.address <= value < buffer.address + buffer.size:
                return buffer
        return None

    def module(self) -> Module:
        """Returns the recorded IR, before any optimization."""
        return self._module(Config(), False, None)

    def _module(
        self, config: Config, optimized: bool, source: Optional[bytes], server: Optional[Server] = None
    ) -> Module:
        from .ir import Module

        return Module(self, config, optimized, source, server)

    def __reduce__(self) -> Any:
        return (_get_instance, (self.kernel.path, self.record_id))

    def __repr__(self) -> str:
        return f"<Instance {self.record_id} of {self.kernel.name}: grid {self.grid}, block {self.block}>"

    def _repr_html_(self) -> str:
        from ._html import size, table

        rows: list[list[object]] = [
            ["launch", f"grid {self.grid}, block {self.block}, shared memory {self.shared_mem} bytes"],
            ["launches", self.occurrences],
        ]
        for number, arg in enumerate(self.args):
            buffer = self.pointee(arg)
            value = f"buffer {buffer.id}" if buffer else arg.value
            rows.append([f"argument {arg.name or number}", f"{arg.type}: {value!r}" if not buffer else value])
        for b in self.buffers:
            rows.append([f"buffer {b.id} {b.name}", f"{size(b.size)} of {b.kind}, {b.dtype}"])
        return table(["", ""], rows, f"{self.kernel.name}, launch {self.record_id}")


class _ByBeginning(Mapping[str, _T]):
    """A mapping whose keys may be shortened, and given by other names."""

    _what = _plural = ""

    def _items(self) -> Mapping[str, _T]:
        raise NotImplementedError

    def _names(self, value: _T) -> Sequence[str]:
        return ()

    def _where(self) -> str:
        raise NotImplementedError

    def __getitem__(self, key: str) -> _T:
        items = self._items()
        if not isinstance(key, str):
            raise RecordingError(f"expected a hash or name, got {key!r}")
        if key in items:
            return items[key]
        found = [v for k, v in items.items() if key and (k.startswith(key) or key in self._names(v))]
        if len(found) == 1:
            return found[0]
        if found:
            raise RecordingError(f"{self._where()} has several {self._plural} {key!r}: give more of the hash")
        names = [*items, *(name for value in items.values() for name in self._names(value))]
        raise RecordingError(f"{self._where()} has no {self._what} {key!r}{nearest(key, names)}")

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except RecordingError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._items())

    def __len__(self) -> int:
        return len(self._items())

    def only(self) -> _T:
        """Returns the only element. Raises :class:`RecordingError` if there are several."""
        items = self._items()
        if len(items) != 1:
            listing = "".join(f"\n  {value!r}" for value in items.values())
            raise RecordingError(f"{self._where()} has {len(items)} {self._plural}: choose one{listing}")
        return next(iter(items.values()))


class Kernel(_ByBeginning[Instance]):
    """A kernel: a mapping of its recorded launches by record id (dynamic hash), which may be shortened."""

    _what, _plural = "launch", "launches"

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.folder = os.path.dirname(self.path)
        self._lock = threading.Lock()
        self._server: Optional[Server] = None
        try:
            with _open(self.path, "rb") as file:
                self._data = json.load(file)
        except OSError as error:
            raise RecordingError(f"cannot read {path!r}: {error.strerror}") from None
        except ValueError as error:
            raise RecordingError(f"{path!r} is not a kernel's JSON file: {error}") from None
        try:
            if self._data["FormatVersion"] not in (1, 2):
                raise RecordingError(f"{path!r} has format version {self._data['FormatVersion']}, expected 1 or 2")
            instances = sorted(self._data["instances"].items(), key=lambda item: item[1]["Index"])
            self._instances = {k: Instance(self, k, v) for k, v in instances}
            self.static_hash: str = self._data["StaticHash"]
            self.symbol: str = self._data["KernelName"]
        except (KeyError, TypeError, AttributeError) as error:
            raise RecordingError(f"{path!r} is not a kernel's JSON file: {error!r} is missing or wrong") from None

    def _items(self) -> Mapping[str, Instance]:
        return self._instances

    def _where(self) -> str:
        return f"kernel {self.name}"

    @property
    def name(self) -> str:
        """The demangled name."""
        return self._data.get("DemangledName") or self.symbol

    @property
    def arch(self) -> str:
        """The GPU architecture that the application was compiled for."""
        return self._data["Arch"]

    @property
    def triple(self) -> str:
        return self._data["Triple"]

    @property
    def opt_level(self) -> str:
        """The application's own ``-O`` level."""
        return self._data["OptLevel"]

    @property
    def toolchain(self) -> str:
        """The application's compiler."""
        return self._data["Toolchain"]

    def _reader(self) -> Server:
        """Returns a server that reads IR and memory. It opens no device."""
        from .server import Server

        with self._lock:
            if self._server is None or self._server.closed or self._server._lost or self._server._pid != os.getpid():
                self._server = Server(self.path)
                weakref.finalize(self, self._server.close)
            return self._server

    def __repr__(self) -> str:
        return f"<Kernel {self.name} ({self.static_hash[:8]}): {len(self)} launches>"

    def _repr_html_(self) -> str:
        from ._html import table

        rows = [[i.record_id, i.grid, i.block, i.shared_mem, i.occurrences] for i in self.values()]
        caption = f"{self.name}: {self.static_hash}, {self.arch}, -O{self.opt_level}"
        return table(["launch", "grid", "block", "shared", "launches"], rows, caption)

    # Executors and results are sent to other processes with their kernels.
    def __reduce__(self) -> Any:
        return (Kernel, (self.path,))


def _get_instance(path: str, record_id: str) -> Instance:
    return Kernel(path)[record_id]


class Recording(_ByBeginning[Kernel]):
    """A folder of recorded kernels: a mapping by static hash, which may be shortened, or by name."""

    _what, _plural = "kernel", "kernels"

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        path = check_path(path, RecordingError)
        self.path = os.path.abspath(path)
        if os.path.isdir(self.path):
            with opening("read", path, RecordingError):
                names = [n for n in sorted(os.listdir(self.path)) if n.endswith(".json") and len(n) == 37]
            paths = [os.path.join(self.path, n) for n in names]
        elif os.path.exists(self.path):
            paths = [self.path]
        else:
            raise RecordingError(f"there is no file or folder {show(path)}")
        if not paths:
            raise RecordingError(f"{path!r} holds no recorded kernel")
        self._kernels = {k.static_hash: k for k in map(Kernel, paths)}

    def _items(self) -> Mapping[str, Kernel]:
        return self._kernels

    def _names(self, value: Kernel) -> Sequence[str]:
        return (value.name, value.symbol, value.name.partition("(")[0])

    def _where(self) -> str:
        return repr(self.path)

    @property
    def instances(self) -> list[Instance]:
        """The launches of all kernels."""
        return [i for kernel in self.values() for i in kernel.values()]

    def __repr__(self) -> str:
        return f"<Recording {self.path!r}: {len(self)} kernels, {len(self.instances)} launches>"

    def _repr_html_(self) -> str:
        from ._html import table

        rows = [
            [k.name, k.static_hash[:8], k.arch, len(k), sum(i.occurrences for i in k.values())] for k in self.values()
        ]
        return table(["kernel", "hash", "target", "recorded", "launches"], rows, self.path)


class _Snapshot:
    """Arguments, regions and annotations of a prologue (docs/RecordFormat.rst)."""

    def __init__(self, instance: Instance, path: str) -> None:
        self.args: list[bytes] = []
        self.buffers: list[Buffer] = []
        self.annotations: list[Annotation] = []
        try:
            with _open(path, "rb") as file:
                header = file.read(64)
                if header[:8] != b"MNEMESNP" or struct.unpack_from("<H", header, 8)[0] != 2:
                    raise RecordingError(f"{path!r} is not a snapshot of format 2")
                while True:
                    kind, _, size, _ = struct.unpack("<IIQQ", file.read(24))
                    if kind == _END:
                        break
                    padded = (size + 7) // 8 * 8
                    if kind in (_ARGS, _REGION, _ANNOTATION):
                        self._add(instance, kind, file.read(padded)[:size])
                    else:
                        file.seek(padded, os.SEEK_CUR)
        except OSError as error:
            raise RecordingError(f"cannot read {path!r}: {error.strerror}") from None
        except struct.error:
            raise RecordingError(f"{path!r} is truncated or damaged; see llvm-mneme-record check") from None
        self.buffers.sort(key=lambda b: b.address)

    def _add(self, instance: Instance, kind: int, data: bytes) -> None:
        if kind == _REGION:
            address, size, region, id, name, _ = struct.unpack_from("<QQIIII", data)
            text = data[32 : 32 + name].decode(errors="replace")
            self.buffers.append(Buffer(instance, id, address, size, _KINDS.get(region, "heap"), text))
        elif kind == _ANNOTATION:
            address, size, dtype, tolerance, norm, tag, value = struct.unpack_from("<QQIIIId", data)
            self.annotations.append(
                Annotation(
                    address,
                    size,
                    _DTYPES[dtype] if dtype < len(_DTYPES) else "bytes",
                    _TOLERANCES[tolerance] if tolerance < len(_TOLERANCES) else "exact",
                    value,
                    _NORMS[norm] if norm < len(_NORMS) else "none",
                    data[40 : 40 + tag].decode(errors="replace"),
                )
            )
        else:
            (count,) = struct.unpack_from("<I", data)
            at = 8 + 8 * count
            for number in range(count):
                (size,) = struct.unpack_from("<I", data, 8 + 8 * number)
                self.args.append(data[at : at + size])
                at += size


_open = open


def open(path: Union[str, os.PathLike[str]]) -> Recording:
    """Opens a recording: a folder, or a kernel's JSON file as a recording of one kernel."""
    return Recording(path)
