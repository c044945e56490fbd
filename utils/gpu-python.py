#!/usr/bin/env python3
# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the Python package on a machine with a GPU, or on the host device. Needs Python 3.10 and no other package.

    utils/gpu-python.py --tools DIR --examples DIR --json FILE

calls      import and empty calls
jacobi     tunes the example as a script of a user does, and then with llvm-mneme-tune
launches   launch shapes a second beside llvm-mneme-tune, on the same space, in turns
compiles   different pipelines a second with 1, 2, 4, ... compile processes, beside llvm-mneme-tune
crashes    1,000 futures of which 100 are miscompiled, the server killed in the middle of them
gpus       "compiles" and "launches" on 1, 2, 4, ... GPUs

Everything goes to one JSON file.
"""
import argparse
import concurrent.futures
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("python", os.path.join("..", "python")):
    if os.path.isdir(os.path.join(HERE, folder, "llvm_mneme")):
        sys.path.insert(0, os.path.join(HERE, folder))
PIPELINES = "function(sroa,early-cse,seq<3..8>(instcombine|simplifycfg|gvn|reassociate|dse|sink|bdce|adce)),default<{O1|O2|O3}>"


def median_us(action, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


class Bench:
    def __init__(self, args):
        import llvm_mneme

        self.mneme = llvm_mneme
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.results = {}
        os.makedirs(args.work, exist_ok=True)
        self.kernels = {}

    def kernel(self, example, name):
        """A recorded kernel."""
        if (example, name) not in self.kernels:
            folder = os.path.join(self.args.work, example)
            shutil.rmtree(folder, ignore_errors=True)
            command = [os.path.join(self.args.tools, "llvm-mneme-record"), "--quiet", "--device=" + self.args.device.split(":")[0]]
            subprocess.run([*command, "-o", folder, "--", os.path.join(self.args.examples, example)], check=True, stdout=subprocess.DEVNULL)
            self.kernels[example, name] = self.mneme.open(folder)[name]
        return self.kernels[example, name]

    def tool_rate(self, launch, options, device, seconds):
        """Verified configurations a second of llvm-mneme-tune."""
        out = os.path.join(self.args.work, "study")
        shutil.rmtree(out, ignore_errors=True)
        words = ["--%s=%s" % (k.replace("_", "-"), v) for k, v in options.items()]
        command = [os.path.join(self.args.tools, "llvm-mneme-tune"), launch.kernel.path, "--record-id=" + launch.record_id]
        command += ["--device=" + device, "--budget=%g" % seconds, "--sampler=random", "--retest=0", "--explain=off", "--assess=off"]
        done = subprocess.run([*command, "--report=false", "--quiet", "-o", out, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout[-500:])
        with open(os.path.join(out, "summary.json")) as file:
            outcome = json.load(file)["outcome"]
        return (outcome["complete"] + outcome["pruned"]) / outcome["search_seconds"]

    def package_rate(self, launch, options, device, seconds, jobs=None):
        with self.mneme.Executor(launch, device=device, compile_jobs=jobs) as executor:
            space = self.mneme.Space.options(**options)
            study = self.mneme.tune(space, executor, sampler="random", budget=seconds, retest=0, progress=False)
        return sum(t.state != "failed" for t in study.trials) / study.seconds

    def compare_rates(self, launch, options, device, seconds):
        """In turns, as other load comes and goes."""
        tool, package = [], []
        for _ in range(3):
            tool.append(self.tool_rate(launch, options, device, seconds))
            package.append(self.package_rate(launch, options, device, seconds))
        tool, package = statistics.median(tool), statistics.median(package)
        return {"device": device, "tool": tool, "package": package, "ratio": package / tool}

    LAUNCHES = {"block_x": "32..1024", "shared_mem": "0..32768:256"}

    def calls(self):
        code = "import time; t = time.perf_counter(); import llvm_mneme; llvm_mneme.Executor, llvm_mneme.tune; print(time.perf_counter() - t)"
        env = {**os.environ, "PYTHONPATH": sys.path[0]}
        times = [float(subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, check=True).stdout) for _ in range(11)]
        with self.mneme.Executor(self.kernel("saxpy", "saxpy"), device=self.args.device) as executor:
            call = median_us(executor.ping, 3000)
            one = median_us(lambda: executor.evaluate(fresh=True), 100)
        return {"import_ms": statistics.median(times) * 1e3, "call_us": call, "evaluation_us": one, "python": sys.version.split()[0]}

    def jacobi(self):
        mneme, device = self.mneme, self.args.device
        launch = self.kernel("jacobi", "relax").only()
        cells = launch.args[2].value

        def derived(p):
            block = (2 ** (3 + math.floor(6.999 * p["width"])), 2 ** math.floor(3.999 * p["height"]))
            grid = tuple(math.ceil(cells / b) for b in block)
            return mneme.Config(block=block, grid=grid, set_launch_bounds=True, passes=f"default<{p['level']}>")

        unit = mneme.Float(0.0, 1.0)
        space = mneme.Space({"width": unit, "height": unit, "level": ["O1", "O2", "O3"]}, derived=derived,
                            constraint=lambda p: math.prod(v for k, v in derived(p).items() if k.startswith("block")) <= 1024)  # fmt: skip
        study = mneme.tune(space, launch, sampler="tpe", trials=150, device=device, progress=False)
        out = os.path.join(self.args.work, "study")
        shutil.rmtree(out, ignore_errors=True)
        words = ["--block-x=8..512:*2", "--block-y=1..8:*2", "--require=block.x * block.y <= 1024", "--launch-bounds=on"]
        words += [f"--grid-{a}=({cells} + block.{a} - 1) / block.{a}" for a in "xy"] + ["--passes=default<{O1|O2|O3}>"]
        command = [os.path.join(self.args.tools, "llvm-mneme-tune"), launch.kernel.path, "--device=" + device, "--sampler=tpe", "--trials=150"]
        subprocess.run([*command, "--explain=off", "--quiet", "-o", out, *words], stdout=subprocess.DEVNULL, check=True)
        theirs = os.path.join(out, "best.json")
        found = {}
        if os.path.exists(theirs):
            with open(theirs) as file:
                found = json.load(file)["config"]
        with mneme.Executor(launch, device=device) as executor:
            between = executor.compare(found, study.best_config, pairs=50)
        return {"package": study.best_config.to_dict(), "speedup": study.speedup, "failures": study.failures, "tool": found,
                "package_over_tool": between.speedups[1]}  # fmt: skip

    def launches(self):
        launch = next(iter(self.kernel("saxpy", "saxpy").values()))
        return self.compare_rates(launch, self.LAUNCHES, self.args.device, self.args.part_seconds)

    def compiles(self):
        launch = next(iter(self.kernel("saxpy", "saxpy").values()))
        options, rows = {"passes": PIPELINES}, {}
        jobs = 1
        while jobs < (os.cpu_count() or 1):
            rows[jobs] = self.package_rate(launch, options, self.args.device, self.args.part_seconds, jobs)
            jobs *= 2
        return {"package_by_jobs": rows, **self.compare_rates(launch, options, self.args.device, self.args.part_seconds)}

    def crashes(self):
        warnings.simplefilter("ignore")
        kernel = self.kernel("saxpy", "saxpy")
        options = ["--load-pass-plugin=" + self.args.plugin]
        begin = time.monotonic()
        with self.mneme.Executor(kernel, device=self.args.device, options=options) as executor:
            wrong = "default<O1>,mneme-fault<first-thread>"
            futures = [executor.submit(passes=wrong if n % 10 == 0 else "default<O%d>" % (1 + n % 3), maxnreg=32 + n // 10) for n in range(1000)]
            for future in futures[:300]:
                future.result()
            before = {f: f.result() for f in futures if f.done()}
            os.kill(next(iter(executor._servers.values())).pid, signal.SIGKILL)
            concurrent.futures.wait(futures)
            seconds = time.monotonic() - begin
        right = sum((f.result().failure != "") == (n % 10 == 0) for n, f in enumerate(futures))
        return {"right": right, "of": len(futures), "kept": all(f.result() is r for f, r in before.items()), "finished_before_the_kill": len(before), "seconds": seconds}

    def gpus(self):
        mneme = self.mneme
        kind = self.args.device.split(":")[0]
        out = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True).stdout if shutil.which("nvidia-smi") else ""
        count, rows = len(out.splitlines()), []
        number = 1
        while number <= count:
            device = ",".join(f"{kind}:{n}" for n in range(number))
            launch = next(iter(self.kernel("saxpy", "saxpy").values()))
            row = {"gpus": number, "compiles": self.package_rate(launch, {"passes": PIPELINES}, device, self.args.part_seconds),
                   "launches": self.package_rate(launch, self.LAUNCHES, device, self.args.part_seconds)}  # fmt: skip
            with mneme.Executor(launch, device=device) as executor:
                row["devices"] = len({r.device for r in executor.map([{"block.x": 32 + n} for n in range(400)])})
            rows.append(row)
            number *= 2
        return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, help="folder of the tools")
    parser.add_argument("--examples", required=True, help="folder of the example programs")
    parser.add_argument("--plugin", required=True, help="FaultPasses.so")
    parser.add_argument("--work", default="/tmp/mneme-python")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--parts", default="calls,jacobi,launches,compiles,crashes,gpus")
    parser.add_argument("--part-seconds", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--json", required=True)
    args = parser.parse_args()
    if sys.version_info < (3, 10):
        sys.exit("the package needs Python 3.10, this is %s" % sys.version.split()[0])
    os.environ["MNEME_ROOT"] = os.path.dirname(os.path.abspath(args.tools))
    bench, status = Bench(args), 0
    for part in args.parts.split(","):
        if time.monotonic() > bench.end:
            print("no time for " + part)
            status = 1
            continue
        try:
            bench.results[part] = getattr(bench, part)()
            print("%s: %s" % (part, json.dumps(bench.results[part])), flush=True)
        except Exception as error:
            # The other parts say more.
            print("%s: FAILED: %s: %s" % (part, type(error).__name__, error), flush=True)
            status = 1
        with open(args.json, "w") as file:
            json.dump(bench.results, file, indent=1)
    sys.exit(status)


if __name__ == "__main__":
    main()
