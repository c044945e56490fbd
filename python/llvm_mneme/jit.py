# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles C++, LLVM IR and MLIR while Python runs, and calls functions and kernels of it.

The JIT's runtime (libmneme_jit.so) is in the process, and has no LLVM: a compile server does the work and caches it.
Functions are called by ctypes.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from .errors import CompileError, LaunchError, SuiteError, nearest, show
from .suite import find_suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Source = Union[str, bytes, os.PathLike[str]]
    Dims = Union[int, Sequence[int]]

_FRONTENDS = {"cpp": 0, "llvm_ir": 1, "mlir": 2}
# Whether there are kernels: none, of CUDA, of HIP.
_TARGETS = {"host": 0, "cuda": 1, "host_cuda": 1, "hip": 2, "host_hip": 2}
_COMPILERS = {"clang": 0, "nvcc": 1}
# The front end and the target of files.
_SUFFIXES = {
    ".cpp": ("cpp", "host"),
    ".cc": ("cpp", "host"),
    ".cxx": ("cpp", "host"),
    ".cu": ("cpp", "cuda"),
    ".hip": ("cpp", "hip"),
    ".ll": ("llvm_ir", "host"),
    ".bc": ("llvm_ir", "host"),
    ".mlir": ("mlir", "host"),
}


class Diagnostic(NamedTuple):
    """A message of a compiler. Line and column are 0 if unknown."""

    severity: str  #: "error", "fatal error", "warning" or "note"
    file: str  #: "module.cpp" for the source; may be empty
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return f"{where}{self.severity}: {self.text}"


# ----------------------------------------------------------------------------
# The runtime
# ----------------------------------------------------------------------------


class _Source(ctypes.Structure):
    """mneme_jit_source of mneme/jit_module.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("has_kernels", ctypes.c_uint32),
        ("language", ctypes.c_uint32),
        ("compiler", ctypes.c_uint32),
        ("text", ctypes.c_char_p),
        ("text_size", ctypes.c_size_t),
        ("tail", ctypes.c_char_p),
        ("tail_size", ctypes.c_size_t),
        ("options", ctypes.POINTER(ctypes.c_char_p)),
        ("num_options", ctypes.c_size_t),
    ]


_Message = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_char_p
)

_build: Optional[Callable[..., Any]] = None


def _find_build() -> Callable[..., Any]:
    """Returns the runtime's function that compiles: of a runtime that was preloaded, or of the suite's library."""
    global _build
    if _build is None:
        runtime = ctypes.CDLL(None)
        if not hasattr(runtime, "__mneme_jit_build"):
            path = os.path.join(os.path.dirname(find_suite().folder), "lib", "libmneme_jit.so")
            try:
                # Its symbols must not replace those of the CUDA runtime of other packages.
                runtime = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
            except OSError as error:
                raise SuiteError(f"cannot load the JIT's runtime: {error}") from None
        _build = runtime["__mneme_jit_build"]
        _build.restype = ctypes.c_void_p
        _build.argtypes = [ctypes.POINTER(_Source), _Message, ctypes.c_void_p]
    return _build


# ----------------------------------------------------------------------------
# Types
# ----------------------------------------------------------------------------

_C = ctypes
_NUMBERS: dict[str, Any] = {
    "bool": _C.c_bool,
    "char": _C.c_byte,
    "signed char": _C.c_byte,
    "unsigned char": _C.c_ubyte,
    "short": _C.c_short,
    "unsigned short": _C.c_ushort,
    "int": _C.c_int,
    "unsigned": _C.c_uint,
    "unsigned int": _C.c_uint,
    "long": _C.c_long,
    "unsigned long": _C.c_ulong,
    "long long": _C.c_longlong,
    "unsigned long long": _C.c_ulonglong,
    "size_t": _C.c_size_t,
    "float": _C.c_float,
    "double": _C.c_double,
    **{f"{u}int{bits}_t": getattr(_C, f"c_{u}int{bits}") for u in ("", "u") for bits in (8, 16, 32, 64)},
}


def _typestr(number: Any) -> str:
    """Returns the type of an element as in NumPy's array interface: "f4"."""
    kind = "b" if number is _C.c_bool else "f" if number in (_C.c_float, _C.c_double) else "i" if number(-1).value < 0 else "u"
    return f"{kind}{_C.sizeof(number)}"


class _Type(NamedTuple):
    """A type of a signature."""

    text: str
    ctype: Any  #: None for void
    is_pointer: bool = False
    is_const: bool = False  #: what the pointer points to
    element: str = ""  #: what the pointer points to, as in NumPy's array interface; empty if unknown


