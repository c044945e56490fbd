#!/usr/bin/env python3
"""Records and replays programs on a GPU, and measures both.

    utils/gpu-programs.py build --sources DIR --output DIR [--build BUILD] [--cudart static]
    utils/gpu-programs.py run --programs DIR --tools DIR --json FILE [--rst FILE]

build compiles the programs that --list names (HeCBench's src/NAME-cuda in --sources) with
utils/nvcc-as-clang, their sources unedited, and leaves one stripped executable each, OUTPUT/NAME.
It needs clang and a CUDA toolkit, but no GPU.

run needs the executables, the tools and a GPU, but no compiler. Each program runs without and with
a recorder, one launch of each kernel recorded. Each recording is replayed under --pipelines on
--devices, and what its machine code is under the application's own pipeline is compared with the
application's. The programs are taken in the order of --list until --seconds are over.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

import rst
from program_runs import failed_verdict

HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, timeout, cwd=None, env=None):
    """Exit code (None: ran out of time), output, seconds. Children are killed with it."""
    start = time.monotonic()
    p = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
    try:
        out, _ = p.communicate(timeout=max(timeout, 0.1))
        code = p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, _ = p.communicate()
        code = None
    return code, out, time.monotonic() - start


def read_list(path):
    """Lines of "name: words" to [(name, [words])]."""
    programs = []
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            name, _, words = line.partition(":")
            programs.append((name.strip(), shlex.split(words)))
    return programs


#===------------------------------------------------------------------------===#
# Build
#===------------------------------------------------------------------------===#


def build_program(name, args, env):
    # Not where programs run, which has no other scripts than this one.
    from coverage import copy_program
    work = copy_program(os.path.join(args.sources, name + "-cuda"), os.path.join(args.output, "work"))
    command = ["make", "CC=" + os.path.join(HERE, "nvcc-as-clang"), "main"]
    code, out, seconds = run(command, 600, work, env)
    built = os.path.join(work, "main")
    if code != 0 or not os.path.exists(built):
        lines = out.strip().splitlines() or ["exit code %s" % code]
        return "failed: " + next((l for l in lines if "error" in l.lower()), lines[-1])
    target = os.path.join(args.output, name)
    shutil.copyfile(built, target)
    os.chmod(target, 0o755)
    subprocess.run(["strip", target], check=True)
    shutil.rmtree(work)
    return "%.0f s, %d KiB" % (seconds, os.path.getsize(target) >> 10)


def build(args):
    plugin = os.path.join(os.path.abspath(args.build), "lib", "MnemePass.so")
    env = dict({"MNEME_ARCH": "sm_90", **os.environ}, MNEME_PASS=plugin, MNEME_CUDART=args.cudart)
    args.output = os.path.abspath(args.output)
    failed = 0
    for name, _ in read_list(args.list):
        if os.path.exists(os.path.join(args.output, name)) and not args.again:
            continue
        result = build_program(name, args, env)
        failed += result.startswith("failed")
        print("%-24s %s" % (name, result), flush=True)
    return 1 if failed else 0


#===------------------------------------------------------------------------===#
# Run
#===------------------------------------------------------------------------===#

FAILED = re.compile(r"\b(FAIL(ED|URE)?|incorrect|mismatch(es)?)\b", re.I)
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
# A kernel's row in the recorder's summary: instances, launches, memory, on disk.
SUMMARY = re.compile(r" +(\d+) +(\d+) +([\d.]+) ([KMGT]?i?B) +[\d.]+ [KMGT]?i?B$", re.M)


def judge(code, out):
    """"ok", or what went wrong with a run of a program."""
    if code is None:
        return "ran out of time"
    if code != 0:
        return "exit code %d: %s" % (code, (out.strip().splitlines() or [""])[-1][:200])
    if FAILED.search(out) and not re.search(r"\b0 mismatch", out, re.I):
        return "says: " + next(l for l in out.splitlines() if FAILED.search(l))[:200]
    return "ok"


class Runner:
    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.record = os.path.join(os.path.abspath(args.tools), "llvm-mneme-record")
        self.replay = os.path.join(os.path.abspath(args.tools), "llvm-mneme-replay")
        # Machine code is compared without the device, beside what runs there.
        self.replayers = concurrent.futures.ThreadPoolExecutor(args.replay_jobs)
        self.compilers = concurrent.futures.ThreadPoolExecutor(args.compile_jobs)

    def left(self, limit):
        return min(limit, self.end - time.monotonic())

    def run_json(self, command):
        """The JSON that a replay prints, or an error's text."""
        code, out, _ = run(command, self.left(self.args.timeout))
        try:
            return json.loads(out[out.index("{"):])["Result"], None
        except (ValueError, KeyError):
            return None, "ran out of time" if code is None else out.strip()[-3000:] or "exit code %d" % code

    def replay_one(self, path, launch, pipeline, device, program):
        """Exactly first; what differs is tried again with a relative tolerance of 1e-4, for atomics in
        a free order and code compiled with fast math."""
        row = {"device": device, "pipeline": pipeline, "verdict": "none"}
        command = [self.replay, path, "--record-id=" + launch, "--device=" + device]
        if pipeline != "own":
            command.append("--passes=default<%s>" % pipeline)
        if device == "host":
            command.append("--iterations=1")
        elif self.args.baseline and pipeline == self.args.pipelines[0]:
            command += ["--baseline=app", "--app=" + program]
        for extra in [], ["--dtype=f32", "--tolerance=rel:1e-4"], ["--dtype=f64", "--tolerance=rel:1e-4"]:
            result, error = self.run_json(command + extra)
            if not result:
                row["verdict"], row["error"] = failed_verdict(error), error
                break
            if not extra or result["verdict"].startswith("Match"):
                row["verdict"], row["error"] = result["verdict"], result["error"]
                measured = result["measurement"] or {}
                row["nanoseconds"] = measured.get("median")
                row["interval"] = measured.get("interval")
                row["samples"], row["timer"] = measured.get("samples"), measured.get("timer")
                row["registers"], row["times"] = result["reg_usage"], result["times"]
                row["baseline"] = {k: v for k, v in (result.get("baseline") or {}).items()
                                   if k in ("verdict", "error", "measurement", "speedup")}
            if result["verdict"] != "Mismatch":
                break
        return row

    def compare_code(self, path, launch, program):
        result, error = self.run_json([self.replay, path, "--record-id=" + launch, "--no-execute",
                                       "--compare-with-app=" + program])
        return (result or {}).get("compare_with_app") or {"identical": None, "error": error or result["error"]}

    def measure(self, command, cwd, times):
        """Seconds of the fastest of some runs, what the last one said, and whether all went well."""
        best, out, state = None, "", "ok"
        for _ in range(times):
            code, out, seconds = run(command, self.left(self.args.timeout), cwd)
            state = judge(code, out)
            if state != "ok":
                break
            best = seconds if best is None else min(best, seconds)
        return best, out, state

    def application_times(self, command, work):
        """Median nanoseconds of each kernel in the application, by symbol: what CUPTI says, where it is
        there and benchmarks/Record/KernelTimes.cpp was built."""
        library = os.path.join(os.path.abspath(self.args.tools), "..", "lib", "libmneme_kernel_times.so")
        path = os.path.join(work, "kernel-times")
        times = {}
        if os.path.exists(library):
            env = dict(os.environ, CUDA_INJECTION64_PATH=os.path.realpath(library), MNEME_KERNEL_TIMES=path)
            code, out, _ = run(command, self.left(self.args.timeout), work, env)
            if not os.path.exists(path):
                said = [l for l in out.splitlines() if l.startswith("mneme-kernel-times:")]
                sys.stderr.write("%s: no times of its kernels: %s\n" % (os.path.basename(command[0]), said[0] if said else
                                 "the driver did not load '%s' (exit code %s)" % (os.path.realpath(library), code)))
        else:
            sys.stderr.write("no times of kernels in applications: no '%s'\n" % library)
        if os.path.exists(path):
            for line in open(path):
                launches, nanoseconds, symbol = line.split()
                times[symbol] = int(nanoseconds)
        return times

    def run_program(self, name, words):
        program = os.path.join(os.path.abspath(self.args.programs), name)
        row = {"program": name, "arguments": " ".join(words), "kernels": [], "problems": []}
        start = time.monotonic()
        if not os.path.exists(program):
            row["problems"].append("not built")
            return row
        work = os.path.join(self.args.work, name)
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        row["plain_seconds"], _, state = self.measure([program] + words, work, self.args.repeat)
        if state != "ok":
            row["problems"].append("without a recorder: " + state)

        times = self.application_times([program] + words, work) if state == "ok" else {}

        database = os.path.join(work, "recordings")
        command = [self.record, "--device=" + self.args.record_device,
                   "--max-recordings=%d" % self.args.max_recordings, "-o", database, "--", program] + words
        seconds = []
        for _ in range(self.args.record_repeat):
            shutil.rmtree(database, ignore_errors=True)
            time_one, out, state = self.measure(command, work, 1)
            seconds.append(time_one)
            if state != "ok":
                row["problems"].append("recorded: " + state)
                break
        row["recorded_seconds"] = min((s for s in seconds if s is not None), default=None)
        row["summary"] = [l for l in out.splitlines() if l.startswith("mneme:")]
        rows = SUMMARY.findall(out)
        row["raw_bytes"] = int(sum(float(size) * UNITS[unit] for _, _, size, unit in rows))
        row["launches"] = sum(int(launches) for _, launches, _, _ in rows)
        row["stored_bytes"] = sum(os.path.getsize(f) for f in glob.glob(os.path.join(database, "*.mneme")))

        comparisons, replays = [], []
        for path in sorted(glob.glob(os.path.join(database, "*.json"))):
            data = json.load(open(path))
            kernel = {"name": data["DemangledName"] or data["KernelName"], "replays": [],
                      "instances": len(data["instances"])}
            row["kernels"].append(kernel)
            launch = next(iter(data["instances"]), None)
            if launch is None:
                continue
            kernel["application_nanoseconds"] = times.get(data["KernelName"])
            comparisons.append((kernel, self.compilers.submit(self.compare_code, path, launch, program)))
            for device in self.args.devices:
                for pipeline in self.args.pipelines:
                    if self.left(1) > 0:
                        replays.append((kernel, self.replayers.submit(
                            self.replay_one, path, launch, pipeline, device, program)))
        for kernel, future in replays:
            kernel["replays"].append(future.result())
        for kernel, future in comparisons:
            kernel["code"] = future.result()
        row["seconds"] = time.monotonic() - start
        if not self.args.keep:
            shutil.rmtree(work, ignore_errors=True)
        return row


