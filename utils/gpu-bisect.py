#!/usr/bin/env python3
"""Bisects and reduces on a machine with a GPU, or on the host device.

    utils/gpu-bisect.py --tools DIR --plugin FaultPasses.so --examples DIR --json FILE

Parts, in this order, each until --seconds are over:

planted   faults of the test plugin in the kernel of the example jacobi, recorded on the device: each has to be found
          and named. On a GPU one of them is in ptxas, which a program in its place makes wrong: the cross-check with the
          host has to say which half of the compiler it is, and the instructions of the PTX have to be found
reduce    a planted miscompile, reduced to a report
programs  those of --list: default<O3> against default<O1> by registers, code size and time. Nobody knows what there is
          to find; an answer that its own commands do not confirm is an error
"""
import argparse
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

# fault, criterion, more options, the pass that has to be named
PLANTED = [
    ("wrong@{k}#6", "verify", [], "fault-wrong"),
    ("assume@{k}#3;exploit@{k}#9", "verify", [], "fault-assume fault-exploit"),
    ("random@{k}#6", "verify", [], "fault-random"),
    ("slow@{k}#4", "time", ["--threshold=50%"], "fault-slow"),
    ("registers@{k}#4", "regs", ["--threshold=50%"], "fault-registers"),
]

# ptxas, which at -O2 and -O3 combines the conversion of an unsigned integer with the multiplication behind it, wrongly.
# Only some passes find out that the integer has no sign.
PTXAS = r"""#!{python}
import os, re, sys
words = sys.argv[1:]
if [w for w in words if re.fullmatch(r"-O\d", w)][-1:] in (["-O2"], ["-O3"]) and os.path.isfile(words[-1]):
    text = open(words[-1], errors="replace").read()
    wrong = re.sub(r"(cvt\.rn\.f64\.u32\s+(%\w+), %r\d+;\s*)mul(\.f64\s+%\w+, \2, )", r"\1add\3", text)
    if wrong != text:
        words[-1] += ".wrong.ptx"
        open(words[-1], "w").write(wrong)
os.execv("{ptxas}", ["ptxas"] + words)
"""


class Failure(Exception):
    pass


