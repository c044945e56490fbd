#!/usr/bin/env python3
"""Runs Mneme's benchmarks and prints tables, or JSON with --json.

run.py --build=BUILD [--only=host,replay,record] [--json]

host    kernels on the host device beside plain C++ on one core
replay  replays of one kernel in one process: how many a second, and where the time goes
record  what recording costs an application, per launch and per GiB

Build them first: cmake --build BUILD --target mneme-benchmarks
"""

import argparse
import datetime
import glob
import json
import os
import platform
import subprocess
import sys
import tempfile


def machine():
    model = "unknown CPU"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "date": datetime.date.today().isoformat(),
        "load": os.getloadavg()[0],
    }


def run(command, **kwargs):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)
    if done.returncode != 0:
        sys.stderr.write(done.stderr.decode(errors="replace"))
        sys.exit("run.py: error: '%s' ended with %d" % (" ".join(command), done.returncode))
    return done.stdout.decode()


class Runner:
    def __init__(self, options):
        self.build = options.build
        self.options = options
        self.record_tool = os.path.join(options.build, "bin", "llvm-mneme-record")
        self.launches = os.path.join(options.build, "benchmarks", "Record", "launches")

    def tool(self, name):
        return os.path.join(self.build, "bin", name)

    def record(self, directory, program, *extra):
        command = [self.record_tool, "--device=host", "-o", directory, *extra, "--", *program]
        return run(command)

    def host(self):
        return json.loads(run([self.tool("mneme-bench-host"), "--json"]))

    def replay(self):
        with tempfile.TemporaryDirectory() as directory:
            self.record(directory, [os.path.join(self.build, "benchmarks", "Replay", "saxpy")])
            kernel = glob.glob(os.path.join(directory, "*.json"))[0]
            command = [self.tool("mneme-bench-replay"), "--json", kernel]
            runs = [json.loads(run(command)) for _ in range(5)]
        # The run that other load on the machine disturbed least.
        return max(runs, key=lambda r: sum(c["replays_per_second"] for c in r["cases"]))

    def record_cost(self):
        result = {}

        def per_launch(program, count, *extra):
            best = None
            for _ in range(5):
                with tempfile.TemporaryDirectory() as directory:
                    command = [program, "call", str(count)]
                    text = self.record(directory, command, *extra) if extra else run(command)
                seconds = json.loads(text.splitlines()[-1])["seconds_per_launch"]
                best = seconds if best is None else min(best, seconds)
            return best * 1e9

        # Without a device a launch is refused at once, so the call is all there is.
        result["ns_per_launch"] = {
            "plain program, no device": per_launch(self.launches + "-plain", 1000000),
            "instrumented, no device": per_launch(self.launches, 1000000),
            "host device, no recording": per_launch(self.launches, 100000, "--no-record"),
            "host device, not selected": per_launch(self.launches, 100000, "--kernel=^none$"),
            "host device, selected, recorded before": per_launch(
                self.launches, 100000, "--kernel=touch"
            ),
        }
        snapshots = []
        for kind in ("zeros", "text", "noise"):
            mib = self.options.mib
            with tempfile.TemporaryDirectory() as directory:
                text = self.record(
                    directory, [self.launches, "snapshot", str(mib), kind], "--skip=1"
                )
                times = json.loads(text.splitlines()[-1])
                stored = sum(
                    os.path.getsize(f) for f in glob.glob(os.path.join(directory, "*.mneme"))
                )
            snapshots.append(
                {
                    "data": kind,
                    "mib": mib,
                    "recorded_seconds": times["second"],
                    "plain_seconds": times["third"],
                    "seconds_per_gib": (times["second"] - times["third"]) * 1024 / mib,
                    "stored_mib": stored / 2**20,
                }
            )
        result["snapshots"] = snapshots
        return result


def print_host(result):
    print("Host device beside C++ -O3 -march=native, one core, finish %s" % result["host_finish"])
    print("kernel      strategy   compile ms    C++ ms  device ms  ratio  goal")
    for k in result["kernels"]:
        print(
            "%-11s %-10s %10.1f %9.3f %10.3f %6.2f %5.1f"
            % (
                k["kernel"],
                k["strategy"],
                k["compile_ms"],
                k["native_ms"]["min"],
                k["device_ms"]["min"],
                k["ratio"],
                k["goal"],
            )
        )


def print_replay(result):
    print("Replays of %s in one process, one after another" % result["kernel"])
    once = result["once_milliseconds"]
    print("once: " + ", ".join("%s %.3f ms" % (k, once[k]) for k in ("parse", "read", "prepare")))
    for case in result["cases"]:
        print("%-28s %8.1f replays/s" % (case["name"], case["replays_per_second"]))
        for step in ("optimize", "codegen", "load", "restore", "run", "compare"):
            if step in case["milliseconds"]:
                print("    %-24s %8.3f ms" % (step, case["milliseconds"][step]))


def print_record(result):
    for name, ns in result["ns_per_launch"].items():
        print("%-42s %9.1f ns a launch" % (name, ns))
    for s in result["snapshots"]:
        print(
            "snapshot of %d MiB of %-6s %8.2f s/GiB, %8.1f MiB stored (both snapshots)"
            % (s["mib"], s["data"], s["seconds_per_gib"], s["stored_mib"])
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build", help="the build folder")
    parser.add_argument("--only", default="host,replay,record")
    parser.add_argument("--mib", type=int, default=256, help="size of the snapshots")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    runner = Runner(options)
    parts = {
        "host": (runner.host, print_host),
        "replay": (runner.replay, print_replay),
        "record": (runner.record_cost, print_record),
    }
    result = {"machine": machine()}
    for name in options.only.split(","):
        if name not in parts:
            parser.error("unknown part '%s'" % name)
        result[name] = parts[name][0]()
        if not options.json:
            parts[name][1](result[name])
            print()
    if options.json:
        json.dump(result, sys.stdout, indent=2)
        print()
    else:
        print("%(cpu)s, %(cores)d cores, load %(load).1f, %(date)s" % result["machine"])


if __name__ == "__main__":
    main()
