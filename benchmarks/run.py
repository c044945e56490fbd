#!/usr/bin/env python3
"""Runs Mneme's benchmarks and prints tables, or JSON with --json.

run.py --build=BUILD [--only=host,replay,record,pages,samplers,deploy,jit] [--json] [--output=FILE]
run.py --build=BUILD --only=python,source,evolution [--python=PYTHON] [--device=cuda:0]
run.py --build=BUILD --only=bisect --programs=DIR [--places=N] [--seed=N]
run.py --build=BUILD --only=faults [--before=REPLAY] [--faults-on=cuda:0] [--searches=full]
run.py --build=BUILD --only=gpu [--device=cuda:0] [--programs=DIR] [--seconds=N] ...

host      kernels on the host device beside plain C++ on one core
replay    replays of one kernel in one process: how many a second, and where the time goes
record    what recording costs an application, per launch and per GiB
pages     rates of hashing, compressing and writing memory beside those of zstd alone
samplers  processor time of a sampler's proposal, by trials and dimensions
deploy    what a launch costs with tuned kernels, and the start with a large package
source    versions of a kernel's source: front end, known versions, beside rebuilding and running, searches
evolution what searches over source find: among versions of equal speed, and beside llvm-mneme-tune
jit       what the JIT costs: hits, misses, first launches, compilations, many processes at once
sources   compiling sources at run time, beside "clang -c" of the same
python    the Python package: import, calls, rate beside llvm-mneme-tune, memory, rows, what a cluster's head feeds
bisect    steps and seconds of bisections of faults that are planted at random places
faults    bisections of one fault of each kind: what they name, beside opt-bisect by hand
gpu       the parts that need a GPU, below, as far as --seconds go

launches     what a launch and a whole application cost with and without a recorder
memory       restoring and comparing memory beside the device's own copy
evaluations  replays a second of one process, and where the time goes
noise        how much two measurements of the same code differ
tuned        what "deploy" measures, with the GPU's own driver
jitted       what "jit" measures of launches, with the GPU's own driver

A part that cannot be measured has an "error" in its place. DIR has the programs that
utils/gpu-programs.py has built; wsm5 is the huge kernel of "evaluations". "bisect" takes md, wsm5 and
lulesh of them.

Build them first: cmake --build BUILD --target mneme-benchmarks. REPLAY is the llvm-mneme-replay of
another version, for comparison.
"""

import argparse
import ctypes
import datetime
import glob
import json
import os
import platform
import random
import re
import resource
import subprocess
import sys
import tempfile
import time


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


class Failure(Exception):
    """A program that a benchmark consists of has failed."""


