#!/usr/bin/env python3
"""Deploys tuned kernels in real programs, on a machine with a GPU or on the host device.

    utils/gpu-deploy.py --tools DIR --programs DIR --json FILE

Parts, in this order, each until --seconds are over:

right   the programs of --list, several at once: every kernel compiled in another way, packed, and served. The program
        must print the same as without, and llvm-mneme-deploy run --verify must find no difference
tuned   those of --tuned: the kernel that takes most of their time, tuned for --budget seconds, and what
        llvm-mneme-deploy prove measures in the program, beside what the study promised

Everything goes to one JSON file. Programs print times; lines with a unit of time or of speed, and those that differ
between two runs without packages, are not compared.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

from program_runs import TIMES, read_list

HERE = os.path.dirname(os.path.abspath(__file__))
# gpu-pack.sh puts it beside this script.
BEST = next(filter(os.path.exists, (os.path.join(HERE, d, "best.py") for d in (".", "../test/llvm-mneme-deploy/Inputs"))))
# A configuration that differs from the application's own for almost every kernel, and one that is sure to verify.
OTHERS = [["--passes=default<O3>", "--specialize-dims", "--set-launch-bounds"], ["--set-launch-bounds"], []]


def told(path):
    return [line for line in open(path, errors="replace") if not TIMES.search(line)]


def compare(mask):
    """--check of prove. Lines that differ between the runs in MASK, without packages, are not compared."""
    plain, tuned = told(os.environ["MNEME_PLAIN_STDOUT"]), told(os.environ["MNEME_TUNED_STDOUT"])
    first, second = (told(os.path.join(mask, name)) for name in ("first", "second"))
    if len({len(lines) for lines in (plain, tuned, first, second)}) != 1:
        return "a different number of lines"
    for p, t, a, b in zip(plain, tuned, first, second):
        if p != t and a == b:
            return "%r instead of %r" % (t, p)
    return 0


def describe(ratio):
    if not ratio:
        return "none"
    if ratio["low"] is None:
        return "%.3fx, too few runs for an interval" % ratio["value"]
    return "%.3fx [%.3f, %.3f]" % (ratio["value"], ratio["low"], ratio["high"])


class Failure(Exception):
    pass


class Deployment:
    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.kind = args.device.split(":")[0]
        self.results = {"right": [], "tuned": []}
        os.makedirs(args.work, exist_ok=True)
        with open(os.path.join(args.work, "control.txt"), "w") as file:
            for i in range(16):
                file.write("%f,%f,%f\n" % (i % 4 / 2 - 1, i // 4 / 2 - 1, (i * 7 % 16) / 8 - 1))

    def tool(self, name):
        return os.path.abspath(os.path.join(self.args.tools, "llvm-mneme-" + name))

    def run(self, command, codes=(0,), seconds=120, output=None):
        left = self.end - time.monotonic()
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=max(1, min(seconds, left)), errors="replace", cwd=output)
        except subprocess.TimeoutExpired:
            raise Failure("ran out of time: " + shlex.join(command)) from None
        if done.returncode not in codes:
            raise Failure("exit code %d: %s\n%s" % (done.returncode, shlex.join(command), (done.stderr or done.stdout)[-400:]))
        return done

    def prepare(self, name, words):
        """The program's command, its folder, and what it prints twice."""
        program = os.path.abspath(os.path.join(self.args.programs, name))
        if not os.path.exists(program):
            raise Failure("not built")
        folder = os.path.join(self.args.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        command = [program] + shlex.split(words.replace("{here}", self.args.work))
        host = [self.tool("record"), "--device=host", "--no-record", "--quiet", "--"] if self.kind == "host" else []
        for run in ("first", "second"):
            with open(os.path.join(folder, run), "w") as file:
                file.write(self.run(host + command, output=folder).stdout)
        return command, folder

    def record(self, command, folder):
        recordings = os.path.join(folder, "recordings")
        self.run([self.tool("record"), "--quiet", "--device=" + self.kind, "--max-recordings=1", "-o", recordings, "--", *command],
                 output=folder)
        if not glob.glob(recordings + "/*.json"):
            raise Failure("no kernel was recorded")
        return recordings

    def prove(self, command, folder, *options):
        check = shlex.join([sys.executable, os.path.abspath(__file__), "--compare=" + folder])
        done = self.run([self.tool("deploy"), "prove", "--device=" + self.kind, "--format=json", "--check=" + check, *options,
                         os.path.join(folder, "app.mneme"), "--", *command], codes=(0, 2), seconds=200, output=folder)
        return json.loads(done.stdout)

    def pack_another(self, recordings, path, folder, command):
        """Packs the first of OTHERS that verifies; why not, if none does."""
        launch = next(iter(json.load(open(path))["instances"]), None)
        if launch is None:
            return "not recorded"
        why = ""
        for options in OTHERS:
            done = self.run([self.tool("replay"), path, "--record-id=" + launch, "--device=" + self.args.device,
                             "--iterations=1", "--warmup=0", "--deployable", *(["--host-finish=none"] if self.kind == "host" else []), *options], codes=(0, 1, 2, 3, 4, 5, 6, 7))
            if done.returncode != 0:
                why = (done.stderr or str(json.loads(done.stdout)["Result"]["verdict"])).strip()[-200:]
                continue
            stem = os.path.join(folder, os.path.basename(path))
            with open(stem + ".replay", "w") as file:
                file.write(done.stdout)
            gpu = json.loads(done.stdout)["Result"]["gpu"]
            self.run([sys.executable, BEST, stem + ".replay", stem + ".best",
                      gpu["name"] if gpu else "host", recordings])
            done = self.run([self.tool("deploy"), "pack", "-o", os.path.join(folder, "app.mneme"), "--scope=kernel", "--accept=tolerance",
                             "--app=" + command[0], recordings, stem + ".best"], codes=(0, 1, 2))
            if done.returncode == 0:
                return None
            why = done.stderr.strip()[-200:]
        return why

    def right_one(self, name, words):
        command, folder = self.prepare(name, words)
        recordings = self.record(command, folder)
        kernels = sorted(glob.glob(recordings + "/*.json"))
        whys = [self.pack_another(recordings, path, folder, command) for path in kernels]
        row = {"kernels": len(kernels), "packed": whys.count(None), "not_packed": [w for w in whys if w]}
        if not row["packed"]:
            raise Failure("no kernel packed: " + "; ".join(row["not_packed"]))
        row["prove"] = self.prove(command, folder, "--runs=1", "--kernel-runs=0", "--scope=kernel")
        done = self.run([self.tool("deploy"), "run", "--device=" + self.kind, "--verify=3", "--scope=kernel",
                         os.path.join(folder, "app.mneme"), "--", *command], codes=range(256), output=folder)
        row["verify"] = {"exit_code": done.returncode,
                         "said": [l for l in done.stderr.splitlines() if l.startswith("mneme:") or "error:" in l]}
        proof = row["prove"]
        row["wrong"] = not proof["equal"] or any("differs" in l for l in row["verify"]["said"])
        row["says"] = "%d of %d kernels, %d of %d launches served, results %s, verify %d%s" % (
            row["packed"], row["kernels"], proof["served"], proof["served"] + proof["fell_back"] + proof["unmatched"],
            "equal" if proof["equal"] else "DIFFER: " + str(proof["difference"]), done.returncode,
            "; not packed: " + row["not_packed"][0].splitlines()[-1] if row["not_packed"] else "")
        return row

    def weigh(self, path):
        """Nanoseconds of all launches of a recorded kernel."""
        data = json.load(open(path))
        launch = next(iter(data["instances"]), None)
        if launch is None:
            return 0
        done = self.run([self.tool("replay"), path, "--record-id=" + launch, "--device=" + self.args.device], codes=range(8))
        measured = done.returncode == 0 and json.loads(done.stdout)["Result"]["measurement"]
        return (measured["median"] if measured else 0) * sum(i["Occurrences"] for i in data["instances"].values())

    def tuned_one(self, name, words):
        command, folder = self.prepare(name, words)
        recordings = self.record(command, folder)
        path = max(glob.glob(recordings + "/*.json"), key=self.weigh)
        package = os.path.join(folder, "app.mneme")
        study = os.path.join(folder, "study")
        done = self.run([self.tool("tune"), path, "--device=" + self.args.device, "--app=" + command[0],
                         "--deployable=on", "--preset=" + self.args.preset, "--budget=%d" % self.args.budget, "--explain=off", "--assess=off",
                         "--results-dir=" + study, "--launch-shape=" + self.args.launch_shape, "--export=package:" + package])
        row = {"kernel": json.load(open(path))["DemangledName"]}
        if not os.path.exists(package):
            row["says"] = "no package: %s" % (done.stderr.strip().splitlines() or ["no winner"])[-1]
            return row
        row["prove"] = proof = self.prove(command, folder, "--runs=%d" % self.args.runs, "--kernel-runs=6",
                                         "--limit=%d" % self.args.limit,
                                         "--launch-shape=" + self.args.launch_shape)
        row["wrong"] = not proof["equal"]
        texts = []
        for variant in proof["variants"]:
            if variant["served"]:
                texts.append("kernel %s, promised %s, agreement %s" % (describe(variant["measured"]), describe(variant["promised"]), variant["agreement"]))
        row["says"] = "%s; program %s, results %s" % (
            "; ".join(texts) or "not served", describe(proof["speedup"]), "equal" if proof["equal"] else "DIFFER")
        return row

    def measure(self, part, name, words, function):
        start = time.monotonic()
        try:
            row = function(name, words)
        except (Failure, OSError, KeyError, TypeError, ValueError) as error:
            row = {"error": str(error) or type(error).__name__}
        row.update(program=name, seconds=round(time.monotonic() - start, 1))
        self.results[part].append(row)
        print("%-20s %6.1f s  %s" % (name, row["seconds"], "ERROR: " + row["error"] if "error" in row else row["says"]), flush=True)
        with open(self.args.json, "w") as file:
            json.dump(self.results, file, indent=1)

    def right(self):
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            for name, words in read_list(self.args.list):
                pool.submit(lambda n=name, w=words: self.end > time.monotonic() + 5 and self.measure("right", n, w, self.right_one))
        rows = self.results["right"]
        print("right: %d programs, %d served, %d wrong" % (len(rows), sum("prove" in r and r["prove"]["served"] > 0 for r in rows),
                                                           sum(r.get("wrong", False) for r in rows)))

    def tuned(self):
        for name, words in read_list(self.args.tuned):
            if self.end - time.monotonic() > self.args.budget + 15:
                self.measure("tuned", name, words, self.tuned_one)
        rows = [r for r in self.results["tuned"] if "prove" in r]
        agree = [r for r in rows if any(v["agreement"] == "yes" for v in r["prove"]["variants"])]
        print("tuned: %d programs with a winner, %d within the promised interval, %d wrong"
              % (len(rows), len(agree), sum(r["wrong"] for r in rows)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", metavar="DIR")
    parser.add_argument("--programs", metavar="DIR")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--work", default="/tmp/mneme-deploy", metavar="DIR")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--parts", default="right,tuned")
    parser.add_argument("--list", default=os.path.join(HERE, "gpu-hecbench.txt"), metavar="FILE")
    parser.add_argument("--tuned", default=os.path.join(HERE, "gpu-tune.txt"), metavar="FILE")
    parser.add_argument("--preset", default="standard")
    parser.add_argument("--budget", type=int, default=12, help="seconds of search for each of tuned")
    parser.add_argument("--runs", type=int, default=6, help="pairs of runs of each of tuned")
    parser.add_argument("--limit", type=int, default=35, help="seconds of these runs")
    parser.add_argument("--launch-shape", default="proven", help="changed launches to serve in tuned")
    parser.add_argument("--jobs", type=int, default=4, help="programs of right at the same time")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--compare", metavar="DIR", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.compare:
        return compare(args.compare)
    if not (args.tools and args.programs and args.json):
        parser.error("needs --tools, --programs and --json")
    deployment = Deployment(args)
    for part in args.parts.split(","):
        if part not in deployment.results:
            parser.error("unknown part '%s'" % part)
        print("== " + part, flush=True)
        getattr(deployment, part)()
    rows = deployment.results["right"] + deployment.results["tuned"]
    return 1 if any(r.get("wrong") or "error" in r for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
