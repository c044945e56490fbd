#!/usr/bin/env python3
# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what searches over source find, on the host device. benchmarks/run.py runs it and prints what it prints, JSON.

evolution.py BUILD CLANG CUDA [--same=N] [--budget=SECONDS]

same  searches among versions of equal speed and different code, and how many of them claim a winner
tune  speed-ups of llvm-mneme-evolve and llvm-mneme-tune for kernels of examples, in the same time
"""
import argparse
import json
import math
import os
import sys
import tempfile

from measure import Program, evolve, run

PROGRAMS = ("histogram", "jacobi", "matmul", "montecarlo", "nbody", "reduce", "saxpy", "spmv", "vecadd")


def propose(path):
    """A proposer for llvm-mneme-evolve: version N of a text, which it reads from a file with a place for N."""
    with open(path) as file:
        text = file.read()
    sys.stdin.readline()
    for number, _ in enumerate(sys.stdin):
        print(json.dumps({"text": text.replace("NUMBER", str(1000000 + number))}), flush=True)


def measure_same(program, build, count):
    with open("versions.cu", "w") as file:
        file.write(program.version("NUMBER"))
    proposer = f"external={sys.executable} {os.path.abspath(__file__)} --propose={os.path.abspath('versions.cu')}"
    winners = [evolve(program, build, 6, f"--proposer={proposer}", f"--seed={n}")["speedup"] for n in range(count)]
    return {"searches": count, "winners": sum(w is not None for w in winners)}


def measure_tune(program, build, budget):
    """Both searches have the same time; re-tests come on top. A speed-up of 1 is no winner."""
    result = {"program": program.name}
    for kernel in program.kernels():
        found = evolve(kernel, build, 0, f"--budget={budget}", inner=True)
        tune = os.path.join(build, "bin", "llvm-mneme-tune")
        folder = f"{kernel.folder}.tuned"
        run(tune, kernel.kernel, "--device=host", f"--record-id={kernel.record_id}", f"--budget={budget}", "-o", folder, "--quiet", "--explain=off")
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
    parser.add_argument("--same", type=int, default=20, metavar="N", help="searches among versions of equal speed")
    parser.add_argument("--budget", type=float, default=15, metavar="SECONDS", help="of a search")
    parser.add_argument("--propose", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.propose:
        return propose(arguments.propose)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        result = {"same": measure_same(Program("matmul", arguments), arguments.build, arguments.same), "tune": []}
        for name in PROGRAMS:
            for row in measure_tune(Program(name, arguments), arguments.build, arguments.budget):
                result["tune"].append(row)
                print(row, file=sys.stderr, flush=True)
        result["ratio"] = geometric_mean([r["evolve"] / r["tune"] for r in result["tune"]])
        json.dump(result, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
