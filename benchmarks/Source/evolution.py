#!/usr/bin/env python3
# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what searches over source find. benchmarks/run.py runs it and prints what it prints, JSON.

evolution.py BUILD CLANG CUDA [--device=cuda:0] [--parts=A,B] [--programs=A,B] [--same=N] [--budget=SECONDS] [--seconds=N]

Parts, in this order:

rebuilt  winners that are put back into their programs: what the search promised, and the rebuilt kernel beside the old one
same     searches among versions of equal speed and different code: whether they claim a winner
tune     speed-ups of llvm-mneme-evolve and llvm-mneme-tune for kernels of examples, in the same time

After --seconds, nothing further is begun.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import llvm_mneme as mneme
from measure import ROOT, Program, evolve, run

REBUILT = ("histogram", "nbody", "spmv")
PROGRAMS = ("histogram", "jacobi", "matmul", "montecarlo", "nbody", "reduce", "saxpy", "spmv", "vecadd")


def propose(path):
    """A proposer for llvm-mneme-evolve: version N of a text, which it reads from a file with a place for N."""
    with open(path) as file:
        text = file.read()
    sys.stdin.readline()
    for number, _ in enumerate(sys.stdin):
        print(json.dumps({"text": text.replace("NUMBER", str(1000000 + number))}), flush=True)


def measure_same(make, build, count):
    program = make()
    with open("versions.cu", "w") as file:
        file.write(program.version("NUMBER"))
    proposer = f"external={sys.executable} {os.path.abspath(__file__)} --propose={os.path.abspath('versions.cu')}"
    for number in range(count):
        yield evolve(program, build, 6, f"--proposer={proposer}", f"--seed={number}")["speedup"] is not None


def replay_seconds(kernel, build):
    """Of a replay, which measures as the re-test of a search does; times of a search include those of events."""
    replay = os.path.join(build, "bin", "llvm-mneme-replay")
    done = run(replay, kernel.kernel, f"--record-id={kernel.record_id}", f"--device={kernel.arguments.device}")
    return json.loads(done)["Result"]["measurement"]["median"] * 1e-9


def measure_rebuilt(make, build):
    """Only the source changes, as passes and launches cannot be put back."""
    program = make()
    for kernel in program.kernels():
        found = evolve(kernel, build, 12)
        if not found["speedup"]:
            continue
        with open("evolved/winner.cu") as file:
            lines = [line for line in file if "EVOLVE-BLOCK" not in line]
        name = f"{kernel.folder}.rebuilt"
        with open(f"{name}.cu", "w") as file:
            file.writelines(lines)
        rebuilt = Program(name, program.arguments, path=os.path.abspath(f"{name}.cu"))
        other = next(k for k in rebuilt.kernels() if k.symbol == kernel.symbol)
        times = {kernel: [], other: []}
        for which in (kernel, other, other, kernel) * 2:
            times[which].append(replay_seconds(which, build))
        old, new = (statistics.median(t) for t in times.values())
        yield {"program": program.name, "kernel": kernel.symbol, "promised": found["speedup"], "low": found["low"],
               "high": found["high"], "rebuilt": old / new, "old_s": old, "new_s": new}  # fmt: skip


def measure_tune(make, build, budget):
    """Both searches have the same time; re-tests come on top. A speed-up of 1 is no winner."""
    program = make()
    result = {"program": program.name}
    for kernel in program.kernels():
        found = evolve(kernel, build, 0, f"--budget={budget}", inner=True)
        tune = os.path.join(build, "bin", "llvm-mneme-tune")
        folder = f"{kernel.folder}.tuned"
        run(tune, kernel.kernel, f"--device={program.arguments.device}", f"--record-id={kernel.record_id}", f"--budget={budget}", "-o", folder, "--quiet", "--explain=off")
        with open(os.path.join(folder, "best.json")) as file:
            speedup = json.load(file)["expected"]["speedup"]
        yield {**result, "kernel": kernel.symbol, "evolve": found["speedup"] or 1, "tune": speedup["value"] if speedup else 1,
               "candidates": found["candidates"], "inner_trials": found["inner_trials"]}  # fmt: skip


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?")
    parser.add_argument("clang", nargs="?")
    parser.add_argument("cuda", nargs="?")
    parser.add_argument("--device", default="host")
    parser.add_argument("--seconds", type=float, default=1e9, metavar="N", help="after which nothing is begun")
    parser.add_argument("--parts", type=lambda s: s.split(","), default=["rebuilt", "same", "tune"])
    parser.add_argument("--programs", type=lambda s: s.split(","), default=PROGRAMS, help="of tune")
    parser.add_argument("--same", type=int, default=20, metavar="N", help="searches among versions of equal speed")
    parser.add_argument("--budget", type=float, default=15, metavar="SECONDS", help="of a search")
    parser.add_argument("--propose", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.propose:
        return propose(arguments.propose)
    end = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        twice = os.path.join(ROOT, "test", "Evolve", "Inputs", "matmul.cu")
        # Nothing is built for parts that are not wanted.
        find = lambda name: lambda: Program(name, arguments)
        rebuilt = [lambda: Program("twice", arguments, path=twice), *map(find, REBUILT)]
        parts = [*(("rebuilt", measure_rebuilt(p, arguments.build)) for p in rebuilt),
                 ("same", measure_same(find("matmul"), arguments.build, arguments.same)),
                 *(("tune", measure_tune(find(name), arguments.build, arguments.budget)) for name in arguments.programs)]  # fmt: skip
        result = {"rebuilt": [], "tune": [], "same": [], "errors": []}
        for name, rows in parts:
            if name not in arguments.parts:
                continue
            try:
                while time.monotonic() < end and (row := next(rows, None)) is not None:
                    result[name].append(row)
                    print(name, row, file=sys.stderr, flush=True)
            except (subprocess.CalledProcessError, mneme.MnemeError) as error:
                result["errors"].append(f"{name}: {error}")
        if result["tune"]:
            result["ratio"] = geometric_mean([r["evolve"] / r["tune"] for r in result["tune"]])
        json.dump(result, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
