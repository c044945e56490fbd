#!/usr/bin/env python3
"""Runs annotated programs with the JIT on a machine with a GPU, and measures what the JIT costs.

    utils/gpu-jit.py --root DIR --json FILE

DIR is laid out as gpu-pack.sh does. Parts, in this order, each until --seconds are over:

programs  those in DIR/jit, of Mneme's own tests: each runs as compiled, with an empty cache, and with the cache of the
          second run. A run is right if it prints what the program prints as compiled, and ends like it: with exit code 0,
          as a program that fails in all runs shows nothing. Reasons for launches that ran as compiled are listed: some
          programs have such launches on purpose
proteus   those in DIR/proteus, test programs of Proteus that utils/proteus-tests.py --prebuild has left
figures   part "jitted" of benchmarks/run.py
gains     those of --list in DIR/programs: all kernels, their scalar arguments constants. What the JIT's report says of
          their times, and seconds of the process as compiled, with an empty cache and with the cache. With a package in
          --packages/NAME, as gpu-deploy.py leaves it, also the kernels' times in all with it and with the JIT

Everything goes to one JSON file.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

from program_runs import TIMES, read_list


class Jit:
    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.result = {}

    def left(self):
        return self.end - time.monotonic()

    def run_program(self, path, folder, report=None, **more):
        env = dict(os.environ, LD_PRELOAD=os.path.join(self.args.root, "lib", "libmneme_jit.so"), XDG_RUNTIME_DIR=folder,
                   MNEME_JIT_CACHE=os.path.join(folder, "cache"), MNEME_JIT_IDLE="5", **more)
        if report:
            env["MNEME_JIT_REPORT"] = os.path.join(folder, report)
        try:
            done = subprocess.run([path], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, text=True)
        except subprocess.TimeoutExpired:
            return None, None, {}
        sys.stderr.write(done.stderr)
        told = {}
        if report and os.path.exists(env["MNEME_JIT_REPORT"]):
            told = json.load(open(env["MNEME_JIT_REPORT"]))
        return done.returncode, done.stdout, told

    def programs(self):
        folder = os.path.join(self.args.root, "jit")
        rows = []
        for name in sorted(os.listdir(folder)):
            if self.left() < 0:
                break
            # Paths of sockets are short.
            with tempfile.TemporaryDirectory(prefix="mneme-", ignore_cleanup_errors=True) as work:
                path = os.path.join(folder, name)
                plain = self.run_program(path, work, MNEME_JIT="0")
                first, second = (self.run_program(path, work, report) for report in ("first", "second"))
            right = plain[0] == 0 and all(run[:2] == plain[:2] for run in (first, second))
            reasons = {}
            for code in first[2].get("code", []):
                for reason, times in code["reasons"].items():
                    reasons[reason] = reasons.get(reason, 0) + times
            row = {"name": name, "right": right, "exit": plain[0], "reasons": reasons, "again": second[2].get("compiled"), "sources": len(first[2].get("sources", [])),
                   **{k: first[2].get(k) for k in ("served", "fell_back", "compiled", "compile_seconds")}}
            rows.append(row)
            print("%-12s %-6s %s served, %s ran as compiled, %s compiled, %s by the second run%s" % (
                name, "right" if right else "WRONG", row["served"], row["fell_back"], row["compiled"], row["again"],
                "".join("; %d %s" % (n, r) for r, n in sorted(reasons.items())) +
                ("; as compiled, it %s" % ("does not end" if plain[0] is None else "ends with exit code %s" % plain[0]) if plain[0] != 0 else "")),
                flush=True)
        print("%d of %d programs right" % (sum(r["right"] for r in rows), len(rows)))
        self.result["programs"] = rows
        return all(r["right"] and not r["again"] and (r["served"] or r["sources"]) for r in rows) and rows

    def proteus(self):
        folder = os.path.join(self.args.root, "proteus")
        if not os.path.isdir(folder):
            print("no programs of Proteus")
            return True
        output = os.path.join(self.args.work, "proteus")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "proteus-tests.py")
        done = subprocess.run([sys.executable, script, "--prebuilt", folder, "--output", output, "--device", "cuda",
                               "--build", self.args.root, "--seconds", str(max(self.left() - 20, 0)), "--timeout", "60"],
                              stdout=subprocess.PIPE, text=True)
        path = os.path.join(output, "results.json")
        rows = json.load(open(path)) if os.path.exists(path) else []
        for row in rows:
            if row["status"] != "passed":
                print("%s %s: %s %s" % (row["group"], row["name"], row["status"], row["why"]))
        print("\n".join(done.stdout.splitlines()[-4:]), flush=True)
        self.result["proteus"] = rows
        return done.returncode == 0

    def timed(self, command, work, **env):
        """Seconds, exit code, and the lines that say nothing of time."""
        start = time.monotonic()
        done = subprocess.run(command, env=dict(os.environ, XDG_RUNTIME_DIR=work, MNEME_JIT_IDLE="5", **env), cwd=work,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, text=True)
        seconds = time.monotonic() - start
        return seconds, (done.returncode, [line for line in done.stdout.splitlines() if not TIMES.search(line)])

    def kernel_seconds(self, command, work, **env):
        """Of all launches, each kernel's median as CUPTI measures it; None where it is not there."""
        path = os.path.join(work, "kernel-times")
        env.update(CUDA_INJECTION64_PATH=os.path.join(self.args.root, "lib", "libmneme_kernel_times.so"), MNEME_KERNEL_TIMES=path)
        if not os.path.exists(env["CUDA_INJECTION64_PATH"]):
            return None
        self.timed(command, work, **env)
        if not os.path.exists(path):
            return None
        with open(path) as file:
            rows = [line.split() for line in file]
        os.remove(path)
        return sum(int(launches) * int(ns) for launches, ns, _ in rows) * 1e-9

    def gain(self, name, words, work):
        command = [os.path.join(self.args.root, "programs", name), *words]
        cache, report = os.path.join(work, "cache"), os.path.join(work, "report")
        jit = {"LD_PRELOAD": os.path.join(self.args.root, "lib", "libmneme_jit.so"), "MNEME_JIT_CACHE": cache, "MNEME_JIT_KERNELS": "."}
        plain, first = zip(*(self.timed(command, work) for _ in range(3)))
        if first[0][0] != 0:
            raise ValueError("as compiled, it ends with exit code %d" % first[0][0])
        cold, told = self.timed(command, work, **jit)
        warm = [self.timed(command, work, **jit)[0] for _ in range(3)]
        row = {"name": name, "as_compiled_seconds": min(plain), "cold_seconds": cold, "warm_seconds": min(warm),
               "same": told == first[0] if first[0] == first[1] else None, "kernels": [], "kernel_seconds": {}}
        self.timed(command, work, MNEME_JIT_TIMES="1", MNEME_JIT_REPORT=report, **jit)
        with open(report) as file:
            told = json.load(file)
        row["again"] = told["compiled"]
        for code in told["code"]:
            for variant in code["variants"]:
                if "times" in variant:
                    row["kernels"].append({"name": code["name"], "constants": variant["constants"], **variant["times"]})
        package = os.path.join(self.args.packages, name, "app.mneme")
        ways = {"as compiled": {}, "JIT": jit}
        if os.path.exists(package):
            ways["tuned"] = {"LD_PRELOAD": os.path.join(self.args.root, "lib", "libmneme_deploy.so"), "MNEME_TUNED": package}
            ways["tuned, JIT"] = dict(jit, MNEME_TUNED=package)
        for way, env in ways.items():
            row["kernel_seconds"][way] = self.kernel_seconds(command, work, **env)
        return row

    def gains(self):
        rows, failed = [], False
        for name, words in read_list(self.args.list):
            if self.left() < 20:
                break
            with tempfile.TemporaryDirectory(prefix="mneme-", ignore_cleanup_errors=True) as work:
                words = words.replace("{here}", self.args.packages)
                try:
                    row = self.gain(name, shlex.split(words), work)
                except (OSError, ValueError, subprocess.SubprocessError) as error:
                    print("%-20s %s" % (name, error), flush=True)
                    failed = True
                    continue
            rows.append(row)
            print("%-20s %s; process %.3f s, cold %.3f s, warm %.3f s; kernels %s" % (
                row["name"], {True: "same output", False: "OTHER OUTPUT", None: "output varies"}[row["same"]],
                row["as_compiled_seconds"], row["cold_seconds"], row["warm_seconds"],
                ", ".join("%s %.3f ms" % (way, s * 1e3) for way, s in row["kernel_seconds"].items() if s is not None)))
            for kernel in row["kernels"]:
                gain = kernel["gain"]
                print("    %.3f [%.3f, %.3f] of %d pairs, %.1f us: %s, %s" % (
                    gain["value"], gain.get("low", 0), gain.get("high", 0), kernel["pairs"], kernel["as_compiled_ns"] / 1e3,
                    kernel["name"][:60], kernel["constants"]), flush=True)
            self.result["gains"] = rows
        return all(r["same"] is not False and not r["again"] for r in rows) and rows and not failed

    def figures(self):
        output = os.path.join(self.args.work, "figures.json")
        script = os.path.join(self.args.root, "benchmarks", "run.py")
        code = subprocess.call([sys.executable, script, "--build", self.args.root, "--only", "jitted", "--output", output])
        if os.path.exists(output):
            self.result["figures"] = json.load(open(output))
        return code == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="folder with bin, lib, jit, proteus and benchmarks")
    parser.add_argument("--work", required=True, help="folder for caches and outputs")
    parser.add_argument("--parts", default="programs,figures,proteus")
    parser.add_argument("--json", required=True, help="file for the results")
    parser.add_argument("--list", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu-tune.txt"), metavar="FILE")
    parser.add_argument("--packages", default="/tmp/mneme-deploy", metavar="DIR", help="of gains")
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    args.root, args.work = os.path.abspath(args.root), os.path.abspath(args.work)
    os.makedirs(args.work, exist_ok=True)
    jit = Jit(args)
    failed = False
    for part in args.parts.split(","):
        print("- " + part, flush=True)
        failed |= not {"programs": jit.programs, "proteus": jit.proteus, "figures": jit.figures, "gains": jit.gains}[part]()
        with open(args.json, "w") as file:
            json.dump(jit.result, file, indent=1)
    sys.exit(failed)


if __name__ == "__main__":
    main()