def verified(row, device=None, pipeline=None):
    """Verified replays and all of them."""
    found = [r for k in row["kernels"] for r in k["replays"]
             if device in (None, r["device"]) and pipeline in (None, r["pipeline"])]
    return sum(r["verdict"].startswith("Match") for r in found), len(found)


def identical(row):
    codes = [k["code"] for k in row["kernels"] if "code" in k]
    return sum(bool(c.get("identical")) for c in codes), len(codes)


def whole(row):
    good, replays = verified(row)
    same, codes = identical(row)
    return not row["problems"] and replays and good == replays and same == codes


def problems_of(kernel):
    """What is wrong, and where: device and pipeline."""
    found = {}
    for r in kernel["replays"]:
        if not r["verdict"].startswith("Match"):
            text = ("%s %s" % (r["verdict"], r.get("error") or ""))[:160]
            found.setdefault(text, []).append(r["device"] + " " + r["pipeline"])
    code = kernel.get("code", {})
    if not code.get("identical", True):
        found["other machine code: %s" % (code.get("difference") or code.get("error"))] = ["own"]
    return found


def longest(row, device, pipeline):
    """The kernel whose replay takes longest, and that replay."""
    found = [(r["nanoseconds"], k, r) for k in row["kernels"] for r in k["replays"]
             if r["device"] == device and r["pipeline"] == pipeline and r.get("nanoseconds")]
    return max(found, key=lambda f: f[0])[1:] if found else (None, None)


