# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A connection to ``llvm-mneme-replay serve``: docs/ServeProtocol.rst."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Optional

from ._tables import PROTOCOL, VERSION
from .errors import ClosedError, ForkedError, MnemeError, RequestError, ServerLostError, SuiteError, check_words
from .suite import find_suite, version_of, wrong_version

MAX_IR_BYTES = 64 << 20
_MOST_LINE = {"compare": 64 << 20, "space": 64 << 20}  # docs/ServeProtocol.rst; the others: 16 MiB
_CHUNK = 1 << 18
_ERROR = "llvm-mneme-replay: error: "

# Called with an answer and what came with it: bytes or a descriptor; or with None if the server is lost.
Handler = Callable[[Optional[dict[str, Any]], Any], None]

_all: weakref.WeakSet[Server] = weakref.WeakSet()


def _after_fork() -> None:
    # The parent's connection must end with the parent.
    for server in list(_all):
        server._forget()


os.register_at_fork(after_in_child=_after_fork)


class Server:
    """One server process and its connection. Thread-safe.

    The process has its own session: an interrupt in a terminal or notebook reaches only Python. It ends, with all its
    children, when the connection does, so also when Python is killed.
    """

    def __init__(
        self,
        database: str,
        options: Sequence[str] = (),
        on_note: Optional[Callable[[str, str], None]] = None,
        tool: Optional[str] = None,
    ) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._handlers: dict[int, Handler] = {}
        self._next = 1
        self._lost: Optional[str] = None
        self._on_note = on_note
        self.closed = False
        self.tool = tool or find_suite().tool("replay")
        check_words([database, *options])
        ours, theirs = socket.socketpair()
        self._errors = open(os.memfd_create("llvm-mneme"), "w+b")
        try:
            self._process = subprocess.Popen(
                [self.tool, "serve", database, *options],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._errors.fileno(),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            self._errors.close()
            raise SuiteError(f"cannot run {self.tool!r}: {error.strerror}") from None
        finally:
            theirs.close()
        self._socket = ours
        _all.add(self)
        self._thread = threading.Thread(target=self._read, name="llvm-mneme server", daemon=True)
        self._thread.start()
        try:
            welcome, _ = self.call("hello", protocol=PROTOCOL, client=f"llvm-mneme {VERSION}")
        except RequestError as error:
            self.close()
            raise wrong_version(self.tool, version_of(self.tool)) from error
        except ServerLostError as error:
            self.close()
            version = version_of(self.tool)
            if version != VERSION:
                raise wrong_version(self.tool, version) from None
            raise RequestError(str(error)) from None
        if welcome["protocol"] != PROTOCOL or welcome["version"] != VERSION:
            self.close()
            raise wrong_version(self.tool, welcome["version"], welcome["protocol"])
        self.build: str = welcome["build"]

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    # -- Sending -------------------------------------------------------------------------------------------------------

    def send(self, type: str, fields: dict[str, Any], handler: Handler, data: bytes = b"") -> int:
        """Sends a request and returns its number. ``handler`` is called in the reading thread."""
        if self._pid != os.getpid():
            raise ForkedError(
                f"this connection belongs to process {self._pid}: create a new executor in this process, "
                f"or start it with multiprocessing's method 'spawn'"
            )
        message = {"type": type, **fields}
        if data:
            message["bytes"] = len(data)
        with self._lock:
            if self.closed:
                raise ClosedError("the connection to the server is closed")
            if self._lost is not None:
                raise ServerLostError(self._lost)
            number = message["id"] = self._next
            self._next += 1
            self._handlers[number] = handler
            try:
                line = _encode(message)
            except RequestError:
                del self._handlers[number]
                raise
            # The server ends the connection after a longer line.
            most = _MOST_LINE.get(type, 16 << 20)
            if len(line) > most:
                del self._handlers[number]
                raise RequestError(f"a request of {len(line) >> 20} MiB: the limit of {type!r} is {most >> 20} MiB")
            self._write(line + data if len(data) < _CHUNK else line, data if len(data) >= _CHUNK else b"")
        return number

    def _write(self, *parts: bytes) -> None:
        """Writes whole messages: an interrupt (Ctrl-C) is raised afterwards. The third one ends the connection."""
        interrupts: list[BaseException] = []
        for part in parts:
            view, sent = memoryview(part), [0]
            while sum(sent) < len(part):
                try:
                    # In C code: an interrupt cannot come between sending and counting.
                    sent.extend(map(self._socket.send, (view[sum(sent) :],)))
                except OSError:
                    return  # The reading thread reports it to the handler.
                except BaseException as interrupt:
                    interrupts.append(interrupt)
                    if len(interrupts) == 3:
                        self._lost = "an interrupt cut off a message to the server"
                        self._socket.shutdown(socket.SHUT_RDWR)
                        raise
        if interrupts:
            raise interrupts[0]

    def call(self, type: str, data: bytes = b"", **fields: Any) -> tuple[dict[str, Any], Any]:
        """Sends a request and waits for its answer. Raises the error of ``failed``."""
        if self.is_reading():
            raise MnemeError(f"a callback of a future cannot wait for {type!r}: it runs in the thread that reads the answers; use another thread")
        done = threading.Lock()
        done.acquire()
        got: list[Any] = []

        def handler(answer: Optional[dict[str, Any]], extra: Any) -> None:
            got.append((answer, extra))
            done.release()

        self.send(type, fields, handler, data)
        done.acquire()
        answer, extra = got[0]
        if answer is None:
            raise ServerLostError(self._lost or "the connection to the server is closed")
        if answer["type"] == "failed":
            raise make_error(answer)
        return answer, extra

    def is_reading(self) -> bool:
        """Whether the calling thread reads the answers, and thus cannot wait for one."""
        return threading.current_thread() is self._thread

    # -- Receiving -----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        descriptors: list[int] = []
        try:
            self._read_messages(descriptors)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            with self._lock:
                self._lost = f"{self.tool!r} does not speak the protocol: {error!r}"
            self._process.kill()
        for descriptor in descriptors:
            os.close(descriptor)
        self._lose()

    def _read_messages(self, descriptors: list[int]) -> None:
        buffer = bytearray()
        connection = self._socket

        def receive() -> bool:
            try:
                data, attached, _, _ = socket.recv_fds(connection, _CHUNK, 16)
            except OSError:
                return False
            descriptors.extend(attached)
            buffer.extend(data)
            return bool(data)

        while True:
            end = buffer.find(b"\n")
            if end < 0:
                if not receive():
                    break
                continue
            answer = json.loads(bytes(memoryview(buffer)[:end]))
            del buffer[: end + 1]
            extra: Any = None
            size = answer.get("bytes", 0)
            if size:
                extra = self._receive_bytes(buffer, size)
                if extra is None:
                    break
            elif answer.get("attached"):
                extra = descriptors.pop(0)
            self._handle(answer, extra)

    def _receive_bytes(self, buffer: bytearray, size: int) -> Optional[bytearray]:
        if len(buffer) >= size:
            taken = buffer[:size]
            del buffer[:size]
            return taken
        taken = bytearray(size)
        filled = len(buffer)
        taken[:filled] = buffer
        buffer.clear()
        view = memoryview(taken)
        while filled < size:
            try:
                count = self._socket.recv_into(view[filled:])
            except OSError:
                return None
            if not count:
                return None
            filled += count
        return taken

    def _handle(self, answer: dict[str, Any], extra: Any) -> None:
        try:
            if answer["type"] == "note":
                if self._on_note:
                    self._on_note(answer["level"], answer["text"])
            elif handler := self._handlers.pop(answer["id"], None):
                handler(answer, extra)
        except Exception:
            # An error in a callback of a future, or a warning that is an error, must not end the connection.
            import traceback

            traceback.print_exc()

    def _lose(self) -> None:
        """Ends all requests when the connection has ended."""
        with self._lock:
            if self._lost is None:
                self._lost = "the connection to the server is closed" if self.closed else self._describe_end()
            handlers = list(self._handlers.values())
            self._handlers.clear()
        for handler in handlers:
            handler(None, None)

    def _describe_end(self) -> str:
        try:
            status = self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read()[-4096:].decode(errors="replace").strip().splitlines()
        # The tool's error, or what it says first.
        said = next((line for line in lines if _ERROR in line), lines[0] if lines else "")
        said = said.rpartition(_ERROR)[2] if _ERROR in said else said.removeprefix("llvm-mneme-replay: ")
        if said and status > 0:
            return said
        how = f"was killed by signal {-status}" if status < 0 else f"ended with exit code {status}"
        return f"the server {how}" + (f": {said}" if said else "")

    # -- The end -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the server and its children. Requests without an answer are given up."""
        if self._pid != os.getpid() or self.closed:
            return
        self.closed = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if not self.is_reading():
            self._thread.join()
        self._socket.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _forget(self) -> None:
        """In a forked child: closes the child's copy of the connection."""
        self.closed = True
        try:
            os.close(self._socket.detach())
        except OSError:
            pass
        self._process.returncode = 0  # not a child of this process

    def __del__(self) -> None:
        if hasattr(self, "_thread"):
            self.close()


def _encode(message: dict[str, Any]) -> bytes:
    """Returns a message as a line. Raises an error for what the protocol cannot express."""
    what = f"the request {message['type']!r}"
    try:
        # JSON has no NaN, and the server accepts none.
        line = json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if b"\\ud" in line:  # surrogates, also those of pairs
            json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise RequestError(f"a text of {what} contains a lone surrogate, which is no character") from None
    except ValueError as error:
        many = "digits" in str(error)
        raise RequestError(f"a number of {what} {'has too many digits' if many else 'is not finite'}") from None
    except RecursionError:
        raise RequestError(f"a value of {what} is nested too deeply") from None
    except TypeError as error:
        raise RequestError(str(error)) from None
    return line


def make_error(answer: dict[str, Any]) -> Exception:
    """Returns the error of ``failed``."""
    kind = ServerLostError if answer["reason"] == "lost" else RequestError
    return kind(answer["error"])


def check_ir(ir: object) -> bytes:
    """Converts IR (text, bitcode, a module of this package or of llvmlite) to bytes."""
    if hasattr(ir, "_source_bytes"):
        ir = ir._source_bytes()
    elif hasattr(ir, "as_bitcode"):  # llvmlite
        ir = ir.as_bitcode()
    if not isinstance(ir, (str, bytes, bytearray, memoryview)):
        raise RequestError(f"expected IR as text, bitcode or a module, got {type(ir).__name__}")
    if not len(ir):
        raise RequestError("the IR is empty")
    # Looked at before it is copied, too.
    try:
        data = bytes() if len(ir) > MAX_IR_BYTES else ir.encode() if isinstance(ir, str) else bytes(ir)
    except UnicodeEncodeError:
        raise RequestError("the IR contains a lone surrogate, which is no character") from None
    size = max(len(ir), len(data))
    if size > MAX_IR_BYTES:
        raise RequestError(f"IR of {size >> 20} MiB: the limit is {MAX_IR_BYTES >> 20} MiB")
    return data
