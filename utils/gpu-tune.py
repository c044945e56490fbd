#!/usr/bin/env python3
"""Measures llvm-mneme-tune, on a machine with a GPU or on the host device.

    utils/gpu-tune.py --tools DIR --programs DIR --examples DIR --json FILE

Parts, in this order, each until --seconds are over:

rates      different verified configurations a second, for a small, a middle and a large kernel, by the
           compilations a second that as many processes can do that do nothing else (mneme-bench-compile, with the
           same pipelines, right after)
launches   launch-only configurations a second
speedups   the programs of --list: the kernel that takes most of their time, tuned for --budget seconds and compared
           with the application's own machine code
scaling    the first of "rates" and of "speedups" on 1, 2, 4, ... GPUs

Everything goes to one JSON file.
"""
import argparse
import glob
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# Pipelines whose compilations differ in what they do, not in how much: short ones would say nothing
# about the ceiling of a real search.
PIPELINES = ("function(sroa,early-cse,seq<4..10>(instcombine|simplifycfg|gvn|early-cse<memssa>|reassociate|"
             "loop-mssa(licm)|loop(indvars)|loop-unroll<{O1|O2|O3}>|sink|dse|jump-threading|slsr|"
             "correlated-propagation|bdce|adce|nary-reassociate|separate-const-offset-from-gep|loop-vectorize|"
             "speculative-execution)),default<{O1|O2|O3}>")


def read_list(path):
    """Lines of "name [kernel]: words"."""
    rows = []
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            name, _, words = line.partition(":")
            name, _, kernel = name.strip().partition(" ")
            rows.append((name, kernel, words.strip()))
    return rows


