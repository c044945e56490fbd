#!/usr/bin/env python3
"""Is the machine code of a replay that of the application? Prints a table.

    utils/fidelity.py --programs DIR... [--flags FLAGS] [--build BUILD] [--work DIR] [--json FILE] [--rst FILE]

Each DIR holds one CUDA or HIP program, as for utils/coverage.py. Programs are built with
utils/nvcc-as-clang or utils/hipcc-as-clang at the -O level of their Makefile (or with --flags at the end of every
command line), recorded on the host device, and every recorded kernel is compiled as the
application's was and compared: llvm-mneme-replay --no-execute --compare-with-app. Needs ptxas
or lld, but no GPU.
"""
import glob
import json
import os
import shutil
import sys

import coverage
import rst

HERE = os.path.dirname(os.path.abspath(__file__))


def compare(tools, work, kernel, program):
    """One kernel's row: how its code compares."""
    data = json.load(open(kernel))
    row = {"kernel": data.get("DemangledName") or data["KernelName"], "level": data.get("OptLevel")}
    rc, out, _ = coverage.run([tools["replay"], kernel, "--record-id=" + sorted(data["instances"])[0], "--no-execute",
                               "--compare-with-app=./" + program], work, 300)
    try:
        result = json.loads(out[out.index("{"):])["Result"]
        code = result["compare_with_app"]
        row.update(identical=code["identical"], relocated=code["relocations"] == "equal",
                   difference=code["difference"], offset=code["first_difference"], options=code["ptxas_options"],
                   registers=[result["reg_usage"], code["resources"]["registers"]],
                   size=[result["resources"]["code_size"], code["resources"]["code_size"]])
    except (ValueError, KeyError, TypeError):
        row.update(identical=False, relocated=False, difference="none", error=out[-300:])
    return row


def examine(folder, args, tools):
    name = coverage.get_name(folder)
    row = {"program": name, "kernels": []}
    work = coverage.copy_program(folder, args.work)
    compiler, env = coverage.find_compiler(folder, args, tools)
    if args.flags:
        compiler = "sh -c 'exec %s \"$$@\" %s' cc" % (compiler, args.flags)
    rc, out, _ = coverage.run(["make", "CC=" + compiler, "main"], work, 600, env)
    if rc != 0:
        row["error"] = "does not build: " + next((l for l in out.splitlines() if "error" in l.lower()), out[-200:])
        return row
    program, words = coverage.run_arguments(work, env)
    words = tools["arguments"].get(name, words)
    database = os.path.join(work, "mneme-recordings")
    rc, out, _ = coverage.run([tools["record"], "--device=host", "--max-recordings=1", "-o", database, "--",
                               "./" + program] + words, work, args.timeout)
    kernels = sorted(glob.glob(os.path.join(database, "*.json")))
    if not kernels:
        row["error"] = "records nothing: " + out[-200:]
    for kernel in kernels:
        row["kernels"].append(compare(tools, work, kernel, program))
    if not args.keep:
        shutil.rmtree(work, ignore_errors=True)
    return row


def count(row, key="identical"):
    return sum(bool(k[key]) for k in row["kernels"])


def note(row):
    if "error" in row:
        return row["error"].replace("\n", " ")[:100]
    notes = []
    moved = sum(k["identical"] and k["relocated"] for k in row["kernels"])
    if moved:
        notes.append("%d with variables at other places" % moved)
    notes += ["%s: %s" % (k["kernel"].split("(")[0], k["difference"]) for k in row["kernels"] if not k["identical"]]
    return "; ".join(notes)


def print_rows(rows):
    for r in rows:
        levels = ",".join(sorted({k["level"] or "?" for k in r["kernels"]}))
        print("%-24s -O%-4s %3d/%-3d %s" % (r["program"], levels, count(r), len(r["kernels"]), note(r)))
    sys.stdout.flush()


def rst_table(rows):
    """The same for docs/Fidelity.rst."""
    head = ["program", "level", "kernels", "identical", "note"]
    table = []
    for r in sorted(rows, key=lambda r: r["program"]):
        levels = ",".join("-O" + l for l in sorted({k["level"] or "?" for k in r["kernels"]}))
        table.append([r["program"], levels, str(len(r["kernels"])), str(count(r)), note(r)])
    return rst.table(head, table) + "\n"


def main():
    parser = coverage.make_parser(__doc__, work="/tmp/mneme-fidelity", timeout=180)
    parser.add_argument("--flags", default="", help="compiler flags after those of the Makefile: -O1")
    parser.add_argument("--rst", help="write the table there, as docs/Fidelity.rst has it")
    parser.add_argument("--keep", action="store_true", help="keep built programs and recordings")
    args = parser.parse_args()
    tools = coverage.find_tools(args)
    rows = []
    for folder in args.programs:
        rows.append(examine(os.path.abspath(folder), args, tools))
        print_rows(rows[-1:])
        if args.json:
            with open(args.json, "w") as f:
                json.dump(rows, f, indent=1)
    same, kernels = sum(map(count, rows)), sum(len(r["kernels"]) for r in rows)
    print("%d of %d kernels of %d programs identical" % (same, kernels, len(rows)))
    if args.rst:
        with open(args.rst, "w") as f:
            f.write(rst_table(rows))
    return same != kernels


if __name__ == "__main__":
    sys.exit(main())