def cells(row, device, pipeline):
    def number(value, form):
        return "-" if value is None else form % value

    kernel, replay = longest(row, device, pipeline)
    plain, recorded = row.get("plain_seconds"), row.get("recorded_seconds")
    seen = kernel and kernel.get("application_nanoseconds")
    speedup = ((replay or {}).get("baseline") or {}).get("speedup") or {}
    return [row["program"], str(len(row["kernels"])), str(sum(k["instances"] for k in row["kernels"])),
            number(row.get("launches"), "%d"), number(row.get("raw_bytes", 0) / 2**20, "%.1f"),
            number(row.get("stored_bytes", 0) / 2**20, "%.1f"), number(plain, "%.2f"), number(recorded, "%.2f"),
            "%d/%d" % verified(row, device, pipeline), "%d/%d" % identical(row),
            number(replay and replay["nanoseconds"] / 1e3, "%.1f"), number(seen and seen / 1e3, "%.1f"), number(speedup.get("value"), "%.3f")]


HEAD = ["program", "kernels", "instances", "launches", "MiB", "stored", "plain, s", "recorded, s", "verified",
        "identical", "replay, us", "app, us", "app's code / replay"]


def run_all(args):
    args.work = os.path.abspath(args.work)
    os.makedirs(args.work, exist_ok=True)
    programs = [p for p in read_list(args.list) if not args.only or p[0] in args.only]
    runner, rows, lock = Runner(args), [], threading.Lock()

    def take(program):
        if runner.left(1) <= 0:
            return
        row = runner.run_program(*program)
        good, replays = verified(row)
        same, codes = identical(row)
        with lock:
            rows.append(row)
            print("%-22s %2d kernels, verified %d/%d, identical %d/%d, %s s plain, %s s recorded%s"
                  % (row["program"], len(row["kernels"]), good, replays, same, codes,
                     *("-" if row.get(k) is None else "%.2f" % row[k] for k in ("plain_seconds", "recorded_seconds")),
                     "".join("  <-- " + p for p in row["problems"])[:160]), flush=True)
            # Whatever ends this process, what it has found out is there.
            with open(args.json, "w") as file:
                json.dump(rows, file, indent=1)
            if args.rst:
                with open(args.rst, "w") as file:
                    file.write(rst.table(HEAD, [cells(r, args.devices[0], args.pipelines[0]) for r in rows]) + "\n")

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(take, programs))
    print("%d of %d programs whole" % (sum(map(bool, map(whole, rows))), len(programs)))
    for row in rows:
        for kernel in row["kernels"]:
            for problem, where in problems_of(kernel).items():
                print("  %s, %s: %s (%s)" % (row["program"], kernel["name"].split("(")[0], problem, ", ".join(where)))
    return 0 if len(rows) == len(programs) and all(map(whole, rows)) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    b = commands.add_parser("build")
    b.add_argument("--sources", required=True, metavar="DIR", help="HeCBench's src folder")
    b.add_argument("--output", required=True, metavar="DIR")
    b.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="Mneme's build folder")
    b.add_argument("--cudart", choices=["shared", "static"], default="shared")
    b.add_argument("--again", action="store_true", help="also those that are there already")
    r = commands.add_parser("run")
    r.add_argument("--programs", required=True, metavar="DIR")
    r.add_argument("--tools", required=True, metavar="DIR", help="with llvm-mneme-record and llvm-mneme-replay")
    r.add_argument("--json", required=True, metavar="FILE")
    r.add_argument("--rst", metavar="FILE", help="table as in docs/Performance.rst: first device and pipeline")
    r.add_argument("--work", default="/tmp/mneme-programs", metavar="DIR")
    r.add_argument("--record-device", default="cuda")
    r.add_argument("--devices", type=lambda s: s.split(","), default=["cuda:0"], help="to replay on: default cuda:0")
    r.add_argument("--pipelines", type=lambda s: s.split(","), default=["O3"],
                   help='"own" is the application\'s own: default O3')
    r.add_argument("--baseline", action="store_true",
                   help="under the first pipeline, also measure the application's own machine code")
    r.add_argument("--only", type=lambda s: s.split(","), help="programs")
    r.add_argument("--max-recordings", type=int, default=1, help="launches of each kernel")
    r.add_argument("--repeat", type=int, default=3, help="runs without a recorder; the fastest counts")
    r.add_argument("--record-repeat", type=int, default=2, help="runs with a recorder; the fastest counts")
    r.add_argument("--jobs", type=int, default=1, help="programs at the same time; spoils times")
    r.add_argument("--replay-jobs", type=int, default=1, help="replays at the same time; spoils times")
    r.add_argument("--compile-jobs", type=int, default=4, help="comparisons of machine code at the same time")
    r.add_argument("--timeout", type=float, default=60, help="seconds of each process")
    r.add_argument("--seconds", type=float, default=1e9, help="no new program after so many")
    r.add_argument("--keep", action="store_true", help="keep the recordings")
    for command in b, r:
        command.add_argument("--list", default=os.path.join(HERE, "gpu-hecbench.txt"), metavar="FILE",
                             help='lines "name: arguments"')
    args = parser.parse_args()
    return build(args) if args.command == "build" else run_all(args)


if __name__ == "__main__":
    sys.exit(main())