def run_both(command, **kwargs):
    """What a command wrote to its output, and to stderr."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)
    said = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        raise Failure("'%s' ended with %d: %s" % (" ".join(command), done.returncode, said.strip()[-500:]))
    return done.stdout.decode(), said


def run(command, **kwargs):
    return run_both(command, **kwargs)[0]


def application_cost(name, command, recorder, select, execute, rounds=3):
    """Wall clock of a whole application, in turns: plain, with a recorder, and with one launch recorded. Where the
    application prints as JSON how many seconds its own loop took, that is told apart from the rest: its start, its end,
    and what the recorder does before and after."""
    times = {"plain": [], "recorder, nothing recorded": [], "one launch recorded": []}
    inside = {case: [] for case in times}
    costs = []
    stored = 0
    for _ in range(rounds):
        for case, seconds in times.items():
            with tempfile.TemporaryDirectory() as directory:
                record = [*recorder, "-o", directory]
                whole = {
                    "plain": command,
                    "recorder, nothing recorded": [*record, "--no-record", "--", *command],
                    "one launch recorded": [*record, "--max-recordings=1", *select, "--", *command],
                }[case]
                start = time.monotonic()
                out, said = execute(whole)
                seconds.append(time.monotonic() - start)
                try:
                    inside[case].append(json.loads(out.splitlines()[-1])["seconds"])
                except (ValueError, KeyError, TypeError, IndexError):
                    pass
                if case == "one launch recorded":
                    costs += [line for line in said.splitlines() if "spent on recording" in line]
                    stored = sum(os.path.getsize(f) for f in glob.glob(os.path.join(directory, "*.mneme")))
    plain = min(times["plain"])
    return {
        "name": name,
        "command": " ".join(command[1:]),
        "runs": times,
        "seconds": {case: min(seconds) for case, seconds in times.items()},
        "percent": {case: (min(seconds) / plain - 1) * 100 for case, seconds in times.items()},
        "inside_seconds": {case: min(seconds) for case, seconds in inside.items() if seconds},
        "recorder_says": costs,
        "stored_bytes": stored,
    }


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

    def pages(self):
        with tempfile.TemporaryDirectory() as directory:
            command = [self.tool("mneme-bench-pages"), "--mib=%d" % self.options.mib]
            return json.loads(run(command + ["--folder=" + directory]))

    def samplers(self):
        return json.loads(run([self.tool("mneme-bench-samplers"), "--json"]))

    def python(self):
        """With the engines and packages that PYTHON has."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Python", "measure.py")
        source = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")
        env = dict(os.environ, PYTHONPATH=source, MNEME_ROOT=self.build)
        python = self.options.python

        def measure(*words):
            return json.loads(run([python, script, *words], env=env).splitlines()[-1])

        with tempfile.TemporaryDirectory() as directory:
            small, large = os.path.join(directory, "small"), os.path.join(directory, "large")
            self.record(small, [os.path.join(self.build, "benchmarks", "Replay", "saxpy")])
            self.record(large, [self.launches, "snapshot", "1024", "text"], "--max-recordings=1")
            result = measure("small", small)
            result["memory"] = measure("memory", large)
            has = {m: subprocess.run([python, "-c", "import " + m], stderr=subprocess.DEVNULL).returncode == 0
                   for m in ("pyarrow", "distributed", "ray")}
            result["rows"] = measure("rows", small) if has["pyarrow"] else {}
            engines = ["local"] + [e for e, m in (("dask", "distributed"), ("ray", "ray")) if has[m]]
            result["head"] = [r for e in engines for r in measure("head", small, "64", "1000", "--engine=" + e)]
        return result

    def source(self, script="measure.py", *more):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Source", script)
        package = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")
        env = dict(os.environ, PYTHONPATH=package, MNEME_ROOT=self.build)
        clang, cuda = self.compilers()
        device = "--device=" + (self.options.device or "host")
        return json.loads(run([self.options.python, script, self.build, clang, cuda, device, *more], env=env))

    def deploy(self):
        """On the emulated GPU, which takes a launch in less than a real one does."""
        emulated = os.path.join(self.build, "lib", "emulated-cuda")
        if not os.path.exists(os.path.join(emulated, "libcudart.so.13")):
            raise Failure("deploy needs the emulated CUDA driver of the tests")
        return self.launch_tuned(dict(os.environ, LD_LIBRARY_PATH=emulated, MNEME_EMULATED_KERNELS=self.launches + ".bc"))

    def launch_tuned(self, env):
        library = os.path.join(self.build, "lib", "libmneme_deploy.so")
        with tempfile.TemporaryDirectory() as directory:
            variant = ["variant=" + os.path.join(self.build, "benchmarks", "Deploy", "launches.cubin"), "arch=sm_90"]

            def package(name, kernel, variants):
                path = os.path.join(directory, name)
                run([self.tool("mneme-package"), path, self.launches, "kernel=" + kernel, *variants])
                return path

            def guarded(matches):
                words = [w for what in ("grid", "block") for axis in "012" for w in
                         ("guard=" + what, "index=" + axis, "low=1")]
                return [*variant, "entry=_Z5touchPj", *words, "guard=cooperative", "low=0",
                        "guard=shared", "low=" + ("0" if matches else "1")]

            one = package("one", "_Z5touchPj", [*variant, "entry=_Z5touchPj"])
            eight = package("eight", "_Z5touchPj", 7 * guarded(False) + guarded(True))
            none = package("none", "_Z5touchPj", 8 * guarded(False))
            other = package("other", "_Z5churnPjm", [*variant, "entry=_Z5churnPjm"])
            large = os.path.join(directory, "large")
            opened = json.loads(run([self.tool("mneme-bench-deploy"), large, "1000"]))

            def call(count, program, packages=None):
                more = {"LD_PRELOAD": library, "MNEME_TUNED": packages} if packages else {}
                start = time.monotonic()
                text = run([program, "call", str(count)], env=dict(env, **more))
                seconds = time.monotonic() - start
                return json.loads(text.splitlines()[-1])["seconds_per_launch"] * 1e9, seconds

            plain, count = self.launches + "-plain", 50000
            cases = {
                "plain program": lambda: call(count, plain),
                "instrumented, no package": lambda: call(count, self.launches),
                "kernel not in the package": lambda: call(count, self.launches, other),
                "8 variants of 8 guards, none serves": lambda: call(count, self.launches, none),
                "1 variant, served": lambda: call(count, self.launches, one),
                "8 variants of 8 guards, the last serves": lambda: call(count, self.launches, eight),
            }
            starts = {
                "plain program": lambda: call(1, plain),
                "package of 1 kernel": lambda: call(1, self.launches, one),
                "package of 1000 kernels": lambda: call(1, self.launches, large),
            }
            # In turns, each of which begins with another case: on a GPU, a process may be slower than the one before.
            rounds = []
            for turn in range(18):
                names = list(cases)[turn % len(cases):] + list(cases)[:turn % len(cases)]
                measured = {name: cases[name]()[0] for name in names}
                rounds.append({name: measured[name] for name in cases})
            begun = [{name: case()[1] for name, case in starts.items()} for _ in range(15)]
        return {
            "ns_per_launch": {name: min(r[name] for r in rounds) for name in cases},
            "ns_more_than_plain": {name: median([r[name] - r["plain program"] for r in rounds]) for name in cases},
            "rounds": rounds,
            "seconds_of_one_launch": {name: min(r[name] for r in begun) for name in starts},
            "package": opened,
        }

    def jit(self):
        """On the host device and on the emulated GPU, which takes a launch in less than a real one does."""
        on_host = [self.record_tool, "--no-record", "--device=host", "--"]
        result = {"host": self.launch_jitted(dict(os.environ), on_host), "calls": self.call_jitted(),
                  "compile": self.compile_jitted(), "processes": self.share_jitted(64)}
        emulated = os.path.join(self.build, "lib", "emulated-cuda")
        if os.path.exists(os.path.join(emulated, "libcudart.so.13")):
            result["emulated"] = self.launch_jitted(
                dict(os.environ, LD_LIBRARY_PATH=emulated, MNEME_EMULATED_KERNELS=self.jit_program() + ".bc"))
        return result

    def jit_program(self):
        return os.path.join(self.build, "benchmarks", "Jit", "jit")

    def run_jitted(self, directory, words, env=None, wrapper=(), **more):
        """A run with a server and a cache below DIRECTORY, and what its report says."""
        report = os.path.join(directory, "report")
        env = dict(env or os.environ, XDG_RUNTIME_DIR=directory, MNEME_JIT_CACHE=os.path.join(directory, "cache"),
                   MNEME_JIT_IDLE="2", MNEME_JIT_REPORT=report, **more)
        if not wrapper:
            env["LD_PRELOAD"] = os.path.join(self.build, "lib", "libmneme_jit.so")
        text = run([*wrapper, self.jit_program(), *words], env=env)
        line = [l for l in text.splitlines() if l.startswith("{")][-1]
        told = json.load(open(report)) if os.path.exists(report) else {}
        return json.loads(line), told

    def launch_jitted(self, env, wrapper=()):
        count = "100000"
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            def launches(what, **more):
                return self.run_jitted(directory, [what, count], env, wrapper, **more)[0]["seconds"] * 1e9

            def plain(program):
                text = run([*wrapper, program, "launches", count], env=env)
                return json.loads([l for l in text.splitlines() if l.startswith("{")][-1])["seconds"] * 1e9

            cases = {"plain program": lambda: plain(self.jit_program() + "-plain")} if not wrapper else {}
            cases.update({
                "MNEME_JIT=0": lambda: launches("launches", MNEME_JIT="0"),
                "no annotation": lambda: launches("other"),
                "after jit_disable()": lambda: launches("disabled"),
                "hit, 4 scalars": lambda: launches("launches"),
            })
            launches("launches")
            rounds = [{name: case() for name, case in cases.items()} for _ in range(5)]
            warm = [self.run_jitted(directory, ["first"], env, wrapper) for _ in range(7)]
            firsts = [r[0] for r in warm]
            waits = [v["wait_seconds"] for _, told in warm for c in told["code"] for v in c["variants"]]
            plains = [self.run_jitted(directory, ["first"], env, wrapper, MNEME_JIT="0")[0] for _ in range(7)]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            cold, told = self.run_jitted(directory, ["first"], env, wrapper)
            if told.get("compiled") != 1:
                raise Failure("the JIT compiled nothing: " + json.dumps(told))
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            missed = self.run_jitted(directory, ["misses", "20"], env, wrapper, MNEME_JIT_MODE="async")[0]
        return {
            "ns_per_launch": {name: min(r[name] for r in rounds) for name in cases},
            "first_seconds": {"as compiled": min(f["first"] for f in plains), "cache on disk": min(f["first"] for f in firsts),
                              "of these to read and load": min(waits),
                              "cold": cold["first"], "second launch": min(f["second"] for f in firsts)},
            "stall_seconds": missed,
        }

    def call_jitted(self):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            def call(**more):
                return self.run_jitted(directory, ["calls", "4000000"], **more)[0]["seconds"] * 1e9

            call()
            rounds = [(call(MNEME_JIT="0"), call()) for _ in range(5)]
            waits = [v["wait_seconds"] for _ in range(5) for c in self.run_jitted(directory, ["calls", "1"])[1]["code"]
                     for v in c["variants"]]
        return {"ns_as_compiled": min(r[0] for r in rounds), "ns_hit": min(r[1] for r in rounds),
                "first_seconds": min(waits)}

    def compile_jitted(self):
        """Seconds of the compiler for the same kernel and constants, in the server and in a replay."""
        times = []
        for _ in range(5):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
                wrapper = [self.record_tool, "--no-record", "--device=host", "--"]
                told = self.run_jitted(directory, ["first"], wrapper=wrapper)[1]
                rec = os.path.join(directory, "rec")
                self.record(rec, [self.jit_program(), "first"], "--kernel=update")
                text = run([os.path.join(self.build, "bin", "llvm-mneme-replay"), rec, "--device=host",
                            "--passes=default<O3>", "--specialize", "--specialize-dims", "--iterations=1"])
                result = json.loads(text)["Result"]
                times.append((told["compile_seconds"], sum(result[k] for k in ("preprocess_ir_time", "opt_time", "codegen_time"))))
        return {"server_seconds": min(t[0] for t in times), "replay_seconds": min(t[1] for t in times)}

    def sources(self):
        """Instances of templates beside "clang -c" of the same source, in turns. Processor time is that of all processes,
        without that of a program that compiles nothing; a case is the difference of two programs."""
        # Servers, and what they leave behind, are children of this process when their parents have ended.
        PR_SET_CHILD_SUBREAPER = 36
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        return {what: self.build_sources(what) for what in ("kernel", "function")} | {"hit": self.launch_instance()}

    def compilers(self):
        """Paths of clang and of the CUDA toolkit."""
        cache = os.path.join(self.build, "CMakeCache.txt")
        if not os.path.exists(cache):  # a folder of gpu-pack.sh
            return os.path.join(self.build, "bin", "clang++-22"), os.environ.get("CUDA_HOME", "/usr/local/cuda")
        with open(cache) as file:
            found = dict(re.findall("^(MNEME_CLANG|MNEME_CUDA_PATH):[A-Z]+=(.*)$", file.read(), re.M))
        return found["MNEME_CLANG"], found["MNEME_CUDA_PATH"]

    @staticmethod
    def processor_seconds(command, **kwargs):
        """The output of a command, and the processor time of all processes until the last has ended."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = run(command, **kwargs)
        try:
            while True:
                os.waitpid(-1, 0)
        except ChildProcessError:
            pass
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def build_sources(self, what, rounds=5, more=10):
        compiler, cuda = self.compilers()
        wrapper = []
        env = dict(os.environ, MNEME_JIT_CACHE="none", MNEME_JIT_IDLE="0.3")
        flags = ["--driver-mode=g++", "-std=c++17", "-O3", "-fPIC"]
        if what == "kernel":
            wrapper = [self.record_tool, "--no-record", "--device=host", "--any-executable", "--"]
            flags += ["-x", "cuda", "--cuda-path=" + cuda, "--offload-arch=sm_90", "-Wno-unknown-cuda-version"]
        else:
            env["LD_PRELOAD"] = os.path.join(self.build, "lib", "libmneme_jit.so")
        cases = {name: {"processor": [], "wall": []} for name in ("clang", "server", "first", "later")}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            env["XDG_RUNTIME_DIR"] = directory
            source = os.path.join(directory, "source.cpp")
            with open(source, "w") as file:
                file.write(run([self.jit_program(), "text", what]))
            clang = [compiler, *flags, "-c", source, "-o", os.path.join(directory, "source.o")]

            def build(modules, instances):
                text, seconds = self.processor_seconds(
                    [*wrapper, self.jit_program(), "sources", what, str(modules), str(instances)], env=env)
                return json.loads([l for l in text.splitlines() if l.startswith("{")][-1])["seconds"], seconds

            def add(name, processor, wall):
                cases[name]["processor"].append(processor)
                cases[name]["wall"].append(wall)

            for _ in range(rounds):
                runs = []
                for _ in range(more):
                    start = time.monotonic()
                    runs.append((self.processor_seconds(clang)[1], time.monotonic() - start))
                add("clang", median([r[0] for r in runs]), median([r[1] for r in runs]))
                nothing = build(0, 0)[1]
                walls, one = build(1, 1)
                add("server", one - nothing, walls[0])
                walls, several = build(1 + more, 1)
                add("first", (several - one) / more, median(walls[1:]))
                walls, several = build(1, 1 + more)
                add("later", (several - one) / more, median(walls[1:]))
        return {name: {kind: median(case[kind]) for kind in case} |
                {kind + "_ratio": median([a / b for a, b in zip(case[kind], cases["clang"][kind])]) for kind in case}
                for name, case in cases.items()}

    def launch_instance(self, rounds=7):
        """Nanoseconds of a launch of an instance, and of a kernel of the program."""
        wrapper = [self.record_tool, "--no-record", "--device=host", "--"]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            pairs = [[self.run_jitted(directory, [name, "100000"], None, wrapper)[0]["seconds"] * 1e9
                      for name in ("instance", "other")] for _ in range(rounds)]
        return {"instance_ns": median([p[0] for p in pairs]), "plain_ns": median([p[1] for p in pairs]),
                "more_ns": median([p[0] - p[1] for p in pairs])}

    def share_jitted(self, count):
        """Many processes that want the same code at once."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            env = dict(os.environ, XDG_RUNTIME_DIR=directory, MNEME_JIT_CACHE=os.path.join(directory, "cache"),
                       MNEME_JIT_REPORT=os.path.join(directory, "report-%p"), MNEME_JIT_IDLE="2",
                       LD_PRELOAD=os.path.join(self.build, "lib", "libmneme_jit.so"))
            start = time.monotonic()
            processes = [subprocess.Popen([self.jit_program(), "calls", "1"], env=env, stdout=subprocess.DEVNULL)
                         for _ in range(count)]
            if any([p.wait() for p in processes]):
                raise Failure("a process of the JIT's benchmark failed")
            seconds = time.monotonic() - start
            told = [json.load(open(f)) for f in glob.glob(os.path.join(directory, "report-*"))]
        return {"processes": count, "seconds": seconds, "compiled": sum(t["compiled"] for t in told),
                "served": sum(t["served"] > 0 for t in told)}

    def record_cost(self):
        result = {}

        def per_launch(program, count, *extra, env=None, image=None):
            with tempfile.TemporaryDirectory() as directory:
                command = [program, "driver" if image else "call", str(count), *([image] if image else [])]
                if extra:
                    command = [self.record_tool, *extra, "-o", directory, "--", *command]
                text = run(command, env=env)
            return json.loads(text.splitlines()[-1])["seconds_per_launch"] * 1e9

        plain, none = self.launches + "-plain", "--kernel=^none$"
        host, gpu = "--device=host", "--device=cuda"
        # Without a device a launch is refused at once, so the call is all there is.
        cases = {
            "plain program, no device": lambda: per_launch(plain, 1000000),
            "instrumented, no device": lambda: per_launch(self.launches, 1000000),
            "host device, no recording": lambda: per_launch(
                self.launches, 100000, host, "--no-record"
            ),
            "host device, not selected": lambda: per_launch(self.launches, 100000, host, none),
            "host device, selected, recorded before": lambda: per_launch(
                self.launches, 100000, host, "--kernel=touch"
            ),
        }
        # A driver without a GPU takes a launch in less than a real one does: what the recorder
        # adds is seen better.
        emulated = os.path.join(self.build, "lib", "emulated-cuda")
        if os.path.exists(os.path.join(emulated, "libcudart.so.13")):
            env = dict(os.environ, LD_LIBRARY_PATH=emulated,
                       MNEME_EMULATED_KERNELS=self.launches + ".bc")
            cases.update({
                "emulated GPU, plain program": lambda: per_launch(plain, 200000, env=env),
                "emulated GPU, instrumented, no recorder": lambda: per_launch(
                    self.launches, 200000, env=env
                ),
                "emulated GPU, not selected": lambda: per_launch(
                    self.launches, 200000, gpu, none, env=env
                ),
                "emulated GPU, selected, recorded before": lambda: per_launch(
                    self.launches, 200000, gpu, "--kernel=touch", env=env
                ),
            })
            image = os.path.join(self.build, "benchmarks", "Deploy", "launches.cubin")
            alone = dict(env=env, image=image)
            cases.update({
                "emulated GPU, driver, plain program": lambda: per_launch(plain, 200000, **alone),
                "emulated GPU, driver, not selected": lambda: per_launch(
                    plain, 200000, gpu, "--any-executable", none, **alone
                ),
                "emulated GPU, driver, without IR": lambda: per_launch(
                    plain, 200000, gpu, "--any-executable", "--require-ir", **alone
                ),
                "emulated GPU, driver, recorded before": lambda: per_launch(
                    plain, 200000, gpu, "--any-executable", **alone
                ),
            })
        # In turns, so that what else the machine does is the same for all; the fastest is the
        # one that it disturbed least.
        rounds = [{name: case() for name, case in cases.items()} for _ in range(7)]
        result["ns_per_launch"] = {name: min(r[name] for r in rounds) for name in cases}
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
        result["applications"] = [
            self.application("host device", host, None),
            *([self.application("emulated GPU", gpu, env)]
              if "emulated GPU, plain program" in cases else []),
        ]
        return result

    def application(self, name, device, env):
        """One that works for some seconds, as far as it is not recorded."""
        command = [self.launches, "work", str(self.options.mib)]

        def execute(whole):
            # Without a GPU, it is the recorder that brings the device.
            if whole[0] == self.launches and not env:
                with tempfile.TemporaryDirectory() as directory:
                    return run_both([self.record_tool, device, "--no-record", "-o", directory, "--", *whole])
            return run_both(whole, env=env)

        tried = json.loads(execute([*command, "10"])[0].splitlines()[-1])["seconds"] / 10
        command.append(str(max(1, int(8 / tried))))
        return application_cost(name, command, [self.record_tool, device], ["--kernel=churn"], execute)


