#!/usr/bin/env python3
# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the Python package. benchmarks/run.py runs it and prints what it prints, JSON.

measure.py small RECORDING         import, empty call, rate beside llvm-mneme-tune, cost beside Optuna
measure.py memory RECORDING        first and later views of the largest buffer
measure.py rows RECORDING          writing 100,000 rows to Parquet
measure.py head WORKERS... [--engine=ray|dask]   evaluations a second that the head feeds to simulated workers of 20 ms
"""
import asyncio
import heapq
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import llvm_mneme as mneme
from llvm_mneme.engine.cluster import Backend, ClusterExecutor, Slot
from llvm_mneme.executor import BaseExecutor
from llvm_mneme.result import Result

SECONDS = 0.02


def measure_import():
    """Seconds, and seconds of the processor, which other load on the machine does not change."""
    code = "import time; t, p = time.perf_counter(), time.process_time(); import llvm_mneme; llvm_mneme.Executor, llvm_mneme.tune; "
    code += "print(time.perf_counter() - t, time.process_time() - p)"
    runs = [subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout.split() for _ in range(25)]
    return [statistics.median(float(run[i]) for run in runs) for i in (0, 1)]


def measure_call(kernel):
    with mneme.Executor(kernel, device="host") as executor:
        for _ in range(500):
            executor.ping()
        times = []
        for _ in range(5000):
            start = time.perf_counter()
            executor.ping()
            times.append(time.perf_counter() - start)
    return statistics.median(times)


SPACES = {
    # Launch shapes only: nothing is compiled twice.
    "launches": ({"block_x": "32..1024", "grid_x": "8..64:8"}, 3000),
    "compilations": ({"block_x": "32..256:32", "passes": "default<{O1|O2|O3}>", "maxnreg": "16..128:4"}, 150),
}


def measure_rate(kernel, rounds=5):
    """The tool and the package in turns, on the same space, with the same sampler and seed."""
    result = {}
    for name, (options, trials) in SPACES.items():
        tool, package = [], []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                words = ["--%s=%s" % (k.replace("_", "-"), v) for k, v in options.items()]
                command = [mneme.find_suite().tool("tune"), kernel.path, "--device=host", "--trials=%d" % trials, *words]
                command += ["--retest=0", "--explain=off", "--assess=off", "--report=false", "--quiet", "-o", folder + "/out"]
                out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
                line = next(line for line in out.splitlines() if line.startswith("search"))
                tool.append(trials / float(line.split(" in ")[1].split()[0]))
            with mneme.Executor(kernel, device="host") as executor:
                study = mneme.tune(mneme.Space.options(**options), executor, trials=trials, retest=0, progress=False)
                package.append(trials / study.seconds)
        result[name] = {"tool": statistics.median(tool), "package": statistics.median(package)}
        result[name]["ratio"] = result[name]["package"] / result[name]["tool"]
    return result


class Immediate(BaseExecutor):
    """Evaluates nothing: what remains is the cost of the loop."""

    capacity = 1
    powers = {}

    def _submit(self, future, fields, data):
        answer = {"failure": "", "error": "", "compared": "exact", "stopped": False, "metrics": {"time": 1000.0 + (future.config.block_x or 0)}, "samples": [1.0],
                  "ir": "", "assembly": "", "code": str(future.config.block_x), "duplicate": None, "duplicate_of": None,
                  "compile_seconds": 0, "run_seconds": 0, "started": 0, "ended": 0, "worker": "", "device": "", "id": 0}  # fmt: skip
        future.set_result(Result(answer, future.config, future.instance))

    def _cancel(self, futures):
        pass

    def _close(self, cancel):
        pass


def measure_optuna(kernel, trials=400):
    try:
        import optuna
    except ImportError:
        return {"error": "no Optuna"}
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = mneme.Space({"block_x": range(32, 1025, 32), "specialize": bool})

    def alone():
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
        d = optuna.distributions
        given = {"block_x": d.IntDistribution(32, 1024, step=32), "specialize": d.CategoricalDistribution([False, True])}
        start = time.perf_counter()
        for _ in range(trials):
            trial = study.ask(given)
            study.tell(trial, 1000.0 + trial.params["block_x"])
        return time.perf_counter() - start

    def both():
        executor = Immediate(kernel)
        start = time.perf_counter()
        mneme.tune(space, executor, sampler=optuna.samplers.TPESampler(seed=1), trials=trials, retest=0, progress=False)
        return time.perf_counter() - start

    alone(), both()
    alones, boths = [], []
    for _ in range(5):
        alones.append(alone())
        boths.append(both())
    return {
        "optuna_ms": statistics.median(alones) / trials * 1e3,
        "own_ms": (statistics.median(boths) - statistics.median(alones)) / trials * 1e3,
    }


def measure_memory(kernel):
    result = []
    for launch in kernel.values():
        buffer = max(launch.buffers, key=lambda b: b.size)
        for when in ("before", "after", "before", "after"):
            fresh = mneme.open(kernel.path).only()[launch.record_id].buffer(buffer.id)
            fresh.instance.kernel._reader().call("show", instance=launch.record_id)  # the server has opened the recording
            start = time.perf_counter()
            view = getattr(fresh, when)("u1")
            first = time.perf_counter() - start
            start = time.perf_counter()
            again = getattr(fresh, when)("u1")
            later = time.perf_counter() - start
            result.append({"bytes": buffer.size, "when": when, "gb_per_s": buffer.size / first / 1e9, "later_us": later * 1e6,
                           "shared": again.base is view.base or bool(again.__array_interface__["data"] == view.__array_interface__["data"])})  # fmt: skip
            # As a script that looks at one after the other.
            del view, again, fresh
    return result


def measure_rows(kernel, count=100000):
    with mneme.Executor(kernel, device="host") as executor:
        results = [executor.evaluate(block_x=n) for n in range(32, 129, 8)]
    many = (results * (count // len(results) + 1))[:count]
    with tempfile.TemporaryDirectory() as folder:
        times = {}
        for suffix in ("parquet", "jsonl"):
            start = time.perf_counter()
            mneme.dataset.write(os.path.join(folder, "d." + suffix), many)
            times[suffix] = time.perf_counter() - start
    return times


class SimulatedNode:
    """A node whose workers take 20 ms for an evaluation, whatever it is."""

    def __init__(self, blob, spec):
        self.workers = spec["workers"]
        self.done = []

    async def start(self):
        self.loop = asyncio.get_running_loop()
        self.event = asyncio.Event()
        self.free = [0.0] * self.workers
        return {"capacity": self.workers, "devices": [], "powers": [], "compile_jobs": 0, "servers": []}

    async def submit(self, batch):
        for ticket, _, _, _ in batch:
            begin = max(self.loop.time(), heapq.heappop(self.free))
            heapq.heappush(self.free, begin + SECONDS)
            self.loop.call_at(begin + SECONDS, self.put, ticket)

    def put(self, ticket):
        answer = {"type": "result", "failure": "", "error": "", "compared": "exact", "stopped": False, "metrics": {"time": 1000.0}, "samples": [1000.0, 1001.0, 1002.0],
                  "ir": "0" * 32, "assembly": "", "code": "1" * 32, "duplicate": None, "duplicate_of": None,
                  "compile_seconds": 0.01, "run_seconds": 0.01, "started": 1.0, "ended": 2.0, "worker": "x:1", "device": "x/host"}  # fmt: skip
        self.done.append((ticket, answer, ""))
        self.event.set()

    async def take(self):
        await self.event.wait()
        self.event.clear()
        done, self.done = self.done, []
        return done

    async def cancel(self, tickets):
        pass

    async def stop(self):
        pass


class LocalBackend(Backend):
    """The nodes in a thread of this process: what is left is the head."""

    name = "local"

    def __init__(self, nodes):
        super().__init__()
        self.nodes = nodes
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def slots(self):
        return [Slot(str(n), 0) for n in range(self.nodes)]

    def start(self, slot, spec, done):
        actor = SimulatedNode(b"", spec)
        self.call(actor, "start", (), done)
        return actor

    def call(self, actor, method, arguments, done):
        async def run():
            self.post(done, await getattr(actor, method)(*arguments), None)

        asyncio.run_coroutine_threadsafe(run(), self.loop)

    def stop(self, actor):
        pass


def feed(executor, workers, seconds):
    """Keeps all workers busy for some seconds. Returns evaluations a second."""
    count = 0
    config = mneme.Config(block_x=64)
    running = set()
    lock = threading.Condition()
    most = 3 * workers

    def ended(future):
        nonlocal count
        with lock:
            count += 1
            running.discard(future)
            lock.notify()

    begin = time.perf_counter()
    processor = time.process_time()
    while time.perf_counter() - begin < seconds:
        with lock:
            while len(running) >= most:
                lock.wait()
        future = executor.submit(config)
        with lock:
            running.add(future)
        future.add_done_callback(ended)
        if future.done():
            with lock:
                running.discard(future)
    spent = time.perf_counter() - begin
    return {"per_second": count / spent, "possible": workers / SECONDS, "processor_us": (time.process_time() - processor) / max(1, count) * 1e6}


def make_cluster(kernel, workers, engine):
    nodes = 2 if engine != "local" else 4
    share = max(1, workers // nodes)
    if engine == "local":
        class Executor(ClusterExecutor):
            def _connect(self, backend, blob, cluster):
                self._spec["workers"] = share
                return LocalBackend(nodes)
        return Executor(kernel, device="host"), lambda: None
    if engine == "dask":
        from distributed import Client, LocalCluster
        from llvm_mneme.engine.dask_backend import DaskExecutor as Base

        cluster = LocalCluster(n_workers=nodes, threads_per_worker=1, dashboard_address=None)
        options = {"client": Client(cluster)}
        end = cluster.close
    else:
        import ray
        from llvm_mneme.engine.ray_backend import RayExecutor as Base

        ray.init("local", num_cpus=nodes, log_to_driver=False, logging_level="error")
        options, end = {"cpus": 1}, ray.shutdown

    class Executor(Base):
        def _connect(self, backend, blob, given):
            self._spec["workers"] = share if engine == "dask" else workers  # one node of Ray
            return super()._connect(backend, blob, {**given, "actor": SimulatedNode})

    return Executor(kernel, device="host", **options), end


def main():
    what, rest = sys.argv[1], sys.argv[2:]
    engine = next((w.split("=")[1] for w in rest if w.startswith("--engine=")), "local")
    kernel = mneme.open(rest[0]).only()
    if what == "small":
        seconds, processor = measure_import()
        result = {"import_ms": seconds * 1e3, "import_processor_ms": processor * 1e3, "call_us": measure_call(kernel) * 1e6, "rate": measure_rate(kernel),
                  "optuna": measure_optuna(kernel)}  # fmt: skip
    elif what == "memory":
        result = measure_memory(kernel)
    elif what == "rows":
        result = measure_rows(kernel)
    else:
        result = []
        for workers in [int(w) for w in rest[1:] if w.isdigit()]:
            executor, end = make_cluster(kernel, workers, engine)
            result.append({"engine": engine, "workers": workers, **feed(executor, workers, 5.0)})
            executor.close(cancel=True)
            end()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
