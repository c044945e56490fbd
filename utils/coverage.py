#!/usr/bin/env python3
"""Runs, records and replays programs that nobody here wrote, and prints a table.

    utils/coverage.py --programs DIR... [--build BUILD] [--work DIR] [--json FILE]

Each DIR holds one CUDA or HIP program with a Makefile that takes CC (HeCBench's src/NAME-cuda
and src/NAME-hip do). Programs are copied to the work folder and built there with utils/nvcc-as-clang
or utils/hipcc-as-clang, their sources unedited; run on the host device with arguments
from --arguments or those of their own "make run", the last number of which (a
repeat count in HeCBench) becomes 1; recorded; and every recorded kernel is replayed under
default<O1>, default<O3> and default<Oz>. --source also extracts the source of every recorded kernel, which must have the
recorded static hash.
"""
import argparse
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import rst
from program_runs import failed_verdict

PIPELINES = ["O1", "O3", "Oz"]
FAILED = re.compile(r"\b(FAIL(ED|URE)?|incorrect|mismatch(es)?)\b", re.I)
PASSED = re.compile(r"\b(PASS(ED)?|SUCCESS(FUL)?|correct|verified|verification ok)\b", re.I)
HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, cwd, timeout, env=None):
    """Exit code (None: ran out of time), output, seconds. A program outlives its
    recorder, so the whole group is killed."""
    start = time.time()
    p = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
    try:
        out, _ = p.communicate(timeout=timeout)
        return p.returncode, out, time.time() - start
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, _ = p.communicate()
        return None, out, timeout


def run_arguments(folder, env):
    """The words behind ./main in what "make run" would do."""
    _, out, _ = run(["make", "-n", "-o", "main", "run"], folder, 20, env)
    for line in out.replace("\\\n", " ").splitlines():
        m = re.search(r"(?:^|\s)\./(\S+)(.*)$", line)
        if m and os.path.exists(os.path.join(folder, m.group(1))):
            words = shlex.split(m.group(2).split(">")[0].split("|")[0])
            for i in reversed(range(len(words))):
                if words[i].isdigit():
                    words[i] = "1"
                    break
            return m.group(1), words
    return "main", []


def read_arguments(path):
    """Lines of "name: words" to {name: [words]}."""
    table = {}
    for line in open(path) if path else []:
        if line.strip() and not line.startswith("#"):
            name, _, words = line.partition(":")
            table[name.strip()] = shlex.split(words)
    return table


def judge(rc, out):
    if rc is None:
        return "timeout"
    if rc != 0:
        return "exit %d" % rc
    if re.search(r"^mneme: error", out, re.M):
        return "FAIL"
    if FAILED.search(out) and not re.search(r"\b0 mismatch", out, re.I):
        return "FAIL"
    return "PASS" if PASSED.search(out) else "ran"


def replay(tools, args, work, kernel, data, instance, pipeline):
    """One replay's verdict. Exact first; what differs is tried again with a relative
    tolerance of 1e-4 on floats and doubles, for code compiled with fast math."""
    result = {"kernel": data["KernelName"], "verdict": "none", "detail": ""}
    for extra in [], ["--dtype=f32", "--tolerance=rel:1e-4"], ["--dtype=f64", "--tolerance=rel:1e-4"]:
        rc, out, _ = run([tools["replay"], "--device=host", "--passes=default<%s>" % pipeline, "--iterations=1",
                          "--timeout=%d" % args.timeout, kernel, "--record-id=" + instance] + extra,
                         work, args.timeout * 2)
        try:
            verdict = json.loads(out[out.index("{"):])["Result"]["verdict"]
        except (ValueError, KeyError):
            verdict = failed_verdict(out) if rc is not None else "Timeout"
        if not extra or verdict.startswith("Match"):
            result["verdict"], result["detail"] = verdict, "" if verdict.startswith("Match") else out[-300:]
        if verdict != "Mismatch":
            break
    return result