class BisectRunner:
    """Plants one fault at a time in default<O3> and bisects it."""

    # Arguments that keep the host device busy for seconds at most; the kernel; what is planted,
    # and by what it is found. wsm5 reads local memory that it has not written, so nothing
    # verifies; this md has no forces that could be wrong. Of lulesh, all kernels are compiled, not
    # only the one that is replayed.
    PROGRAMS = [
        ("md", ["0", "1"], "^_Z2md", "registers", "regs", False),
        ("wsm5", ["1"], "wsm", "registers=300", "spills", False),
        ("lulesh", "-i 1 -s 8 -r 2 -b 1 -c 1".split(), "calcKinematicsForElems", "wrong", "verify", True),
    ]
    PLACES = 11  # in planted<O3>

    def __init__(self, options):
        self.options = options
        self.record_tool = os.path.join(options.build, "bin", "llvm-mneme-record")
        self.replay_tool = os.path.join(options.build, "bin", "llvm-mneme-replay")
        self.plugin = os.path.join(options.build, "lib", "FaultPasses.so")
        self.random = random.Random(options.seed)

    def measure(self):
        if not self.options.programs:
            raise Failure("bisect needs --programs")
        with tempfile.TemporaryDirectory() as directory:
            names = self.options.bisect.split(",")
            return {"programs": [self.program(directory, *p) for p in self.PROGRAMS if p[0] in names]}

    def program(self, directory, name, args, kernel, fault, criterion, whole):
        program = os.path.join(self.options.programs, name)
        folder = os.path.join(directory, name)
        run([self.record_tool, "--device=host", "--max-recordings=1", "--kernel=" + kernel,
             "-o", folder, "--", program, *args])
        options = [folder, "--device=host", "--load-pass-plugin=" + self.plugin]
        if whole:
            run([self.record_tool, "list-kernels", "--extract=" + folder + ".ir", program])
            options.append("--ir=" + glob.glob(folder + ".ir/*.bc")[0])
        listing = json.loads(run([self.replay_tool, "list-passes", *options, "--passes=default<O3>", "--format=json"]))["listing"]
        symbol = json.load(open(glob.glob(folder + "/*.json")[0]))["KernelName"]
        row = {"program": name, "criterion": criterion, "fault": fault, "bisections": [],
               "executions": sum(1 for e in listing["executions"] if e["number"] and e["stage"] == "ir")}
        for _ in range(self.options.places):
            place = self.random.randint(1, self.PLACES)
            what, _, amount = fault.partition("=")
            text = "planted<O3;%s@%s%s#%d>" % (what, symbol, amount and "=" + amount, place)
            found = self.bisect(options, text, criterion, what, symbol)
            found["without_reuse"] = self.bisect(options + ["--no-reuse"], text, criterion, what, symbol)
            row["bisections"].append({"place": place, **found})
        return row

    def bisect(self, options, text, criterion, fault, symbol):
        command = [self.replay_tool, "bisect", *options, "--passes=" + text, "--criterion=" + criterion,
                   "--iterations=1", "--warmup=0"]
        if criterion != "verify":
            command += ["--good=--passes=default<O3>", "--threshold=10%", "--no-verify"]
        start = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        if done.returncode == 1:
            raise Failure("'%s' failed" % " ".join(command))
        report = json.loads(done.stdout)
        passes = report.get("passes") or {"culprits": [], "executions": 0, "candidates": 0}
        named = [(c["pass"], c["function"]) for c in passes["culprits"]]
        return {"seconds": seconds, "found": ("fault-" + fault, symbol) in named, "named": len(named),
                "executions": passes["executions"], "candidates": passes["candidates"], **report["counts"]}


