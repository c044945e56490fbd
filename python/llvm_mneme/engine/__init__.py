# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation on a cluster: one actor for each GPU, on engines that exist.

``Executor(..., backend="ray")`` and ``backend="dask"`` evaluate on the nodes of a Ray or Dask cluster. Slurm, Flux and
Kubernetes are reached through the engines' own deployers (dask-jobqueue, KubeRay). ``python -m llvm_mneme.engine`` is the
worker that ``llvm-mneme-tune --engine`` starts.
"""

from __future__ import annotations

from typing import Any

from ..errors import RequestError, nearest

_BACKENDS = {"ray": "RayExecutor", "dask": "DaskExecutor"}


def make_executor_class(backend: str) -> Any:
    """Returns the executor of a backend: ``"ray"`` or ``"dask"``."""
    from importlib import import_module

    if backend not in _BACKENDS:
        raise RequestError(f"unknown backend {backend!r}{nearest(str(backend), _BACKENDS)}; there are: ray, dask")
    return getattr(import_module(f".{backend}_backend", __name__), _BACKENDS[backend])