def extract_source(tools, args, work, kernel, program):
    """"" if the kernel's source was found, and proved to be the recorded kernel's, else the error."""
    folder = os.path.splitext(kernel)[0] + ".src"
    rc, out, _ = run([tools["record"], "source", kernel, "--app=./" + program, "-o", folder], work, args.timeout)
    return "" if rc == 0 else "timeout" if rc is None else out.strip()[-300:] or "exit %d" % rc


def cell(row, pipeline):
    """"3/3": kernels verified, of all; a star where some needed a tolerance."""
    v = [x["verdict"] for x in row.get("replays", {}).get(pipeline, [])]
    if not v:
        return ""
    return "%d/%d%s" % (sum(x.startswith("Match") for x in v), len(v), "*" if "MatchWithinTolerance" in v else "")


def get_name(folder):
    return re.sub(r"-(cuda|hip)$", "", os.path.basename(folder.rstrip("/")))


def find_compiler(folder, args, tools):
    """What is called in place of nvcc or hipcc, and its environment."""
    is_hip = folder.rstrip("/").endswith("-hip")
    arch = args.arch or os.environ.get("MNEME_ARCH") or ("gfx90a" if is_hip else "sm_90")
    env = dict(os.environ, MNEME_ARCH=arch, MNEME_PASS=os.path.join(tools["lib"], "MnemePass.so"))
    return os.path.join(HERE, "hipcc-as-clang" if is_hip else "nvcc-as-clang"), env


def copy_program(folder, scratch):
    """Copies a program's folder to the scratch folder and returns where it is."""
    work = os.path.join(scratch, os.path.basename(folder.rstrip("/")))
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(folder, work)
    # Programs reach for ../include and for the sources of others. Without one that a
    # rule names, make knows "No rule to make target 'main.o'".
    makefile = open(os.path.join(folder, "Makefile"), errors="replace").read()
    for extra in {"include", *re.findall(r"\.\./([\w.-]+)", makefile)} - {".", ".."}:
        source = os.path.join(os.path.dirname(folder.rstrip("/")), extra)
        if os.path.isdir(source) and not os.path.exists(os.path.join(scratch, extra)):
            shutil.copytree(source, os.path.join(scratch, extra))
    return work


def cover(folder, args, tools):
    name = get_name(folder)
    row = {"program": name}
    work = copy_program(folder, args.work)
    compiler, env = find_compiler(folder, args, tools)
    if args.source:
        env["MNEME_SOURCE"] = "1"
    rc, out, _ = run(["make", "CC=" + compiler, "main"], work, 600, env)
    if rc != 0:
        row["build"] = "failed"
        row["detail"] = next((l for l in out.splitlines() if re.search(r"\berror\b", l, re.I)), out[-200:])
        return row
    row["build"] = "ok"
    program, words = run_arguments(work, env)
    words = tools["arguments"].get(name, words)
    command = ["./" + program] + words
    row["arguments"] = " ".join(words)

    record = [tools["record"], "--device=host"]
    rc, out, seconds = run(record + ["--no-record", "--"] + command, work, args.timeout)
    row["host"], row["seconds"] = judge(rc, out), round(seconds, 1)
    if row["host"] not in ("PASS", "ran"):
        row["detail"] = next((l for l in out.splitlines() if "mneme" in l), out[-300:])
        return row

    database = os.path.join(work, "mneme-recordings")
    rc, out, seconds = run(record + ["--max-recordings=%d" % args.max_recordings, "-o", database, "--"] + command,
                           work, args.timeout * 3)
    row["recorded"] = judge(rc, out)
    kernels = sorted(glob.glob(os.path.join(database, "*.json")))
    row["kernels"] = len(kernels)
    row["skipped"] = [l.strip() for l in out.splitlines() if "skipped" in l]
    row["replays"] = {p: [] for p in PIPELINES}
    for kernel in kernels:
        data = json.load(open(kernel))
        for instance in list(data["instances"])[: args.max_instances]:
            for p in PIPELINES:
                row["replays"][p].append(replay(tools, args, work, kernel, data, instance, p))
    if args.source:
        row["sources"] = [extract_source(tools, args, work, kernel, program) for kernel in kernels]
    if not args.keep:
        shutil.rmtree(work, ignore_errors=True)
    return row