class FaultRunner:
    """Bisects one fault of each kind, in programs of test/Bisect."""

    # Program and kernel, what is planted where, the criterion, the kind. The first fault is the cause.
    FAULTS = [
        ("particles", "advance", "O3", "wrong@kick#2", "verify", "wrong result"),
        ("particles", "advance", "O3", "assume@mix#3;exploit@force#9;exploit@kick#10", "verify", "wrong fact, two that use it"),
        ("particles", "advance", "O3", "range@advance#4", "verify", "wrong range, used by LLVM"),
        ("particles", "advance", "O3", "count@force#5", "verify", "wrong once in a process"),
        ("particles", "advance", "O1", "order@kick#2", "verify", "depends on addresses"),
        ("particles", "advance", "O3", "random@kick#6", "verify", "code at random"),
        ("particles", "advance", "O1", "flaky@advance#2", "verify", "result at random"),
        ("order", "neighbors", "O3", "nobarrier@neighbors#3", "verify", "barrier removed"),
        ("order", "total", "O3", "nonatomic@total#9", "verify", "atomic operation lost"),
        ("particles", "advance", "O1", "fatal@kick#2", "verify", "report_fatal_error"),
        ("particles", "advance", "O1", "crash@kick#2", "verify", "crash of the compiler"),
        ("particles", "advance", "O1", "invalid@kick#2", "verify", "invalid IR"),
        ("particles", "advance", "O1", "loop@kick#2", "verify", "endless kernel"),
        ("particles", "advance", "O3", "registers@advance#4", "regs", "registers"),
        ("particles", "advance", "O3", "size@advance#4", "size", "size of the code"),
        ("particles", "advance", "O3", "slow@advance#4", "time", "run time"),
    ]

    def __init__(self, options):
        self.options = options
        self.record_tool = os.path.join(options.build, "bin", "llvm-mneme-record")
        self.replay_tool = os.path.join(options.build, "bin", "llvm-mneme-replay")
        self.plugin = os.path.join(options.build, "lib", "FaultPasses.so")

    def measure(self):
        # A machine that is lent for minutes shall not lose what it has found.
        end, rows = time.monotonic() + self.options.seconds, []
        with tempfile.TemporaryDirectory() as directory:
            for fault in self.FAULTS:
                if time.monotonic() > end - 10:
                    print("no time for the last %d faults" % (len(self.FAULTS) - len(rows)), file=sys.stderr)
                    break
                rows.append(self.fault(directory, *fault))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        return {"faults": rows}

    def record(self, directory, program):
        folder = os.path.join(directory, program)
        if not os.path.exists(folder):
            run([self.record_tool, "--quiet", "--device=" + self.options.faults_on.split(":")[0], "-o", folder, "--",
                 os.path.join(self.options.build, "benchmarks", "Bisect", program)])
        return folder

    def fault(self, directory, program, kernel, level, planted, criterion, kind):
        folder = self.record(directory, program)
        file = next(f for f in glob.glob(folder + "/*.json") if json.load(open(f))["KernelName"] == kernel)
        common = [file, "--load-pass-plugin=" + self.plugin, "--passes=planted<%s;%s>" % (level, planted),
                  "--device=" + self.options.faults_on]
        if criterion == "verify" and kind == "endless kernel":
            common.append("--timeout=1")
        cause = "fault-" + planted.split("@")[0]
        by = ["--criterion=" + criterion]
        if criterion != "verify":
            by += ["--good=--passes=default<%s>" % level, "--threshold=50%"]
        row = {"fault": kind, "cause": cause}
        searches = self.options.searches.split(",")
        for depth in [s for s in searches if s != "hand"]:
            row[depth] = self.bisect([self.replay_tool, "bisect", *common, *by, "--depth=" + depth], cause)
        if self.options.before:
            row["before"] = self.bisect([self.options.before, "bisect", *common, *by], cause)
        if criterion == "verify" and "hand" in searches:
            row["hand"] = self.bisect_by_hand([self.replay_tool, *common], cause)
        return row

    def bisect(self, command, cause):
        start = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return {"seconds": seconds, "exit": done.returncode, "named": [], "right": False, "steps": 0}
        named = [c["pass"] for c in (report.get("passes") or {"culprits": []})["culprits"]]
        return {"seconds": seconds, "exit": done.returncode, "named": named, "right": named[:1] == [cause],
                "alone": named == [cause], "steps": report["counts"]["steps"]}

    def bisect_by_hand(self, command, cause):
        """As with a script around opt -opt-bisect-limit=N; the pass is the first bad one."""
        start = time.monotonic()
        ran = {}

        def is_bad(limit):
            done = subprocess.run(command + ["--mllvm=-opt-bisect-limit=%d" % limit], capture_output=True, text=True, errors="replace")
            ran[limit] = [line for line in done.stderr.splitlines() if "BISECT: running pass (%d)" % limit in line]
            count = sum(line.startswith("BISECT:") for line in done.stderr.splitlines())
            return done.returncode != 0, count

        bad, count = is_bad(2**31 - 1)
        good, steps = 0, 1
        if bad and count:
            high = count
            while high - good > 1:
                middle = (good + high) // 2
                steps += 1
                good, high = (good, middle) if is_bad(middle)[0] else (middle, high)
            is_bad(high)
            steps += 1
        named = [cause] if bad and count and any(cause in line for line in ran[high]) else []
        return {"seconds": time.monotonic() - start, "steps": steps, "right": bool(named)}


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