def _parse_type(text: str) -> _Type:
    words = text.replace("*", " * ").replace("__restrict__", " ").replace("__restrict", " ").split()
    pointee, stars = [w for w in words if w not in ("*", "const")], words.count("*")
    name = " ".join(pointee)
    if stars:
        is_const = "const" in words[: words.index("*")]
        element = _typestr(_NUMBERS[name]) if stars == 1 and name in _NUMBERS else ""
        return _Type(text.strip(), _C.c_void_p, True, is_const, element)
    if name == "void":
        return _Type("void", None)
    if name not in _NUMBERS:
        raise ValueError(
            f"signature: unknown type {text.strip()!r}: expected a number or a pointer{nearest(name, _NUMBERS)}"
        )
    return _Type(text.strip(), _NUMBERS[name])


class _Signature(NamedTuple):
    result: _Type
    parameters: tuple[_Type, ...]


def _parse_signature(text: str) -> _Signature:
    before, parenthesis, rest = text.strip().partition("(")
    if not parenthesis or not rest.endswith(")"):
        raise ValueError(f"expected a signature like 'double(const double *, int)', got {text!r}")
    inside = rest[:-1].strip()
    parameters = tuple(_parse_type(t) for t in inside.split(",")) if inside not in ("", "void") else ()
    if any(p.ctype is None for p in parameters):
        raise ValueError(f"signature: a parameter of {text!r} is void")
    return _Signature(_parse_type(before), parameters)


# ----------------------------------------------------------------------------
# Arguments
# ----------------------------------------------------------------------------


class _Memory(NamedTuple):
    """The memory of an array."""

    address: int
    nbytes: int
    element: str  #: empty if unknown
    is_device: bool
    is_readonly: bool = False
    is_contiguous: bool = True
    stream: Optional[int] = None  #: in which the array may still be written
    owner: object = None


def _is_contiguous(shape: Sequence[int], strides: Optional[Sequence[int]], size: int) -> bool:
    if strides is None or 0 in shape:
        return True
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != size:
            return False
        size *= extent
    return True


def _of_interface(interface: dict[str, Any], is_device: bool, owner: object) -> _Memory:
    """Of __array_interface__ and __cuda_array_interface__."""
    typestr, shape = interface["typestr"], tuple(interface["shape"])
    size, count = int(typestr[2:]), 1
    for extent in shape:
        count *= extent
    address, is_readonly = interface["data"]
    return _Memory(
        address or 0,
        count * size,
        # Of another byte order: no type of C.
        typestr[1:] if typestr[0] in "<|" else typestr,
        is_device,
        bool(is_readonly),
        _is_contiguous(shape, interface.get("strides"), size),
        interface.get("stream"),
        owner,
    )


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


# DLDeviceType
_CPU = 1
_GPU_MEMORY = (2, 10, 13)  # kDLCUDA, kDLROCM, kDLCUDAManaged
_PINNED_MEMORY = (3, 11)  # kDLCUDAHost, kDLROCMHost


def _of_dlpack(array: Any, stream: int) -> _Memory:
    kind = int(array.__dlpack_device__()[0])
    if kind not in (_CPU, *_GPU_MEMORY, *_PINNED_MEMORY):
        raise TypeError(f"a DLPack tensor on a device of type {kind}: expected the CPU, CUDA or ROCm")
    # The producer makes the stream wait. The default stream is 1 in CUDA, and 0 in HIP.
    default = 0 if kind == 10 else 1
    capsule = array.__dlpack__(stream=stream or default) if kind in _GPU_MEMORY else array.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
    count = 1
    for extent in shape:
        count *= extent
    letter = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}.get(tensor.code, "?")
    return _Memory(
        (tensor.data or 0) + tensor.byte_offset,
        count * tensor.lanes * tensor.bits // 8,
        f"{letter}{tensor.bits // 8}" if tensor.lanes == 1 else "?",
        kind != _CPU,
        False,
        _is_contiguous(shape, strides, 1),
        None,
        # Without a consumer, it frees the tensor at its end.
        capsule,
    )