def whole(row):
    verdicts = [r["verdict"] for p in PIPELINES for r in row.get("replays", {}).get(p, [])]
    return bool(verdicts) and row.get("recorded") in ("PASS", "ran") and all(v.startswith("Match") for v in verdicts)


def print_table(rows):
    print("%-24s %-6s %-8s %7s  %-8s %s" % ("program", "build", "host", "kernels", "recorded", "verified O1/O3/Oz"))
    for r in rows:
        cells = [cell(r, p) or "-" for p in PIPELINES]
        if "sources" in r:
            cells.append("source %d/%d" % (r["sources"].count(""), len(r["sources"])))
        print("%-24s %-6s %-8s %7s  %-8s %-20s%s" % (r["program"], r["build"], r.get("host", "-"), r.get("kernels", "-"),
              r.get("recorded", "-"), " ".join(cells), "" if whole(r) else "  <-- " + str(r.get("detail", ""))[:90].replace("\n", " ")))
        for error in filter(None, r.get("sources", [])):
            print("  " + error.replace("\n", "\n  "))
    print("%d of %d whole" % (sum(map(whole, rows)), len(rows)))
    sources = [error for r in rows for error in r.get("sources", [])]
    if sources:
        print("%d of %d sources with the recorded hash" % (sources.count(""), len(sources)))


def rst_table(rows):
    """The same for docs/Coverage.rst."""
    head = ["program", "runs", "kernels", "recorded", "O1", "O3", "Oz"]
    table = []
    for r in sorted(rows, key=lambda r: r["program"]):
        cells = [r["program"], r.get("host", "does not build"), str(r.get("kernels", "")), r.get("recorded", "")]
        cells += [cell(r, p) for p in PIPELINES]
        table.append(cells)
    return rst.table(head, table) + "\n"


def make_parser(description, work, timeout):
    """The options of all scripts that run the programs of a list of folders."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", required=True, metavar="DIR")
    parser.add_argument("--arch", help="architecture (default sm_90 or gfx90a)")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--work", default=work)
    parser.add_argument("--timeout", type=int, default=timeout, help="seconds a program may run")
    parser.add_argument("--arguments", metavar="FILE", help="arguments by program name, as utils/coverage-hecbench.txt")
    parser.add_argument("--json", help="write all rows there")
    return parser


def find_tools(args):
    """What the scripts run, and arguments of programs. Makes the folder --work."""
    build = os.path.abspath(args.build)
    args.work = os.path.abspath(args.work)
    os.makedirs(args.work, exist_ok=True)
    return {"lib": os.path.join(build, "lib"), "record": os.path.join(build, "bin", "llvm-mneme-record"),
            "replay": os.path.join(build, "bin", "llvm-mneme-replay"),
            "arguments": read_arguments(args.arguments)}


def main():
    parser = make_parser(__doc__, work="/tmp/mneme-coverage", timeout=60)
    parser.add_argument("--max-recordings", type=int, default=1)
    parser.add_argument("--max-instances", type=int, default=1)
    parser.add_argument("--rst", help="write the table there, as docs/Coverage.rst has it")
    parser.add_argument("--source", action="store_true", help="also extract the source of each recorded kernel")
    parser.add_argument("--keep", action="store_true", help="keep built programs and recordings")
    args = parser.parse_args()
    tools = find_tools(args)
    rows = []
    for folder in args.programs:
        rows.append(cover(os.path.abspath(folder), args, tools))
        print_table(rows[-1:])
        sys.stdout.flush()
        if args.json:
            with open(args.json, "w") as f:
                json.dump(rows, f, indent=1)
    print()
    print_table(rows)
    if args.rst:
        with open(args.rst, "w") as f:
            f.write(rst_table(rows))


if __name__ == "__main__":
    main()