class GPURunner:
    """What needs a GPU. The backends, cuda:N and offload:N, are measured side by side."""

    def __init__(self, options):
        self.options = options
        self.build = options.build
        self.record_tool = os.path.join(self.build, "bin", "llvm-mneme-record")
        self.bench_tool = os.path.join(self.build, "bin", "mneme-bench-gpu")
        self.launches = os.path.join(self.build, "benchmarks", "Record", "launches")
        self.device = options.device or "cuda:0"
        self.devices = [self.device]
        if self.device.startswith("cuda"):
            self.devices.append("offload" + self.device[len("cuda") :])
        self.end = time.monotonic() + options.seconds
        # The parts after this one are to have time, too.
        self.parts_left = 1

    def left(self):
        return max(1, self.end - time.monotonic())

    def run(self, command, share=1.0):
        try:
            return run(command, timeout=self.left() * share)
        except subprocess.TimeoutExpired:
            raise Failure("'%s' ran out of time" % " ".join(command)) from None

    def bench(self, *args):
        return json.loads(self.run([self.bench_tool, *args], 1 / self.parts_left))

    def each_device(self, measure):
        """One result a device; liboffload may be missing."""
        results = []
        for device in self.devices:
            try:
                results.append(measure(device))
            except Failure as failure:
                results.append({"device": device, "error": str(failure)})
        return results

    def record(self, directory, program, *extra):
        return self.run([self.record_tool, "--device=cuda", "-o", directory, *extra, "--", *program])

    def find_launches(self):
        def per_launch(program, *extra):
            with tempfile.TemporaryDirectory() as directory:
                command = [program, "call", "100000"]
                text = self.record(directory, command, *extra) if extra else self.run(command)
            return json.loads(text.splitlines()[-1])["seconds_per_launch"] * 1e9

        cases = {
            "plain": lambda: per_launch(self.launches + "-plain"),
            "instrumented, no recorder": lambda: per_launch(self.launches),
            "recorder, nothing recorded": lambda: per_launch(self.launches, "--no-record"),
            "recorder, not selected": lambda: per_launch(self.launches, "--kernel=^none$"),
            "recorder, recorded before": lambda: per_launch(self.launches, "--kernel=touch"),
        }
        # In turns, so that what changes on the machine changes for all.
        rounds = [{name: measure() for name, measure in cases.items()} for _ in range(3)]
        result = {"ns_per_launch": {name: median([r[name] for r in rounds]) for name in cases}}
        result["applications"] = [self.find_application(*a) for a in self.applications()]
        return result

    def applications(self):
        """One that runs for long with a known number of bytes, and one that is over at once."""
        mib, seconds = 512, 10.2
        command = [self.launches, "work", str(mib)]
        tried = json.loads(self.run([*command, "1000"]).splitlines()[-1])["seconds"]
        found = [("churn", [*command, str(max(1, int(1000 * seconds / tried)))], "churn", mib << 20)]
        path = os.path.join(self.options.programs or "", "lulesh")
        if self.options.programs and os.path.exists(path):
            found.append(("lulesh", [path] + "-i 100 -s 64 -r 11 -b 1 -c 1".split(), "^_Z3hgcP", None))
        return found

    def find_application(self, name, command, kernel, memory):
        """memory: bytes on the device if it is known, and that a launch changes all of them."""

        def execute(whole):
            try:
                return run_both(whole, timeout=self.left())
            except subprocess.TimeoutExpired:
                raise Failure("'%s' ran out of time" % " ".join(whole)) from None

        try:
            row = application_cost(name, command, [self.record_tool, "--device=cuda"],
                                   ["--kernel=" + kernel] if kernel else [], execute)
        except Failure as failure:
            return {"name": name, "error": str(failure)}
        plain = row["seconds"]["plain"]
        if memory:
            # What the recording has to fetch: all of it before the launch, all of it after.
            copy = json.loads(self.run([self.launches, "copy", "512"]).splitlines()[-1])["bytes_per_second"]
            recorded = row["seconds"]["one launch recorded"]
            row["bytes"], row["copy_bytes_per_second"] = 2 * memory, copy
            row["copy_seconds"] = 2 * memory / copy
            row["percent_beyond_copy"] = ((recorded - row["copy_seconds"]) / plain - 1) * 100
            row["percent_beyond_copy_and_start"] = (
                (recorded - row["copy_seconds"]) / row["seconds"]["recorder, nothing recorded"] - 1) * 100
        return row

    def find_memory(self):
        return self.each_device(lambda device: self.bench("memory", "--device=" + device))

    def kernels(self, directory):
        """(kind, recording) of a small kernel, a mid one and a huge one."""
        found = [("small", os.path.join(self.build, "benchmarks", "Replay", "saxpy"), [], "saxpy")]
        found.append(("mid", os.path.join(self.build, "examples", "miniapp"), [], "computeFluxY"))
        found.append(("huge", os.path.join(self.options.programs or "", "wsm5"), ["10"], "wsm"))
        for kind, program, args, kernel in found:
            if not os.path.exists(program):
                continue
            folder = os.path.join(directory, kind)
            try:
                self.record(folder, [program, *args], "--max-recordings=1", "--kernel=" + kernel)
            except Failure as failure:
                sys.stderr.write("run.py: %s\n" % failure)
            for path in glob.glob(os.path.join(folder, "*.json"))[:1]:
                yield kind, path

    def find_evaluations(self):
        result = []
        with tempfile.TemporaryDirectory() as directory:
            kernels = list(self.kernels(directory))
            if not kernels:
                raise Failure("no kernel was recorded")
            each = min(4, self.left() / self.parts_left / len(kernels) / len(self.devices) / 3)
            for kind, path in kernels:
                for row in self.each_device(
                    lambda device: self.bench("evaluations", "--device=" + device, "--seconds=%g" % each, path)
                ):
                    result.append({"kind": kind, **row})
        return result

    def find_noise(self):
        result = []
        with tempfile.TemporaryDirectory() as directory:
            program = os.path.join(self.build, "benchmarks", "GPU", "durations")
            self.record(directory, [program], "--max-recordings=1")
            paths = glob.glob(os.path.join(directory, "*.json"))
            each = min(5, self.left() / self.parts_left / len(paths) / 3)
            for path in paths:
                args = ["noise", "--device=" + self.device, "--seconds=%g" % each, path]
                result.append(self.bench(*args))
        return sorted(result, key=lambda r: r["caches"][0]["nanoseconds"])

    def measure(self, parts):
        """Whatever could be measured; what goes wrong in a part stays there."""
        result = {}
        for number, name in enumerate(parts):
            self.parts_left = len(parts) - number
            try:
                result[name] = getattr(self, "find_" + name)()
            except (Failure, OSError, IndexError) as failure:
                result[name] = {"error": str(failure)}
            yield name, result