def _memory_of(array: Any, stream: int) -> Optional[_Memory]:
    """Returns the memory of an array; None if it is no array."""
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(array.__cuda_array_interface__, True, array)
    if hasattr(array, "__array_interface__"):
        return _of_interface(array.__array_interface__, False, array)
    if hasattr(array, "__dlpack__"):
        return _of_dlpack(array, stream)
    if isinstance(array, bytes):
        address = ctypes.cast(ctypes.c_char_p(array), ctypes.c_void_p).value
        return _Memory(address or 0, len(array), "", False, True, owner=array)
    try:
        view = memoryview(array)
    except TypeError:
        return None
    if view.readonly or not view.c_contiguous:
        return _Memory(0, view.nbytes, "", False, view.readonly, view.c_contiguous)
    held = (ctypes.c_char * view.nbytes).from_buffer(view) if view.nbytes else None
    return _Memory(ctypes.addressof(held) if held is not None else 0, view.nbytes, "", False, owner=held)


def _convert_number(value: Any, to: _Type) -> Any:
    if to.ctype in (_C.c_float, _C.c_double):
        try:
            converted = to.ctype(float(value))
        except OverflowError:
            raise ValueError(f"{show(value)} does not fit") from None
        if math.isinf(converted.value) and value != converted.value:
            raise ValueError(f"{show(value)} does not fit")
        return converted
    if to.ctype is _C.c_bool:
        return to.ctype(bool(value))
    number = operator.index(value)
    if to.ctype(number).value != number:
        raise ValueError(f"{show(number)} does not fit")
    return to.ctype(number)


def _check(memory: _Memory, to: _Type) -> None:
    if not memory.is_contiguous:
        raise ValueError("the array is not contiguous: pass a copy")
    if memory.element and to.element and memory.element != to.element:
        raise TypeError(f"an array of {memory.element}, expected {to.element}")
    if memory.is_readonly and not to.is_const:
        raise ValueError("the array is read-only: declare the parameter as a pointer to const")


def _convert_all(values: tuple[Any, ...], signature: _Signature, name: str, pointer: Callable[[_Memory, _Type], int],
                 stream: int = 0) -> list[Any]:
    """Converts the arguments of a call to those of C. They must outlive the call."""
    if len(values) != len(signature.parameters):
        raise TypeError(f"{name}() takes {len(signature.parameters)} arguments, got {len(values)}")
    converted = []
    for index, (value, to) in enumerate(zip(values, signature.parameters)):
        try:
            if not to.is_pointer:
                converted.append(_convert_number(value, to))
                continue
            if value is None:
                converted.append(_C.c_void_p(None))
                continue
            memory = _memory_of(value, stream)
            if memory is not None:
                _check(memory, to)
                converted.append(_C.c_void_p(pointer(memory, to)))
            else:
                # An address.
                converted.append(_C.c_void_p(operator.index(value)))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}(): argument {index} ({to.text}): {error}") from None
    return converted


def _host_pointer(memory: _Memory, to: _Type) -> int:
    if memory.is_device:
        raise TypeError("the array is in the memory of a GPU: copy it to the host")
    if not memory.address and memory.nbytes:
        raise TypeError("the memory of this object is not accessible: pass a NumPy array")
    return memory.address


class Function:
    """A function of a module. NumPy arrays and other buffers are passed without a copy."""

    def __init__(self, name: str, signature: _Signature, address: int) -> None:
        self.name = name
        self._signature = signature
        result = signature.result.ctype
        self._call = _C.CFUNCTYPE(result, *(p.ctype for p in signature.parameters))(address)

    def __call__(self, *args: Any) -> Any:
        held: list[_Memory] = []

        def pointer(memory: _Memory, to: _Type) -> int:
            held.append(memory)
            return _host_pointer(memory, to)

        return self._call(*_convert_all(args, self._signature, self.name, pointer))


# ----------------------------------------------------------------------------
# Launches
# ----------------------------------------------------------------------------


_MAX_SHARED = 8  # cudaFuncAttributeMaxDynamicSharedMemorySize, also of HIP


