# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ray: one actor for each GPU, or for each node."""

from __future__ import annotations

import threading
import time
from typing import Any, Optional

from ..errors import need
from .cluster import Backend, Callback, ClusterExecutor, Slot
from .node import NodeServer


class RayBackend(Backend):
    name = "ray"

    def __init__(
        self, blob: bytes, uses_gpu: bool, address: Optional[str], cpus: float, actor: Any, init: dict[str, Any]
    ) -> None:
        super().__init__()
        self._kills: list[threading.Thread] = []
        self.ray = need("ray", "ray")
        self._joined = not self.ray.is_initialized()
        if self._joined:
            init.setdefault("log_to_driver", False)
            init.setdefault("logging_level", "error")
            self.ray.init(address=address, **init)
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._affinity = NodeAffinitySchedulingStrategy
        # All actors of a node read the recordings from its part of the object store.
        self._blob = self.ray.put(blob)
        self._uses_gpu = uses_gpu
        self._cpus = cpus
        self._actor = self.ray.remote(actor)

    def slots(self) -> list[Slot]:
        found = []
        for node in self.ray.nodes():
            if node["Alive"]:
                resources = node["Resources"]
                count = int(resources.get("GPU", 0)) if self._uses_gpu else int(resources.get("CPU", 0) >= self._cpus)
                found += [Slot(node["NodeID"][:8], number) for number in range(count)]
        return found

    def start(self, slot: Slot, spec: dict[str, Any], done: Callback) -> Any:
        node = next(n["NodeID"] for n in self.ray.nodes() if n["NodeID"].startswith(slot.node))
        actor = self._actor.options(
            num_cpus=self._cpus,
            num_gpus=1 if self._uses_gpu else 0,
            scheduling_strategy=self._affinity(node, soft=False),
            max_concurrency=64,
            max_restarts=0,
        ).remote(self._blob, spec)
        self.call(actor, "start", (), done)
        return actor

    def call(self, actor: Any, method: str, arguments: tuple[Any, ...], done: Callback) -> None:
        def finish(future: Any) -> None:
            error = future.exception()
            # The cause is the actor's own error.
            cause = getattr(error, "cause", None)
            cause = cause if isinstance(cause, BaseException) else error
            self.post(done, None if error else future.result(), cause)

        try:
            getattr(actor, method).remote(*arguments).future().add_done_callback(finish)
        except Exception as error:
            self.post(done, None, error)

    def stop(self, actor: Any) -> None:
        # It may wait for as long as the cluster needs to notice that a node is dead.
        thread = threading.Thread(target=self._kill, args=(actor,), daemon=True)
        self._kills.append(thread)
        thread.start()

    def _kill(self, actor: Any) -> None:
        try:
            self.ray.kill(actor)
        except Exception:
            pass  # It is dead.

    def close(self) -> None:
        super().close()
        deadline = time.monotonic() + 5
        for thread in self._kills:
            thread.join(max(0, deadline - time.monotonic()))
        if self._joined:
            self.ray.shutdown()


class RayExecutor(ClusterExecutor):
    """Evaluates on a Ray cluster.

    :param address: as for ``ray.init``; default: the cluster that this process has joined, or that of
        ``RAY_ADDRESS``, or a new one on this machine
    :param cpus: processors that an actor reserves; default: 1
    :param init: further arguments of ``ray.init``
    """

    def _connect(self, backend: Any, blob: bytes, cluster: dict[str, Any]) -> Backend:
        address = cluster.pop("address", None)
        cpus = cluster.pop("cpus", 1)
        actor = cluster.pop("actor", NodeServer)
        init = dict(cluster.pop("init", None) or {})
        _refuse(cluster)
        uses_gpu = not any(o in ("--device=host", "--device=none") for o in self._options)
        if uses_gpu and "--device=auto" in self._options:
            ray = need("ray", "ray")
            if not ray.is_initialized():
                ray.init(address=address, **{"log_to_driver": False, "logging_level": "error", **init})
            uses_gpu = any(n["Resources"].get("GPU", 0) for n in ray.nodes() if n["Alive"])
        return RayBackend(blob, uses_gpu, address, cpus, actor, init)


def _refuse(cluster: dict[str, Any]) -> None:
    from ..errors import RequestError

    if cluster:
        raise RequestError(f"unknown option {next(iter(cluster))!r} of the backend")