GPU_PARTS = ["launches", "memory", "evaluations", "noise"]


def print_applications(rows):
    for row in rows:
        if "error" in row:
            print("application %s: %s" % (row["name"], row["error"]))
            continue
        print("application %s (%s), %.1f MiB stored:" % (row["name"], row["command"], row["stored_bytes"] / 2**20))
        for case, seconds in row["seconds"].items():
            own = row["inside_seconds"].get(case)
            print("    %-28s %7.3f s  %+5.1f %%" % (case, seconds, row["percent"][case])
                  + ("   inside %.3f s, before and after %.3f s" % (own, seconds - own) if own else ""))
        for line in row["recorder_says"]:
            print("    " + line)
        if "copy_seconds" in row:
            print("    %d MiB fetched at %.1f GB/s: %.3f s; beyond that %+.2f %% over plain, %+.2f %% over nothing recorded"
                  % (row["bytes"] >> 20, row["copy_bytes_per_second"] / 1e9, row["copy_seconds"],
                     row["percent_beyond_copy"], row["percent_beyond_copy_and_start"]))


def print_launches(result):
    base = result["ns_per_launch"]["plain"]
    for name, ns in result["ns_per_launch"].items():
        print("%-30s %8.1f ns a launch  %+8.1f" % (name, ns, ns - base))
    print_applications(result["applications"])