def _stream_of(stream: Any) -> int:
    """Returns the handle of a stream of CUDA Python, CuPy, PyTorch or Numba, or of a number."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for attribute in ("ptr", "cuda_stream", "handle"):
        if hasattr(stream, attribute):
            handle = getattr(stream, attribute)
            return int(getattr(handle, "value", handle) or 0)
    return operator.index(stream)


def _dims_of(dims: Dims, what: str) -> tuple[int, int, int]:
    values = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{what}: expected 1 to 3 numbers, got {len(values)}")
    x, y, z = (*(operator.index(v) for v in values), 1, 1)[:3]
    if not all(0 < v < 1 << 32 for v in (x, y, z)):
        raise ValueError(f"{what}: expected positive numbers, got {values}")
    return x, y, z


class _Runtime:
    """Functions of the CUDA or HIP runtime that a module launches its kernels with."""

    def __init__(self, module: ctypes.CDLL, prefix: str) -> None:
        self.prefix = prefix
        self._everywhere, self._module = ctypes.CDLL(None), module

    def _find(self, name: str) -> Any:
        """Returns a function as the module finds it: the host device and preloaded runtimes come first."""
        full = self.prefix + name
        return self._everywhere[full] if hasattr(self._everywhere, full) else self._module[full]

    def _call(self, name: str, *args: Any) -> None:
        self.check(self._find(name)(*args), self.prefix + name)

    def check(self, error: int, what: str) -> None:
        if not error:
            return
        # The application's next call must not get it.
        self._find("GetLastError")()
        get = self._find("GetErrorString")
        get.restype, get.argtypes = _C.c_char_p, [_C.c_int]
        raise LaunchError(f"{what}: {(get(error) or b'').decode()}", error)

    def wait(self, stream: int) -> None:
        self._call("StreamSynchronize", _C.c_void_p(stream))

    def allocate(self, nbytes: int) -> int:
        place = _C.c_void_p()
        self._call("Malloc", _C.byref(place), _C.c_size_t(nbytes))
        return place.value or 0

    def free(self, address: int) -> None:
        self._find("Free")(_C.c_void_p(address))

    def copy(self, to: int, source: int, nbytes: int, to_device: bool) -> None:
        kind = 1 if to_device else 2  # cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost
        self._call("Memcpy", _C.c_void_p(to), _C.c_void_p(source), _C.c_size_t(nbytes), _C.c_int(kind))


class _Launch:
    """One launch: its arguments, and copies of host arrays on the device."""

    def __init__(self, runtime: _Runtime, stream: int) -> None:
        self.runtime, self.stream = runtime, stream
        self.held: list[_Memory] = []
        self.copies: list[tuple[int, _Memory, bool]] = []  #: device address, host memory, whether it may be written

    def pointer(self, memory: _Memory, to: _Type) -> int:
        self.held.append(memory)
        if memory.is_device:
            # 1 is the default stream.
            if memory.stream is not None and memory.stream != (self.stream or 1):
                self.runtime.wait(memory.stream)
            return memory.address
        if not memory.nbytes:
            return 0
        source = _host_pointer(memory, to)
        address = self.runtime.allocate(memory.nbytes)
        self.copies.append((address, memory, not to.is_const))
        self.runtime.copy(address, source, memory.nbytes, True)
        return address

    def finish(self) -> None:
        """Copies back what the kernel may have written."""
        if not self.copies:
            return
        self.runtime.wait(self.stream)
        for address, memory, is_written in self.copies:
            if is_written:
                self.runtime.copy(memory.address, address, memory.nbytes, False)

    def close(self) -> None:
        for address, _, _ in self.copies:
            self.runtime.free(address)


class Kernel:
    """A kernel of a module.

    Arrays in the memory of a GPU, by ``__cuda_array_interface__`` or DLPack, are passed without a copy, and the launch does not
    wait for the kernel. NumPy arrays and other buffers are copied to the GPU and, unless the parameter is a pointer to const,
    back: such a launch waits.
    """

    def __init__(self, name: str, signature: _Signature, runtime: _Runtime, enqueue: Callable[..., int],
                 attribute: Optional[Callable[[int, int], int]] = None) -> None:
        if signature.result.ctype is not None:
            raise ValueError(f"kernel {name!r}: expected a signature that begins with void")
        self.name = name
        self._signature, self._runtime, self._enqueue, self._attribute = signature, runtime, enqueue, attribute
        self._max_shared = 0

    def set_max_shared(self, nbytes: int) -> None:
        """Raises the limit of dynamic shared memory."""
        self._max_shared = nbytes
        if self._attribute is not None:
            self._runtime.check(self._attribute(_MAX_SHARED, nbytes), f"{self.name}: shared memory of {nbytes} bytes")

    def launch(self, grid: Dims, block: Dims, *args: Any, shared_mem: int = 0, stream: Any = None) -> None:
        """Launches the kernel. Raises :class:`LaunchError` if the launch is refused."""
        dims = (_C.c_uint * 6)(*_dims_of(grid, "grid"), *_dims_of(block, "block"))
        handle = _stream_of(stream)
        launch = _Launch(self._runtime, handle)
        try:
            converted = _convert_all(args, self._signature, self.name, launch.pointer, handle)
            error = self._enqueue(dims, shared_mem, handle, self._max_shared, converted)
            self._runtime.check(error, f"{self.name}: launch failed")
            launch.finish()
        finally:
            launch.close()


# ----------------------------------------------------------------------------
# Modules
# ----------------------------------------------------------------------------


class Instance:
    """An instance of a template: :meth:`__call__` for functions, :meth:`launch` for kernels. It is compiled when it is first used."""

    def __init__(self, module: Module, name: str, signature: _Signature) -> None:
        self.name = name
        self._module, self._signature = module, signature
        self._function: Optional[Function] = None
        self._kernel: Optional[Kernel] = None
        self._max_shared = 0

    def _entry(self, head: str, body: str) -> Any:
        own = ", ".join(f"{p.text} A{i}" for i, p in enumerate(self._signature.parameters))
        text = f'extern "C" {head.replace("...", own)} {{ {body} }}'.replace(", )", ")")
        return self._module._load(text)["__mneme_entry"]

    def _arguments(self) -> str:
        return ", ".join(f"A{i}" for i in range(len(self._signature.parameters)))

    def __call__(self, *args: Any) -> Any:
        if self._function is None:
            result = self._signature.result.text
            entry = self._entry(f"{result} __mneme_entry(...)", f"return {self.name}({self._arguments()});")
            self._function = Function(self.name, self._signature, _C.cast(entry, _C.c_void_p).value or 0)
        return self._function(*args)

    def set_max_shared(self, nbytes: int) -> None:
        """Raises the limit of dynamic shared memory."""
        self._max_shared = nbytes
        if self._kernel is not None:
            self._kernel.set_max_shared(nbytes)

    def launch(self, grid: Dims, block: Dims, *args: Any, shared_mem: int = 0, stream: Any = None) -> None:
        """Launches the kernel, as :meth:`Kernel.launch`."""
        if self._kernel is None:
            is_hip = self._module._is_hip
            entry = self._entry(
                "int __mneme_entry(const unsigned *D, decltype(sizeof(0)) Shared, void *Stream, int MaxShared, ...)",
                f"if (MaxShared) if (int E = __mneme_set_attribute((const void *){self.name}, {_MAX_SHARED}, MaxShared)) return E; "
                f"{self.name}<<<dim3(D[0], D[1], D[2]), dim3(D[3], D[4], D[5]), Shared, "
                f"({'hip' if is_hip else 'cuda'}Stream_t)Stream>>>({self._arguments()}); "
                f"return {'__mneme_last_error' if is_hip else 'cudaGetLastError'}();",
            )
            entry.restype = _C.c_int
            entry.argtypes = [
                _C.POINTER(_C.c_uint), _C.c_size_t, _C.c_void_p, _C.c_int, *(p.ctype for p in self._signature.parameters)
            ]

            def enqueue(dims: Any, shared: int, stream: int, max_shared: int, args: list[Any]) -> int:
                return int(entry(dims, shared, stream, max_shared, *args))

            self._kernel = Kernel(self.name, self._signature, self._module._runtime, enqueue)
            self._kernel.set_max_shared(self._max_shared)
        self._kernel.launch(grid, block, *args, shared_mem=shared_mem, stream=stream)


class Module:
    """Code that was compiled while Python runs. It stays until Python ends."""

    def __init__(self, text: bytes, frontend: str, target: str, options: Iterable[str], compiler: str) -> None:
        self.frontend, self.target = frontend, target
        self._is_hip = _TARGETS[target] == 2
        #: The messages of the compiler so far.
        self.diagnostics: list[Diagnostic] = []
        self._text, self._options, self._compiler = text, [os.fsencode(o) for o in options], compiler
        self._library = self._load("")
        self._runtime = _Runtime(self._library, "hip" if self._is_hip else "cuda")

    def _load(self, tail: str) -> ctypes.CDLL:
        """Compiles the text with another at its end. Returns the library."""
        words = (_C.c_char_p * len(self._options))(*self._options)
        end = tail.encode()
        source = _Source(
            _C.sizeof(_Source), _TARGETS[self.target], _FRONTENDS[self.frontend], _COMPILERS[self._compiler],
            self._text, len(self._text), end, len(end), words, len(self._options),
        )
        found: list[Diagnostic] = []

        def note(_: Any, severity: bytes, file: bytes, line: int, column: int, text: bytes) -> None:
            texts = [b.decode(errors="replace") for b in (severity, file, text)]
            found.append(Diagnostic(texts[0], texts[1], line, column, texts[2]))

        handle = _find_build()(_C.byref(source), _Message(note), None)
        self.diagnostics += found
        if not handle:
            raise CompileError(found)
        return ctypes.CDLL("", handle=handle)

    def _symbol(self, names: Sequence[str], kind: str) -> Any:
        for name in names:
            if hasattr(self._library, name):
                return self._library[name]
        how = 'declare it extern "C", or use instantiate()' if self.frontend == "cpp" else "expected one of the module"
        raise AttributeError(f"no {kind} {names[-1]!r} in the module: {how}")

    def function(self, name: str, signature: str) -> Function:
        """Returns a function that is extern "C"; ``signature`` is its type in C: ``"double(const double *, int)"``."""
        address = _C.cast(self._symbol([name], "function"), _C.c_void_p).value
        return Function(name, _parse_signature(signature), address or 0)

    def kernel(self, name: str, signature: str) -> Kernel:
        """Returns a kernel that is extern "C"; ``signature`` is its type in C: ``"void(float *, int)"``."""
        if self.target == "host":
            raise ValueError(f"kernel {name!r} in a module for the host: compile it with target='cuda'")
        parsed = _parse_signature(signature)
        # nvcc's stubs have the name of the kernel, as HIP's handles.
        names = [name] if self._is_hip else [f"__device_stub__{name}", name]
        stub = _C.cast(self._symbol(names, "kernel"), _C.c_void_p)
        launch, attribute = self._library["__mneme_launch"], self._library["__mneme_set_attribute"]

        def enqueue(dims: Any, shared: int, stream: int, _: int, args: list[Any]) -> int:
            places = (_C.c_void_p * (len(args) + 1))(*(_C.addressof(a) for a in args))
            return int(launch(stub, dims, _C.c_size_t(shared), _C.c_void_p(stream), places))

        return Kernel(name, parsed, self._runtime, enqueue, lambda what, value: int(attribute(stub, what, value)))

    def instantiate(self, name: str, *args: object, signature: str) -> Instance:
        """Returns the instance of a template with arguments that are written as in C++: ``instantiate("power", 3, ...)``."""
        if self.frontend != "cpp" or self._compiler == "nvcc" and self.target == "host":
            raise ValueError(f"instantiate() is for C++, not {self.frontend}")
        full = f"{name}<{', '.join(str(a) for a in args)}>"
        return Instance(self, full, _parse_signature(signature))


def _choose(value: str, known: dict[str, int], what: str) -> str:
    if value not in known:
        raise ValueError(f"{what}: expected {', '.join(map(repr, known))}, got {value!r}{nearest(value, known)}")
    return value


def compile(source: Source, frontend: Optional[str] = None, *, target: Optional[str] = None,
            options: Iterable[str] = (), compiler: str = "clang") -> Module:
    """Compiles a source: its text or bitcode, or the path of a file.

    A path is a :class:`os.PathLike`, or a string that ends with ``.cpp``, ``.cc``, ``.cxx``, ``.cu``, ``.hip``, ``.ll``,
    ``.bc`` or ``.mlir``.

    :param frontend: ``"cpp"``, ``"llvm_ir"`` or ``"mlir"``; for paths, that of the suffix, otherwise ``"cpp"``
    :param target: ``"host"``, ``"cuda"`` or ``"hip"`` (kernels), ``"host_cuda"`` or ``"host_hip"`` (and functions that launch
        them); ``"cuda"`` for ``.cu``, ``"hip"`` for ``.hip``, otherwise ``"host"``
    :param options: of the compiler, such as ``-DNAME``
    :param compiler: of C++ for GPUs: ``"clang"`` or ``"nvcc"``

    Raises :class:`CompileError`, which has the compiler's messages.
    """
    suffix = ""
    if not isinstance(source, bytes):
        path = os.fspath(source)
        suffix = os.path.splitext(path)[1] if "\n" not in path else ""
        if isinstance(source, str) and suffix not in _SUFFIXES:
            source = source.encode()
        else:
            with open(path, "rb") as file:
                source = file.read()
    defaults = _SUFFIXES.get(suffix, ("cpp", "host"))
    return Module(
        source,
        _choose(frontend or defaults[0], _FRONTENDS, "frontend"),
        _choose(target or defaults[1], _TARGETS, "target"),
        options,
        _choose(compiler, _COMPILERS, "compiler"),
    )
