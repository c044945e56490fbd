#!/usr/bin/env python3
# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures evaluations of versions of a source. benchmarks/run.py runs it and prints what it prints, JSON.

measure.py BUILD CLANG CUDA [--device=cuda:0] [--candidates=N]

front_end  processor seconds of clang for a version, without and with a compiled prefix
known      milliseconds until the result of a version that is known
rebuild    seconds to compile, link and run a program, beside those to evaluate a version
by_hand    seconds of clang, opt, llc and ptxas for a version, beside those to evaluate it
trust      candidates a second of a search, with and without trust in them
search     seconds of a search over N candidates
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import llvm_mneme as mneme

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Programs of examples.
PROGRAMS = ("matmul", "jacobi", "nbody")


def run(*command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True, **kwargs).stdout


def timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class Program:
    """A program of one file: built, recorded, with the source of one of its kernels. An example by default."""

    def __init__(self, name, arguments, kernel=0, path=None):
        self.name = name
        self.arguments = arguments
        self.path = path or f"{ROOT}/examples/{name}.cu"
        cuda = arguments.cuda
        self.build = [
            arguments.clang, "--driver-mode=g++", "-std=c++17", "-O2", "-x", "cuda", f"--cuda-path={cuda}",
            "--offload-arch=sm_90", "-Wno-unknown-cuda-version", "-isystem", f"{cuda}/include/cccl", f"-I{cuda}/include",
            f"-I{ROOT}/include", f"-I{ROOT}/examples", self.path, f"-L{cuda}/lib64", f"-Wl,-rpath,{cuda}/lib64", "-lcudart",
            f"-fpass-plugin={arguments.build}/lib/MnemePass.so", "-o", name,
        ]  # fmt: skip
        self.record = [os.path.join(arguments.build, "bin", "llvm-mneme-record"), f"--device={arguments.device.partition(':')[0]}", "--quiet"]
        if not os.path.exists(f"{name}.rec"):
            run(*self.build)
            run(*self.record, "-o", f"{name}.rec", "--", f"./{name}")
        self.recordings = sorted(f for f in os.listdir(f"{name}.rec") if f.endswith(".json"))
        self.kernel = os.path.join(f"{name}.rec", self.recordings[kernel])
        with open(self.kernel) as file:
            recorded = json.load(file)
        self.symbol, self.record_id = recorded["KernelName"], next(iter(recorded["instances"]))
        self.folder = f"{name}.{kernel}.src"
        if not os.path.exists(self.folder):
            run(self.record[0], "source", self.kernel, "-o", self.folder, "--", *self.build)
        with open(os.path.join(self.folder, "kernel.cu")) as file:
            self.text = file.read()

    def kernels(self):
        """The same program with each of its kernels."""
        return [Program(self.name, self.arguments, n, self.path) for n in range(len(self.recordings))]

    def version(self, number):
        """A version with other code: an unused variable would be removed, a bound of the block is not."""
        kernel = self.text.index("__global__", self.text.index("EVOLVE-BLOCK-START"))
        body = self.text.index("{", kernel) + 1
        bound = number if isinstance(number, str) else 1000000 + number
        return f"{self.text[:body]}\n  if (gridDim.x == {bound}u)\n    return;\n{self.text[body:]}"

    def executor(self):
        return mneme.Executor(self.kernel, device=self.arguments.device, options=[f"--source-dir={self.folder}"])


def measure_front_end(program, build):
    times = json.loads(run(os.path.join(build, "bin", "mneme-bench-source"), program.folder, "9"))
    return {**times, "ratio": times["whole_s"] / times["with_prefix_s"]}


def measure_known(program):
    with program.executor() as executor:
        config = mneme.Config(source=program.version(0))
        executor.submit(config).result()
        times = [timed(lambda: executor.submit(config).result()) for _ in range(200)]
    return {"median_ms": statistics.median(times) * 1e3, "worst_ms": max(times) * 1e3}