def print_memory(result):
    for row in result:
        if "error" in row:
            print("%s: %s" % (row["device"], row["error"]))
            continue
        print("Memory of %(gpu)s through %(device)s (%(backend)s)" % row)
        for size in row["sizes"]:
            for case in size["cases"]:
                print(
                    "%6d MiB  %-28s %8.1f GB/s  %5.2f of a copy"
                    % (size["bytes"] >> 20, case["name"], case["bytes_per_second"] / 1e9, case["of_copy"])
                )


def print_evaluations(result):
    for row in result:
        if "error" in row:
            print("%-5s %s: %s" % (row["kind"], row["device"], row["error"]))
            continue
        print("%-5s %s on %s: %.1f us" % (row["kind"], row["kernel"].split("(")[0], row["device"], row["nanoseconds"] / 1e3))
        print("      once: " + ", ".join("%s %.1f ms" % i for i in row["once_milliseconds"].items()))
        for case in row["cases"]:
            print("      %-16s %8.1f/s: " % (case["name"], case["per_second"])
                  + ", ".join("%s %.2f" % i for i in case["milliseconds"].items() if i[1]) + " ms")


def print_noise(result):
    for row in result:
        for c in row["caches"]:
            print(
                "%-28s %-4s %9.2f us  sd of log ratio %.5f (%d pairs, %.0f samples each, %d significant, %s)"
                % (row["kernel"].split("(")[0].replace("void ", ""), c["cache"], c["nanoseconds"] / 1e3,
                   c["sd_of_log_ratio"], c["pairs"], c["samples_of_a_median"], c["significant_pairs"], c["timer"])
            )


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
    print_applications(result["applications"])


def print_deploy(result):
    for name, ns in result["ns_per_launch"].items():
        print("%-42s %9.1f ns a launch at least, %+.1f ns more than plain (median)" % (name, ns, result["ns_more_than_plain"][name]))
    for name, seconds in result["seconds_of_one_launch"].items():
        print("%-42s %9.3f ms from start to end, one launch" % (name, seconds * 1e3))
    package = result["package"]
    print("%-42s %9.3f ms to open, %.1f ns to find a kernel"
          % ("package of %d kernels" % package["kernels"], package["open_seconds"] * 1e3,
             package["find_seconds"] * 1e9))


def print_sources(result):
    titles = {"clang": "clang -c", "server": "first instance, with the server's start", "first": "first instance of another module",
              "later": "later instances"}
    for what in ("kernel", "function"):
        for name, case in result[what].items():
            print("%-9s %-40s %7.3f s of processors (%.2f), %7.3f s (%.2f)" % (
                what, titles[name], case["processor"], case["processor_ratio"], case["wall"], case["wall_ratio"]))
    print("a launch of an instance: %(instance_ns).0f ns, of a kernel of the program: %(plain_ns).0f ns (%(more_ns)+.0f ns)" % result["hit"])


def print_jit(result):
    for where in ("host", "emulated", "gpu"):
        if where not in result:
            continue
        r = result[where]
        title = {"host": "host device", "emulated": "emulated GPU", "gpu": "GPU"}[where] + ", "
        for name, ns in r["ns_per_launch"].items():
            print("%-42s %9.1f ns a launch" % (title + name, ns))
        for name, seconds in r["first_seconds"].items():
            print("%-42s %9.1f us" % (title + "first launch, " + name if name != "second launch" else title + name,
                                      seconds * 1e6))
        print("%-42s %9.1f us, at most %.1f us" % (title + "new value, mode async", r["stall_seconds"]["median"] * 1e6,
                                                   r["stall_seconds"]["most"] * 1e6))
    if "calls" in result:
        calls, compiled, shared = result["calls"], result["compile"], result["processes"]
        print("%-42s %9.1f ns, as compiled %.1f ns" % ("call of a host function, hit", calls["ns_hit"], calls["ns_as_compiled"]))
        print("%-42s %9.1f us" % ("first call, cache on disk", calls["first_seconds"] * 1e6))
        print("%-42s %9.1f ms, a replay's %.1f ms" % ("compilation of a host device kernel",
              compiled["server_seconds"] * 1e3, compiled["replay_seconds"] * 1e3))
        print("%-42s %9d compiled, %d served, %.2f s" % ("%d processes that want the same code" % shared["processes"],
              shared["compiled"], shared["served"], shared["seconds"]))


def print_bisect(result):
    print("                             executions             found,         steps  compila-    known                seconds,       without reuse:")
    print("program by      of default<O3>  planted changing   alone   median (most)    tions     code launched  median (most)  launched, seconds")
    for row in result["programs"]:
        b = row["bisections"]

        def of(key):
            return median([x[key] for x in b])

        without = [x["without_reuse"] for x in b]
        print("%-7s %-7s %14d %8d %8d %3d/%d, %d %8g (%d) %8g %8g %8g %9.1f (%.1f) %12g %8.1f" % (
            row["program"], row["criterion"], row["executions"], of("executions"), of("candidates"),
            sum(x["found"] for x in b), len(b), sum(x["found"] and x["named"] == 1 for x in b),
            of("steps"), max(x["steps"] for x in b), of("compilations"), of("duplicates"), of("launches"),
            of("seconds"), max(x["seconds"] for x in b),
            median([x["launches"] for x in without]), median([x["seconds"] for x in without])))


def print_faults(result):
    ways = [way for way in ("hand", "before", "first", "heal", "full") if any(way in row for row in result["faults"])]
    print("fault                         " + "".join("%18s" % way for way in ways))
    for row in result["faults"]:
        print("%-30s" % row["fault"] + "".join(
            "%6s %4d %6.1f" % ("right" if row[w]["right"] else "wrong", row[w]["steps"], row[w]["seconds"]) if w in row
            else " " * 18 for w in ways))
    rows = {w: [row[w] for row in result["faults"] if w in row] for w in ways}
    print("%-30s" % "right; median steps, seconds" + "".join(
        "%3d/%-2d %4d %6.1f" % (sum(r["right"] for r in rows[w]), len(rows[w]), median([r["steps"] for r in rows[w]]),
                            median([r["seconds"] for r in rows[w]])) for w in ways))


def print_pages(result):
    print("           GB/s of                           of zstd's  processor time:")
    print("data       hash   zstd  store  known  pages/s    rate     of zstd  and write    size")
    for c in result["cases"]:
        print(
            "%-8s %6.1f %6.2f %6.2f %6.1f %8d %7.2f %11.2f %10.2f %7.3f"
            % (c["data"], c["hash_gb_per_s_one_core"], c["zstd_gb_per_s"], c["store_gb_per_s"],
               c["store_known_gb_per_s"], c["store_pages_per_s"], c["store_of_zstd"],
               c["store_of_zstd_processor"], c["store_of_zstd_and_write_processor"],
               c["stored_bytes"] / c["raw_bytes"])
        )