class Checks:
    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.on_host = args.device.startswith("host")
        self.results = {"planted": [], "reduce": [], "programs": []}
        self.failed = False
        os.makedirs(args.work, exist_ok=True)

    def run(self, command, seconds, codes=(0,)):
        """Standard output. What reports run is what is tested here."""
        left = self.end - time.monotonic()
        if left < 1:
            raise Failure("out of time")
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=min(seconds, left), errors="replace",
                                  env=dict(os.environ, LLVM_MNEME_REPLAY=self.tool("llvm-mneme-replay")))
        except subprocess.TimeoutExpired:
            raise Failure("no answer: " + shlex.join(command))
        if done.returncode not in codes:
            raise Failure("exit code %d: %s\n%s" % (done.returncode, shlex.join(command), done.stderr[-600:]))
        return done.stdout

    def tool(self, name):
        return os.path.abspath(os.path.join(self.args.tools, name))

    def record(self, name, program, words, *options):
        folder = os.path.join(self.args.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        self.run([self.tool("llvm-mneme-record"), "-o", folder,
                  "--device=" + ("host" if self.on_host else "cuda"), *options, "--", program, *words], 120)
        # Of several, any.
        for path in sorted(glob.glob(folder + "/*.json")):
            kernel = json.load(open(path))
            for instance in kernel["instances"]:
                return [path, "--record-id=" + instance], kernel["KernelName"]
        raise Failure("nothing recorded of " + program)

    def replay(self, recording, *options, command=(), seconds=200, codes=(0,)):
        return json.loads(self.run([self.tool("llvm-mneme-replay"), *command, *recording,
                                    "--device=" + self.args.device, *options], seconds, codes))

    def check(self, part, name, function):
        """Runs one check, prints and keeps what it says."""
        start = time.monotonic()
        row = {"name": name}
        try:
            row.update(function())
        except (Failure, OSError, KeyError, TypeError, ValueError) as error:
            row["error"] = str(error) or type(error).__name__
            self.failed = True
        row["seconds"] = round(time.monotonic() - start, 2)
        self.results[part].append(row)
        print("%-34s %6.1f s  %s" % (name, row["seconds"], "ERROR: " + row["error"] if "error" in row else row["says"]),
              flush=True)

    def bisect(self, recording, by, *options, expect=None, half=None):
        report = self.replay(recording, "--criterion=" + by, *options, command=("bisect",), codes=(0, 2))
        passes = report.get("passes") or {}
        named = [c["spec"] for c in passes.get("culprits", [])]
        broken = [c["command"] for c in report["commands"] if not c["shows"]]
        if broken:
            raise Failure("not confirmed: " + broken[0])
        if expect is not None and sorted({spec.split("@")[0] for spec in named}) != sorted(expect.split()):
            raise Failure("found %s%s" % (" ".join(named) or report["found"], " (%s)" % report["reason"]))
        if half is not None and report["half"] != half:
            raise Failure("half '%s' (%s)" % (report["half"], report["half_reason"]))
        ptx = report.get("ptx") or {}
        if half == "back_end" and not ptx.get("instructions"):
            raise Failure("no instruction of the PTX (%s)" % ptx.get("reason"))
        return {"found": named, "half": report["half"], "counts": report["counts"],
                "executions": passes.get("executions"), "by": by,
                "says": "%s%s, %d steps, %d compilations, %d launches" %
                        (" ".join(named) or report["found"] or report["reason"],
                         ", " + report["half"] if report["half"] else "", report["counts"]["steps"],
                         report["counts"]["compilations"], report["counts"]["launches"])}

    def planted(self):
        recording, kernel = self.record("jacobi", os.path.join(self.args.examples, "jacobi"), [], "--kernel=relax")
        plugin = "--load-pass-plugin=" + self.args.plugin
        for fault, by, options, expect in PLANTED:
            if self.on_host and by == "time":
                continue
            self.check("planted", fault.replace("@{k}", ""), lambda: self.bisect(
                recording, by, plugin, "--passes=planted<O3;" + fault.format(k=kernel) + ">", *options, expect=expect,
                half=None if self.on_host or by != "verify" or "random" in fault else "pipeline"))
        if not self.on_host:
            wrapper = os.path.join(self.args.work, "ptxas")
            ptxas = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
            with open(wrapper, "w") as file:
                file.write(PTXAS.replace("{python}", sys.executable).replace("{ptxas}", ptxas))
            os.chmod(wrapper, 0o755)
            self.check("planted", "a ptxas that is wrong", lambda: self.bisect(
                recording, "verify", "--passes=default<O3>", "--ptxas=" + wrapper, half="back_end"))

    def reduce(self):
        recording, kernel = self.record("jacobi", os.path.join(self.args.examples, "jacobi"), [], "--kernel=relax")
        output = os.path.join(self.args.work, "report")
        shutil.rmtree(output, ignore_errors=True)

        def reduced():
            program = self.tool("llvm-reduce")
            where = ["--llvm-reduce=" + program] if os.path.exists(program) else []
            report = self.replay(recording, "--load-pass-plugin=" + self.args.plugin, *where,
                                 "--passes=planted<O1;wrong@%s#4>" % kernel, "--culprit=fault-wrong@" + kernel,
                                 "--output=" + output, command=("reduce",))
            said = self.run(["sh", os.path.join(output, "reproduce.sh")], 60)
            if "Match" not in said or "Mismatch" not in said:
                raise Failure("the report does not reproduce: " + said[-300:])
            instructions = report["after"]["instructions"]
            if instructions >= 20:
                raise Failure("%d instructions are left" % instructions)
            return {"report": report, "says": "%d instructions, %d tests" % (instructions, report["tests"])}
        self.check("reduce", "wrong#4", reduced)

    def programs(self):
        for line in open(self.args.list):
            name, _, words = line.partition(":")
            program = os.path.join(self.args.programs, name.strip())
            if line.startswith("#") or not os.path.exists(program):
                continue
            try:
                recording, _ = self.record(name, program, shlex.split(words), "--max-recordings=1")
            except Failure as error:
                print("%s: %s" % (name, error))
                self.failed = True
                continue
            for by in ("regs", "size", "time"):
                # Other roundings are no reason to measure nothing.
                self.check("programs", "%s by %s" % (name, by), lambda: self.bisect(
                    recording, by, "--passes=default<O3>", "--good=default<O1>",
                    *(["--no-verify"] if by == "time" else [])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, help="folder of llvm-mneme-record and llvm-mneme-replay")
    parser.add_argument("--plugin", required=True, help="FaultPasses.so of the tests")
    parser.add_argument("--examples", required=True, help="folder of the examples' executables")
    parser.add_argument("--programs", help="folder of more executables")
    parser.add_argument("--list", help='which of them: lines of "name: arguments"')
    parser.add_argument("--work", required=True, help="folder to record into")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--parts", default="planted,reduce,programs")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--json", required=True)
    args = parser.parse_args()
    checks = Checks(args)
    parts = {"planted": checks.planted, "reduce": checks.reduce, "programs": checks.programs}
    for part in args.parts.split(","):
        if part not in parts:
            parser.error("unknown part '%s'" % part)
        if part == "programs" and not (args.programs and args.list):
            continue
        print("== " + part, flush=True)
        try:
            parts[part]()
        except Failure as error:
            print(error)
            checks.failed = True
        with open(args.json, "w") as file:
            json.dump(checks.results, file, indent=1)
    return 1 if checks.failed else 0


sys.exit(main())