class Bench:
    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.on_host = args.device.startswith("host")
        self.results = {"rates": [], "launches": [], "speedups": [], "scaling": []}
        random.seed(0)
        os.makedirs(args.work, exist_ok=True)
        # What bezier-surface wants: 16 points.
        with open(os.path.join(args.work, "control.txt"), "w") as file:
            for _ in range(16):
                file.write("%f,%f,%f\n" % tuple(random.uniform(-1, 1) for _ in range(3)))

    def left(self):
        return self.end - time.monotonic()

    def tool(self, name):
        return os.path.join(self.args.tools, name)

    def run(self, command, seconds=120):
        """Output, or None; what went wrong is printed."""
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=max(1, min(seconds, self.left() + 20)), errors="replace")
        except subprocess.TimeoutExpired:
            print("ran out of time: " + shlex.join(command), flush=True)
            return None
        if done.returncode != 0:
            print("exit code %d: %s\n%s" % (done.returncode, shlex.join(command), done.stdout[-600:]), flush=True)
            return None
        return done.stdout

    def record(self, name, program, words):
        """The recorded kernels, longest launches times how many there are first."""
        database = os.path.join(self.args.work, name, "recordings")
        shutil.rmtree(database, ignore_errors=True)
        os.makedirs(os.path.dirname(database), exist_ok=True)
        words = shlex.split(words.replace("{here}", self.args.work))
        if self.run([self.tool("llvm-mneme-record"), "--device=" + self.args.device.split(":")[0], "-o", database, "--", program] + words) is None:
            return []
        found = []
        for path in sorted(glob.glob(os.path.join(database, "*.json"))):
            data = json.load(open(path))
            if not data["instances"]:
                continue
            out = self.run([self.tool("llvm-mneme-replay"), path, "--record-id=" + next(iter(data["instances"]))])
            if out is None:
                continue
            median = (json.loads(out)["Result"]["measurement"] or {}).get("median") or 0
            launches = sum(i["Occurrences"] for i in data["instances"].values())
            found.append((median * launches, path, data))
        return sorted(found, key=lambda f: -f[0])

    def tune(self, path, data, name, options, seconds):
        """summary.json of a study."""
        results = os.path.join(self.args.work, name)
        shutil.rmtree(results, ignore_errors=True)
        launch = max(data["instances"], key=lambda i: data["instances"][i]["Occurrences"])
        start = time.monotonic()
        out = self.run([self.tool("llvm-mneme-tune"), path, "--record-id=" + launch, "--results-dir=" + results,
                        "--quiet"] + options, seconds)
        if out is None:
            return None
        summary = json.load(open(os.path.join(results, "summary.json")))
        outcome = summary["outcome"]
        summary["wall_seconds"] = time.monotonic() - start
        summary["results"] = results
        # Verified ones, those included that were stopped because they are slower.
        summary["rate"] = (outcome["complete"] + outcome["pruned"]) / max(outcome["search_seconds"], 1e-9)
        return summary

    def tried_pipelines(self, summary):
        """The pipelines of a study's trials, from its journal."""
        texts = []
        for line in open(os.path.join(summary["results"], "study.log")):
            config = (json.loads(line).get("user_attrs") or {}).get("config") or {}
            if isinstance(config, str):
                config = json.loads(config)
            if "passes" in config:
                texts.append(config["passes"])
        return list(dict.fromkeys(texts))

    def save(self):
        with open(self.args.json, "w") as file:
            json.dump(self.results, file, indent=1)

    def search(self, path, data, name, seconds, extra):
        return self.tune(path, data, name, ["--sampler=random", "--budget=%d" % seconds, "--retest=0",
                                            "--explain=off"] + extra, seconds + 90)

    def rates(self):
        # Of wsm5 most pipelines give other roundings.
        loose = ["--dtype=f32", "--tolerance=rel:1e-3"]
        for name, folder, words, rule in (("saxpy", self.args.examples, "", []),
                                          ("bezier-surface", self.args.programs, "-n 256 -f {here}/control.txt", []),
                                          ("wsm5", self.args.programs, "2", loose)):
            kernels = self.record(name, os.path.join(folder, name), words)
            if not kernels:
                continue
            _, path, data = kernels[0]
            summary = self.search(path, data, "study-" + name, self.args.rate_seconds,
                                  ["--device=" + self.args.device, "--passes=" + PIPELINES] + rule)
            if not summary:
                continue
            row = {"program": name, "kernel": data["DemangledName"], "study": summary}
            texts = os.path.join(self.args.work, "pipelines.txt")
            with open(texts, "w") as file:
                file.write("\n".join(self.tried_pipelines(summary)))
            bitcode = os.path.join(os.path.dirname(path), data["Modules"][0])
            for compiler in ("ptxas", "auto") if self.args.both_compilers else ("auto",):
                out = self.run([self.tool("mneme-bench-compile"), bitcode, "--kernel=" + data["KernelName"],
                                "--pipelines=" + texts, "--seconds=%d" % self.args.rate_seconds,
                                "--ptx-compiler=" + compiler] + (["--host=none"] if self.on_host else []))
                row["ceiling" if compiler == "auto" else "ceiling_" + compiler] = out and json.loads(out)
            self.results["rates"].append(row)
            print("rates: %-16s %7.1f/s of %7.1f/s" % (name, summary["rate"], (row["ceiling"] or {}).get("per_second", 0)),
                  flush=True)
            self.save()

    def launches(self):
        kernels = self.record("saxpy", os.path.join(self.args.examples, "saxpy"), "")
        if not kernels:
            return
        _, path, data = kernels[0]
        summary = self.search(path, data, "study-launches", 10,
                              ["--device=" + self.args.device, "--block-x=32..1024", "--shared-mem=0..32768:1024"])
        if summary:
            self.results["launches"].append({"program": "saxpy", "study": summary})
            print("launches: %.0f/s" % summary["rate"], flush=True)
            self.save()

    def speedups(self):
        for name, wanted, words in read_list(self.args.list):
            if self.left() < self.args.budget + 30:
                print("no time for " + name, flush=True)
                continue
            program = os.path.join(self.args.programs, name)
            if not os.path.exists(program):
                print("not built: " + name, flush=True)
                continue
            kernels = [k for k in self.record(name, program, words) if re.search(wanted, k[2]["KernelName"])]
            if not kernels:
                continue
            _, path, data = kernels[0]
            summary = self.tune(path, data, "study-" + name, ["--device=" + self.args.device, "--app=" + program, "--preset=" + self.args.preset,
                                "--budget=%d" % self.args.budget], self.args.budget + 120)
            if summary:
                self.results["speedups"].append({"program": name, "kernel": data["DemangledName"], "study": summary})
                test = summary["outcome"]["final_test"]
                confirmed = (test["confirmed"] or {}).get("speedup") or {}
                print("speedups: %-20s %6.1f trials/s, %s of %d survive, %s [%s, %s] %s"
                      % (name, summary["rate"], test["survivors"], len(test["candidates"]), confirmed.get("value"),
                         confirmed.get("low"), confirmed.get("high"), test["significant"]), flush=True)
                self.save()

    def scaling(self):
        count = len([l for l in self.run([self.tool("llvm-mneme-replay"), "--list-devices"]).splitlines()
                     if l.startswith("cuda:")])
        kernels = self.record("saxpy", os.path.join(self.args.examples, "saxpy"), "")
        gpus = 1
        while kernels and gpus <= count:
            devices = "--device=" + ",".join("cuda:%d" % i for i in range(gpus))
            _, path, data = kernels[0]
            for what, extra in (("new code", ["--passes=" + PIPELINES]),
                                ("launches", ["--block-x=32..1024", "--shared-mem=0..32768:1024"])):
                summary = self.search(path, data, "study-gpus", self.args.rate_seconds, [devices] + extra)
                if summary:
                    self.results["scaling"].append({"program": "saxpy", "gpus": gpus, "what": what, "study": summary})
                    print("scaling: %d GPUs, %s: %.1f/s" % (gpus, what, summary["rate"]), flush=True)
                    self.save()
            gpus *= 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, metavar="DIR")
    parser.add_argument("--programs", required=True, metavar="DIR")
    parser.add_argument("--examples", required=True, metavar="DIR")
    parser.add_argument("--json", required=True, metavar="FILE")
    parser.add_argument("--work", default="/tmp/mneme-tune", metavar="DIR")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--parts", type=lambda s: s.split(","), default=["rates", "launches", "speedups"])
    parser.add_argument("--list", default=os.path.join(HERE, "gpu-tune.txt"), metavar="FILE")
    parser.add_argument("--preset", default="standard")
    parser.add_argument("--budget", type=int, default=60, help="seconds of search for each of speedups")
    parser.add_argument("--rate-seconds", type=int, default=15, help="of search for each of rates, and of their ceilings")
    parser.add_argument("--both-compilers", action="store_true", help="also the ceiling with ptxas as a program")
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    bench = Bench(args)
    for part in args.parts:
        if bench.left() > 0:
            getattr(bench, part)()
    bench.save()
    return 0 if all(bench.results[part] for part in args.parts) else 1


if __name__ == "__main__":
    sys.exit(main())