def print_python(result):
    print("import %(import_ms).1f ms, %(import_processor_ms).1f ms of the processor; empty call %(call_us).0f us" % result)
    for name, r in result["rate"].items():
        print("%-13s %5.0f trials/s of llvm-mneme-tune, %5.0f of the package: %.2f" % (name, r["tool"], r["package"], r["ratio"]))
    if "own_ms" in result["optuna"]:
        print("a trial: Optuna %.2f ms, the package %.2f ms" % (result["optuna"]["optuna_ms"], result["optuna"]["own_ms"]))
    for r in result["memory"]:
        print("%-6s %d MiB at %.2f GB/s, then %.0f us" % (r["when"], r["bytes"] >> 20, r["gb_per_s"], r["later_us"]))
    if result["rows"]:
        print("100,000 rows: Parquet %(parquet).1f s, JSON lines %(jsonl).1f s" % result["rows"])
    for r in result["head"]:
        print("%-6s %5d workers of 20 ms: %6.0f evaluations/s of %6.0f, %3.0f us of the head's processor each"
              % (r["engine"], r["workers"], r["per_second"], r["possible"], r["processor_us"]))


def print_source(result):
    print("front end: %(whole_s).3f s of a processor, with a compiled prefix %(with_prefix_s).3f s: %(ratio).1f times less" % result["front_end"])
    print("a known version: %(median_ms).2f ms, at most %(worst_ms).2f ms" % result["known"])
    for r in result["rebuild"]:
        print("%(program)-8s compile %(compile_s).2f s and run %(run_s).2f s, evaluate %(evaluate_s).3f s: %(ratio).1f times less, of processors %(cpu_ratio).1f" % r)
    for r in result["by_hand"]:
        print("%(program)-8s clang, opt, llc and ptxas %(hand_s).3f s, evaluate %(evaluate_s).3f s: %(ratio).2f versions a second for one of theirs, of processors %(cpu_ratio).2f" % r)
    print("search: %(candidates)d candidates (%(verified)d verified, %(distinct)d distinct) in %(seconds).0f s" % result["search"])
    print("candidates/s: %(on).2f with trust, %(off).2f without: %(ratio).2f" % result["trust"])


def print_evolution(result):
    print("%d searches among versions of equal speed: %d winners" % (len(result["same"]), sum(result["same"])))
    for r in result["tune"]:
        print("%(program)-10s %(kernel)-24.24s tuned %(tune).3fx, evolved %(evolve).3fx (%(candidates)d candidates, %(inner_trials)d inner trials)" % r)
    if result["tune"]:
        print("evolved / tuned: %.3f (geometric mean)" % result["ratio"])
    for r in result["rebuilt"]:
        print("%(program)-10s %(kernel)-24.24s evolved %(promised).3fx [%(low).3f, %(high).3f], rebuilt %(rebuilt).3fx" % r)
    for error in result["errors"]:
        print("error: " + error)


def print_samplers(result):
    trials = sorted({r["trials"] for r in result})
    print("ms a proposal                   after " + "".join("%9d" % t for t in trials) + " trials")
    of = {(r["sampler"], r["space"], r["dimensions"], r["trials"]): r["milliseconds"] for r in result}
    for case in dict.fromkeys(key[:3] for key in of):
        print("%-10s %-11s %4d dimensions " % case + "".join("%9.2f" % of[case + (t,)] for t in trials))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build", help="the build folder")
    parser.add_argument("--only", default="host,replay,record,pages,samplers,deploy,jit")
    parser.add_argument("--mib", type=int, default=256, help="size of the snapshots")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", metavar="FILE", help="also write JSON there, part by part")
    parser.add_argument("--device", help="of the parts that need a GPU (default: cuda:0), of source and evolution (host)")
    parser.add_argument("--programs", metavar="DIR", help="other programs, for bisect and the parts of a GPU")
    parser.add_argument("--places", type=int, default=7, help="places of faults in each program")
    parser.add_argument("--bisect", metavar="NAMES", default="md,lulesh,wsm5",
                        help="programs of bisect; of wsm5 each place takes a minute")
    parser.add_argument("--seed", type=int, default=1, help="of these places")
    parser.add_argument("--faults-on", default="host", metavar="DEVICE", help="device of faults, host or cuda:N")
    parser.add_argument("--searches", default="hand,first,heal,full", help="of faults: by hand, and depths of bisection")
    parser.add_argument("--before", metavar="REPLAY", help="another llvm-mneme-replay, for faults")
    parser.add_argument("--python", default=sys.executable, help="Python of the part \"python\"")
    parser.add_argument("--seconds", type=float, default=600, help="limit for the parts of a GPU, for faults and evolution")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    runner = Runner(options)
    parts = {
        "host": (runner.host, print_host),
        "replay": (runner.replay, print_replay),
        "record": (runner.record_cost, print_record),
        "pages": (runner.pages, print_pages),
        "samplers": (runner.samplers, print_samplers),
        "deploy": (runner.deploy, print_deploy),
        "source": (runner.source, print_source),
        "evolution": (lambda: runner.source("evolution.py", f"--seconds={options.seconds}"), print_evolution),
        "jit": (runner.jit, print_jit),
        "sources": (runner.sources, print_sources),
        "python": (runner.python, print_python),
        "bisect": (lambda: BisectRunner(options).measure(), print_bisect),
        "faults": (lambda: FaultRunner(options).measure(), print_faults),
        "tuned": (lambda: runner.launch_tuned(dict(os.environ)), print_deploy),
        "jitted": (lambda: {"gpu": runner.launch_jitted(dict(os.environ))}, print_jit),
    }
    printers = {"launches": print_launches, "memory": print_memory, "evaluations": print_evaluations, "noise": print_noise}
    result = {"machine": machine()}
    failed = False

    def show(name, value, printer):
        nonlocal failed
        failed = failed or "error" in value
        if options.output:
            with open(options.output, "w") as file:
                json.dump(result, file, indent=1)
        if options.json:
            return
        if "error" in value:
            print("%s: %s" % (name, value["error"]))
        else:
            printer(value)
        print(flush=True)

    names = [part for name in options.only.split(",") for part in ([*GPU_PARTS, "tuned", "jitted"] if name == "gpu" else [name])]
    for name in names:
        if name not in parts and name not in printers:
            parser.error("unknown part '%s'" % name)
    for name in names:
        if name not in parts:
            continue
        try:
            result[name] = parts[name][0]()
        except Failure as failure:
            sys.exit("run.py: error: %s" % failure)
        show(name, result[name], parts[name][1])
    gpu = GPURunner(options)
    for name, found in gpu.measure([n for n in names if n in printers]):
        result[name] = found[name]
        show(name, result[name], printers[name])
    if options.json:
        json.dump(result, sys.stdout, indent=2)
        print()
    else:
        print("%(cpu)s, %(cores)d cores, load %(load).1f, %(date)s" % result["machine"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
