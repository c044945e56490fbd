#!/usr/bin/env python3
"""Host speed of AMDGPU IR against NVPTX IR: the kernels of programs that exist for CUDA and for HIP. Prints a table.

    benchmarks/vendors.py --programs DIR... [--arch gfx90a] [--build BUILD] [--work DIR] [--json FILE] [--rst FILE]

Each DIR is a HIP program (NAME-hip), with its CUDA form beside it (NAME-cuda), as HeCBench has them. Both are built as for
utils/coverage.py and recorded on the host device. Kernels with the same name, grid and block are replayed there in turn; the
ratio is the median of those of pairs, above 1 where AMDGPU IR is slower.
"""
import argparse
import glob
import json
import math
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "utils"))
import coverage
import rst

ROUNDS = 7


def record(folder, args, tools):
    """Builds and records a program. Returns its kernels by name and launch, and its folder."""
    work = coverage.copy_program(folder, args.work)
    compiler, env = coverage.find_compiler(folder, args, tools)
    rc, out, _ = coverage.run(["make", "CC=" + compiler, "main"], work, 600, env)
    if rc != 0:
        sys.exit("%s does not build: %s" % (folder, out[-300:]))
    program, words = coverage.run_arguments(work, env)
    words = tools["arguments"].get(coverage.get_name(folder), words)
    database = os.path.join(work, "mneme-recordings")
    coverage.run([tools["record"], "--device=host", "--max-recordings=1", "-o", database, "--", "./" + program] + words,
                 work, args.timeout)
    found = {}
    for name in sorted(glob.glob(os.path.join(database, "*.json"))):
        kernel = json.load(open(name))
        for number, i in kernel["instances"].items():
            key = (kernel.get("DemangledName") or kernel["KernelName"], *i["GridDims"].values(), *i["BlockDims"].values())
            found[key] = (name, number)
    return found, work


def replay(tools, kernel, work):
    """The median time of a launch, in nanoseconds."""
    name, number = kernel
    rc, out, _ = coverage.run([tools["replay"], name, "--record-id=" + number, "--device=host", "--iterations=25"], work, 300)
    try:
        result = json.loads(out[out.index("{"):])["Result"]
        return result["measurement"]["median"] if result["verdict"] == "Match" else None
    except (ValueError, KeyError):
        return None


def measure(folder, args, tools):
    hip, hip_work = record(folder, args, tools)
    of_cuda = argparse.Namespace(**dict(vars(args), arch=None))
    cuda, cuda_work = record(folder[:-len("-hip")] + "-cuda", of_cuda, tools)
    kernels = []
    for key in sorted(set(hip) & set(cuda)):
        times = [(replay(tools, cuda[key], cuda_work), replay(tools, hip[key], hip_work)) for _ in range(ROUNDS)]
        if all(a and b for a, b in times):
            kernels.append({"kernel": key[0], "times_ns": times, "ratio": statistics.median(b / a for a, b in times)})
    return {"program": coverage.get_name(folder), "kernels": kernels}


def mean_ratio(kernels):
    return math.exp(statistics.fmean(math.log(k["ratio"]) for k in kernels))


def main():
    parser = coverage.make_parser(__doc__, work="/tmp/mneme-vendors", timeout=180)
    parser.add_argument("--rst", help="write the table there")
    args = parser.parse_args()
    tools = coverage.find_tools(args)
    rows = []
    for folder in args.programs:
        row = measure(os.path.abspath(folder.rstrip("/")), args, tools)
        if not row["kernels"]:
            sys.exit("%s: no kernel of both forms verifies" % folder)
        rows.append(row)
        print("%-24s %2d kernels  %.2f" % (row["program"], len(row["kernels"]), mean_ratio(row["kernels"])), flush=True)
        if args.json:
            with open(args.json, "w") as f:
                json.dump(rows, f, indent=1)
    print("geometric mean of %d programs: %.2f" % (len(rows), math.exp(statistics.fmean(
        math.log(mean_ratio(r["kernels"])) for r in rows))))
    if args.rst:
        with open(args.rst, "w") as f:
            f.write(rst.table(["program", "kernels", "AMDGPU / NVPTX"], [
                [r["program"], str(len(r["kernels"])), "%.2f" % mean_ratio(r["kernels"])] for r in rows]) + "\n")


if __name__ == "__main__":
    main()
