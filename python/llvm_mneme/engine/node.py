# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The actor of a node: it runs servers for recordings that it got through the engine's object store."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from typing import Any, Optional

from ..errors import MnemeError, SuiteError
from ..recording import Instance, Kernel
from ..server import Server
from ..suite import Suite, find_suite


def pack(instances: Sequence[Instance]) -> bytes:
    """Returns the files of launches as an archive. Equal recordings have equal archives."""
    buffer = io.BytesIO()
    kernels = {i.kernel.path: i.kernel for i in instances}
    names: set[str] = set()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for kernel in kernels.values():
            wanted = [os.path.basename(kernel.path), *kernel._data["Modules"]]
            for instance in kernel.values():
                wanted += [instance._data["Prologue"], instance._data["Epilogue"]]
            # Snapshots refer to page files of the folder by number.
            wanted += sorted(n for n in os.listdir(kernel.folder) if n.startswith("Pages."))
            folder = hashlib.sha256(kernel.folder.encode()).hexdigest()[:16]
            for name in wanted:
                path = f"{folder}/{name}"
                if path in names:
                    continue
                names.add(path)
                info = tarfile.TarInfo(path)
                with open(os.path.join(kernel.folder, name), "rb") as file:
                    info.size = os.fstat(file.fileno()).st_size
                    archive.addfile(info, file)
    return buffer.getvalue()


def kernel_path(kernel: Kernel) -> str:
    """Returns the path of a kernel's file in the archive."""
    folder = hashlib.sha256(kernel.folder.encode()).hexdigest()[:16]
    return f"{folder}/{os.path.basename(kernel.path)}"


def _cache_folder() -> str:
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(root, "mneme", "engine")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder
    except OSError:
        return tempfile.mkdtemp(prefix="mneme-engine-")


def unpack(blob: bytes) -> str:
    """Unpacks an archive, once on each node. Returns its folder."""
    digest = hashlib.sha256(blob).hexdigest()[:32]
    root = _cache_folder()
    folder = os.path.join(root, digest)
    with open(os.path.join(root, f"{digest}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(folder):
            return folder
        new = tempfile.mkdtemp(prefix=f"{digest}.", dir=root)
        try:
            with tarfile.open(fileobj=io.BytesIO(blob)) as archive:
                for member in archive:
                    name = os.path.normpath(member.name)
                    if not member.isfile() or name.startswith(("/", "..")):
                        raise MnemeError(f"the archive has an unexpected member {member.name!r}")
                    path = os.path.join(new, name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    source = archive.extractfile(member)
                    assert source is not None
                    with open(path, "wb") as file:
                        shutil.copyfileobj(source, file)
            os.rename(new, folder)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    return folder


def _find_suite(head: str) -> Suite:
    """Returns the node's suite: its own, or that of the head if the node has the same folder."""
    if not os.environ.get("MNEME_ROOT") and os.access(os.path.join(head, "llvm-mneme-replay"), os.X_OK):
        return Suite(head)
    return find_suite()


class NodeServer:
    """Runs in an actor. All methods return quickly or are awaited; ``take`` waits for results."""

    def __init__(self, blob: bytes, spec: dict[str, Any]) -> None:
        self._blob: Optional[bytes] = blob
        self._spec = spec
        self._servers: list[Server] = []
        self._done: list[tuple[int, Optional[dict[str, Any]], str]] = []
        self._numbers: dict[int, tuple[Server, int]] = {}
        self._event: Optional[asyncio.Event] = None

    async def start(self) -> dict[str, Any]:
        """Starts the servers. Returns what they offer."""
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        return await self._loop.run_in_executor(None, self._start)

    def _start(self) -> dict[str, Any]:
        spec = self._spec
        suite = _find_suite(spec["suite"])
        blob, self._blob = self._blob, None
        assert blob is not None
        folder = unpack(blob)
        offered: dict[str, Any] = {"capacity": 0, "devices": [], "powers": [], "pid": os.getpid(), "servers": []}
        for path, records in spec["kernels"]:
            options = [*spec["options"], f"--record-id={','.join(records)}"]
            server = Server(os.path.join(folder, path), options, tool=suite.tool("replay"))
            self._servers.append(server)
            if server.build != spec["build"]:
                raise SuiteError(f"the node has {server.build}, the head {spec['build']}: install the same build")
            opened, _ = server.call("open")
            offered["capacity"] += opened["capacity"]
            offered["devices"] += opened["farm"].get("devices", [])
            offered["powers"].append(opened["powers"])
            offered["compile_jobs"] = opened["farm"].get("compile_jobs", 0)
            offered["servers"].append(server.pid)
        return offered

    def _put(self, ticket: int, answer: Optional[dict[str, Any]], error: str) -> None:
        self._numbers.pop(ticket, None)
        self._done.append((ticket, answer, error))
        assert self._event is not None
        self._event.set()

    async def submit(self, batch: Sequence[tuple[int, int, str, bytes]]) -> None:
        """Takes evaluations: ticket, number of the kernel, fields as JSON, IR."""
        for ticket, kernel, text, data in batch:
            server = self._servers[kernel]

            def handler(answer: Optional[dict[str, Any]], _: Any, ticket: int = ticket, server: Server = server) -> None:
                error = "" if answer else server._lost or "the server is lost"
                self._loop.call_soon_threadsafe(self._put, ticket, answer, error)

            try:
                self._numbers[ticket] = server, server.send("submit", json.loads(text), handler, data)
            except MnemeError as error:
                self._put(ticket, None, str(error))

    async def take(self) -> list[tuple[int, Optional[dict[str, Any]], str]]:
        """Returns results as soon as there are any."""
        assert self._event is not None
        await self._event.wait()
        self._event.clear()
        done, self._done = self._done, []
        return done

    async def cancel(self, tickets: Sequence[int]) -> None:
        """Cancels evaluations that have not begun."""
        numbers: dict[Server, list[int]] = {}
        for ticket in tickets:
            if ticket in self._numbers:
                server, number = self._numbers[ticket]
                numbers.setdefault(server, []).append(number)
        for server, chosen in numbers.items():
            server.send("cancel", {"requests": chosen}, lambda answer, extra: None)

    async def compare(self, kernel: int, text: str) -> dict[str, Any]:
        """Compares configurations."""
        server = self._servers[kernel]
        answer, _ = await self._loop.run_in_executor(None, lambda: server.call("compare", **json.loads(text)))
        return answer

    async def stop(self) -> None:
        """Ends the servers."""
        for server in self._servers:
            await self._loop.run_in_executor(None, server.close)