def processor_seconds():
    """Of all processes that this one has started, and of those that they have waited for."""
    parents, seconds = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(name)] = int(fields[1])
        seconds[int(name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def is_ours(pid):
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return sum(time for pid, time in seconds.items() if is_ours(pid))


def evaluate(program, count):
    """Seconds of an evaluation, and of a processor for it."""
    with program.executor() as executor:
        executor.submit(source=program.version(0)).result()
        configs = [mneme.Config(source=program.version(n)) for n in range(1, count + 1)]
        before, start = processor_seconds(), time.perf_counter()
        results = list(executor.map(configs))
        seconds, cpu = time.perf_counter() - start, processor_seconds() - before
    wrong = [r.failure for r in results if r.failure]
    if wrong or len({r.ir_hash for r in results}) != count:
        raise SystemExit(f"{program.name}: a version failed, or is not distinct: {wrong}")
    return seconds / count, cpu / count


def measure_rebuild(program, count=20):
    """A rebuild is that of a user: without the recorder, and the program runs once, on the same device. Other processes of the
    machine have less influence on the times of processors ("cpu")."""
    plain = [w for w in program.build if not w.startswith("-fpass-plugin")]
    before = processor_seconds()
    compile_s = statistics.median(timed(lambda: run(*plain)) for _ in range(3))
    run(*program.build)
    command = [*program.record, "--no-record", "--", f"./{program.name}"] if program.arguments.device == "host" else [f"./{program.name}"]
    middle = processor_seconds()
    run_s = statistics.median(timed(lambda: run(*command)) for _ in range(3))
    rebuild_cpu = (middle - before) / 4 + (processor_seconds() - middle) / 3
    evaluate_s, evaluate_cpu = evaluate(program, count)
    return {"program": program.name, "compile_s": compile_s, "run_s": run_s, "evaluate_s": evaluate_s,
            "ratio": (compile_s + run_s) / evaluate_s, "rebuild_cpu_s": rebuild_cpu, "evaluate_cpu_s": evaluate_cpu,
            "cpu_ratio": rebuild_cpu / evaluate_cpu}  # fmt: skip


def measure_by_hand(program, count=10):
    """Compilers alone, for the GPU, beside whole evaluations, in turns: versions a second."""
    tools = os.path.dirname(os.path.realpath(program.arguments.clang))
    flags = [w for w in program.build[1:-2] if w != program.path and not w.startswith(("-f", "-l", "-L", "-Wl"))]

    def compile(number):
        with open("version.cu", "w") as file:
            file.write(program.version(number))
        run(program.arguments.clang, *flags, f"-I{ROOT}/examples", "--cuda-device-only", "-c", "-emit-llvm", "-Xclang",
            "-disable-llvm-passes", "version.cu", "-o", "version.bc")
        run(f"{tools}/opt", "-O2", "version.bc", "-o", "optimized.bc")
        run(f"{tools}/llc", "-mcpu=sm_90", "optimized.bc", "-o", "version.ptx")
        run(f"{program.arguments.cuda}/bin/ptxas", "-arch=sm_90", "version.ptx", "-o", "version.cubin")

    pairs = []
    for turn in range(3):
        before = processor_seconds()
        seconds = timed(lambda: [compile(turn * count + n) for n in range(count)]) / count
        cpu = (processor_seconds() - before) / count
        pairs.append((seconds, cpu, *evaluate(program, count)))
    hand_s, hand_cpu_s, evaluate_s, evaluate_cpu_s = (statistics.median(p[i] for p in pairs) for i in range(4))
    return {"program": program.name, "hand_s": hand_s, "hand_cpu_s": hand_cpu_s, "evaluate_s": evaluate_s,
            "evaluate_cpu_s": evaluate_cpu_s, "ratio": statistics.median(p[0] / p[2] for p in pairs),
            "cpu_ratio": statistics.median(p[1] / p[3] for p in pairs)}  # fmt: skip


def evolve(program, build, count, *options, inner=False):
    shutil.rmtree("evolved", ignore_errors=True)
    tool = os.path.join(build, "bin", "llvm-mneme-evolve")
    inner_options = [] if inner else ["--inner=0"]
    seconds = timed(lambda: run(tool, program.kernel, program.folder, f"--device={program.arguments.device}", "-o", "evolved", "--quiet",
                                "--explain=off", f"--candidates={count}", *inner_options, *options))  # fmt: skip
    with open("evolved/report.json") as file:
        report = json.load(file)
    winner = report["winner"]
    low, high = winner["speedup"][1:] if winner else (None, None)
    return {"seconds": seconds, "candidates": report["candidates"], "verified": report["verified"],
            "distinct": report["distinct"], "per_second": report["candidates"] / seconds,
            "inner_trials": report["inner_trials"], "speedup": winner and winner["speedup"][0], "low": low, "high": high}  # fmt: skip


def measure_trust(program, build, count):
    """Both searches once before and once after the other one: the machine changes."""
    on, off = [], []
    for which in (on, off, off, on):
        which.append(evolve(program, build, count, *(["--trusted"] if which is off else [])))
    rates = {name: statistics.mean(r["per_second"] for r in runs) for name, runs in (("on", on), ("off", off))}
    return {"search": on[0], "trust": {**rates, "ratio": rates["on"] / rates["off"]}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("clang")
    parser.add_argument("cuda")
    parser.add_argument("--device", default="host")
    parser.add_argument("--candidates", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        programs = [Program(name, arguments) for name in PROGRAMS]
        first = programs[0]
        result = {"front_end": measure_front_end(first, arguments.build), "known": measure_known(first)}
        result["rebuild"] = [measure_rebuild(p) for p in programs]
        result["by_hand"] = [measure_by_hand(p) for p in programs]
        result.update(measure_trust(first, arguments.build, arguments.candidates))
        json.dump(result, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
