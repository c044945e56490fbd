# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dask: one actor for each worker process. Start one worker for each GPU (dask-cuda, dask-jobqueue)."""

from __future__ import annotations

import asyncio
from typing import Any

from ..errors import RequestError, need
from .cluster import Backend, Callback, ClusterExecutor, Slot
from .node import NodeServer


class DaskBackend(Backend):
    name = "dask"

    def __init__(self, blob: bytes, client: Any, address: Any, actor: Any) -> None:
        super().__init__()
        distributed = need("distributed", "dask")
        self._own = client is None
        if client is None:
            client = distributed.Client(address) if address else distributed.Client()
        self.client = client
        self._actor = actor
        # Workers copy the recordings from each other. They are sent again if all that had them are lost.
        self._bytes = blob
        self._blob = client.scatter(blob)
        self._addresses: dict[str, str] = {}

    def slots(self) -> list[Slot]:
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except TypeError:  # of earlier releases
            workers = self.client.scheduler_info()["workers"]
        for address, info in workers.items():
            self._addresses[str(info.get("name", address)).replace(":", "_")] = address
        alive = set(workers)
        return [Slot(name, 0) for name, address in self._addresses.items() if address in alive]

    def count_users(self) -> dict[str, int]:
        prefix = f"{self._actor.__name__}-"
        names = {address: name for name, address in self._addresses.items()}
        keys = self.client.has_what().items()
        return {names[a]: sum(str(k).startswith(prefix) for k in held) for a, held in keys if a in names}

    def start(self, slot: Slot, spec: dict[str, Any], done: Callback) -> Any:
        if self._blob.status != "finished":
            self._blob = self.client.scatter(self._bytes, hash=False)
        holder: dict[str, Any] = {}
        future = self.client.submit(
            self._actor,
            self._blob,
            spec,
            actor=True,
            workers=[self._addresses[slot.node]],
            allow_other_workers=False,
            pure=False,
        )
        holder["future"] = future

        # The status of the future is not needed: waiting for its result reports an error.
        asyncio.run_coroutine_threadsafe(self._begin(holder, done), self.client.loop.asyncio_loop)
        return holder

    async def _begin(self, holder: dict[str, Any], done: Callback) -> None:
        try:
            holder["actor"] = await holder["future"]._result()
            offered = await holder["actor"].start()
        except Exception as error:
            self.post(done, None, error)
        else:
            self.post(done, offered, None)

    def call(self, actor: Any, method: str, arguments: tuple[Any, ...], done: Callback) -> None:
        async def run() -> None:
            try:
                result = await getattr(actor["actor"], method)(*arguments)
            except Exception as error:
                self.post(done, None, error)
            else:
                self.post(done, result, None)

        asyncio.run_coroutine_threadsafe(run(), self.client.loop.asyncio_loop)

    def stop(self, actor: Any) -> None:
        if "actor" in actor:

            async def end() -> None:
                try:
                    await actor["actor"].stop()
                except Exception:
                    pass

            asyncio.run_coroutine_threadsafe(end(), self.client.loop.asyncio_loop).result(10)
        actor["future"].release()

    def close(self) -> None:
        super().close()
        if self._own:
            self.client.close()


class DaskExecutor(ClusterExecutor):
    """Evaluates on a Dask cluster.

    :param client: a ``distributed.Client``; default: a new one
    :param address: of the scheduler, for a new client; default: a cluster on this machine
    """

    def _connect(self, backend: Any, blob: bytes, cluster: dict[str, Any]) -> Backend:
        client = cluster.pop("client", None)
        address = cluster.pop("address", None)
        actor = cluster.pop("actor", NodeServer)
        if cluster:
            raise RequestError(f"unknown option {next(iter(cluster))!r} of the backend")
        return DaskBackend(blob, client, address, actor)
