#!/usr/bin/env python3
"""Runs annotated programs with the JIT on a machine with a GPU, and measures what the JIT costs.

    utils/gpu-jit.py --root DIR --json FILE

DIR is laid out as gpu-pack.sh does. Parts, in this order, each until --seconds are over:

programs  those in DIR/jit, of Mneme's own tests: each runs as compiled, with an empty cache, and with the cache of the
          second run. A run is right if it prints what the program prints as compiled. Reasons for launches that ran as
          compiled are listed: some programs have such launches on purpose
proteus   those in DIR/proteus, test programs of Proteus that utils/proteus-tests.py --prebuild has left
figures   part "jitted" of benchmarks/run.py

Everything goes to one JSON file.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


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
            right = plain[0] is not None and all(run[:2] == plain[:2] for run in (first, second))
            reasons = {}
            for code in first[2].get("code", []):
                for reason, times in code["reasons"].items():
                    reasons[reason] = reasons.get(reason, 0) + times
            row = {"name": name, "right": right, "exit": plain[0], "reasons": reasons, "again": second[2].get("compiled"),
                   **{k: first[2].get(k) for k in ("served", "fell_back", "compiled", "compile_seconds")}}
            rows.append(row)
            print("%-12s %-6s %s served, %s ran as compiled, %s compiled, %s by the second run%s" % (
                name, "right" if right else "WRONG", row["served"], row["fell_back"], row["compiled"], row["again"],
                "".join("; %d %s" % (n, r) for r, n in sorted(reasons.items())) +
                ("; exit code %s in all runs" % plain[0] if plain[0] and right else "")), flush=True)
        print("%d of %d programs right" % (sum(r["right"] for r in rows), len(rows)))
        self.result["programs"] = rows
        return all(r["right"] and not r["again"] and r["served"] for r in rows) and rows

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
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    args.root, args.work = os.path.abspath(args.root), os.path.abspath(args.work)
    os.makedirs(args.work, exist_ok=True)
    jit = Jit(args)
    failed = False
    for part in args.parts.split(","):
        print("- " + part, flush=True)
        failed |= not {"programs": jit.programs, "proteus": jit.proteus, "figures": jit.figures}[part]()
        with open(args.json, "w") as file:
            json.dump(jit.result, file, indent=1)
    sys.exit(failed)


if __name__ == "__main__":
    main()
