#!/usr/bin/env python3
"""Replays recordings under several pipelines and prints one line per kernel.

summarize.py --replay=.../llvm-mneme-replay [--json] DIR...

Columns: instances recorded; bytes of their own files, without the pages of memory, which
kernels share and the last line counts; how many replays were verified of how
many; median milliseconds under the application's own pipeline and under others;
registers and bytes of the GPU's machine code. The exit code is 0 only when every replay
was verified.
"""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys

PIPELINES = [None, "default<O1>", "default<O3>", "default<Oz>"]


def replay(tool, kernel_file, instance, pipeline, finish, iterations):
    """The replay's JSON, or a string that says why there is none."""
    command = [tool, kernel_file, "--record-id=" + instance]
    command += ["--host-finish=" + finish, "--iterations=%d" % iterations]
    # The GPU's own compiler is asked once, for the application's own pipeline.
    command.append("--passes=" + pipeline if pipeline else "--resources")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        return json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "exit code %d" % done.returncode


def recorded_bytes(directory, kernel):
    names = set(kernel["Modules"])
    for instance in kernel["instances"].values():
        names.update((instance["Prologue"], instance["Epilogue"]))
    return sum(os.path.getsize(os.path.join(directory, n)) for n in names)


def summarize_kernel(options, path):
    directory = os.path.dirname(path)
    with open(path) as file:
        kernel = json.load(file)
    row = {
        "program": os.path.basename(os.path.normpath(directory)),
        "kernel": kernel["DemangledName"].split("(")[0].replace("void ", ""),
        "instances": len(kernel["instances"]),
        "bytes": recorded_bytes(directory, kernel),
        "verified": 0,
        "replays": 0,
        "milliseconds": {},
        "registers": None,
        "code_bytes": None,
        "problems": [],
    }
    for pipeline in PIPELINES:
        name = pipeline or "baseline"
        times = []
        for instance in kernel["instances"]:
            answer = replay(
                options.replay, path, instance, pipeline, options.host_finish, options.iterations
            )
            row["replays"] += 1
            if isinstance(answer, str):
                row["problems"].append("%s under %s: %s" % (instance, name, answer))
                continue
            result = answer["Result"]
            if not result["verified"]:
                row["problems"].append(
                    "%s under %s: %s %s"
                    % (instance, name, result.get("verdict"), result.get("error") or "")
                )
                continue
            row["verified"] += 1
            times += result["exec_time"]
            if pipeline is None:
                row["registers"] = result["resources"]["registers"]
                row["code_bytes"] = result["resources"]["code_size"]
        row["milliseconds"][name] = statistics.median(times) * 1e-6 if times else None
    return row


def human_bytes(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return "%.4g %s" % (count, unit)
        count /= 1024
    return "%.4g GiB" % count


def print_table(rows, finish, pages):
    head = ["program", "kernel", "inst.", "recorded", "verified"]
    head += ["baseline", "O1", "O3", "Oz", "regs", "code"]
    table = [head]
    for row in rows:
        line = [row["program"], row["kernel"], str(row["instances"])]
        line += [human_bytes(row["bytes"]), "%d/%d" % (row["verified"], row["replays"])]
        for pipeline in PIPELINES:
            ms = row["milliseconds"][pipeline or "baseline"]
            line.append("-" if ms is None else "%.3f" % ms)
        for key in ("registers", "code_bytes"):
            line.append("-" if row[key] is None else str(row[key]))
        table.append(line)
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    for number, line in enumerate(table):
        cells = [c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * w for w in widths))
    print("\ntimes in ms on the host device, --host-finish=%s" % finish)
    print("registers and bytes of the GPU's machine code under the baseline")
    print("recorded: files of the kernel alone; memory of all: %s" % human_bytes(pages))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replay", default="llvm-mneme-replay", help="the replay tool")
    parser.add_argument("--host-finish", default="none")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("directories", nargs="+", metavar="DIR")
    options = parser.parse_args()

    paths = []
    for directory in options.directories:
        found = sorted(glob.glob(os.path.join(directory, "*.json")))
        if not found:
            sys.exit("summarize.py: error: no recordings in '%s'" % directory)
        paths += found
    # One at a time: the replays themselves use all cores, and are timed.
    rows = [summarize_kernel(options, path) for path in paths]
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
    else:
        directories = {os.path.dirname(path) for path in paths}
        pages = [page for d in directories for page in glob.glob(os.path.join(d, "Pages.*"))]
        print_table(rows, options.host_finish, sum(map(os.path.getsize, pages)))
    for row in rows:
        for problem in row["problems"]:
            print("%s: %s: %s" % (row["program"], row["kernel"], problem), file=sys.stderr)
    return 1 if any(row["problems"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
