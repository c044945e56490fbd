#!/usr/bin/env python3
"""Runs the test programs of Proteus with Mneme's JIT.

  utils/proteus-tests.py --source PROTEUS --output FOLDER [--only NAME...]
  utils/proteus-tests.py --source PROTEUS --output FOLDER --prebuild
  utils/proteus-tests.py --prebuilt FOLDER --output FOLDER --device cuda

PROTEUS is a checkout of github.com/Olympus-HPC/proteus; nothing of it is needed
in Mneme's repository. Each program of tests/cpu, tests/gpu (also with -fgpu-rdc)
and tests/gpu/scale100* is compiled unchanged, with the headers in
include/mneme-proteus, and run three times: as compiled, with an empty cache, and
with the cache of the second run. A program passes if

* it succeeds, and prints what it prints as compiled (on a GPU, in any order of lines, since blocks run in any order),
* that contains what the expectations in its source say about the program's own
  output (not about the trace of Proteus, whose lines begin with a bracket; a note
  says where the program as compiled does not print that either),
* no launch and no call ran as compiled,
* not more variants were compiled than the expectations list, and
* the last run compiled nothing.

The programs of tests/frontend (groups frontend, llvmir and mlir) compile sources that they contain, so they are run only
with the JIT. One that prints what is expected except for IR has the result "print": the embedded language prints C++.

Kernels run on the host device, or with --device=cuda on a GPU. --prebuild only compiles; --prebuilt runs what it left,
on a machine that may have neither a compiler nor the sources.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Lines of Proteus' trace, and of the pass of its tests.
TRACE = re.compile(r"^\s*(\[[A-Za-z][^]]*\]|proteus\]\[)|KernelConfig|; Function Attrs|thread_privatize")
# Not for clang's CUDA with LLVM 22, or only for HIP.
BUILDER = "calls the LLVM or MLIR builder inside Proteus"
NVCC = "nvcc compiles for GPUs only"
SKIPPED = {"mlir_casts": BUILDER, "mlir_generic_load_store": BUILDER,
           "alias_func": "aliases in CUDA need LLVM 21 or older", "alias_gvar": "only for HIP"}


# IR in what the embedded language prints.
IR = re.compile(r"alloca|define|fadd|atomicrmw|addrspace|maxntid|minctasm|!\{|br \{|(memref|scf|func|gpu|llvm|arith|math)\\?\.|llvm_loop|kernel_lb|known_block|call @|store double|^(module|kernel)$")


class Program:
    def __init__(self, group, name, folder, sources, force=False, plugin=None, library=()):
        self.group, self.name, self.folder, self.sources = group, name, folder, sources
        self.force, self.plugin, self.library = force, plugin, list(library)
        self.app = self.about = None  # Of a prebuilt program.
        self.arguments, self.bitcode = [], None
        self.kernels, self.label = group != "cpu", group + "-" + name
        self.frontend = group in ("frontend", "llvmir", "mlir")
        self.result = {"group": group, "name": name}


def read_cpu(source):
    folder = os.path.join(source, "tests", "cpu")
    text = open(os.path.join(folder, "CMakeLists.txt")).read()
    for name, files in re.findall(r"^CREATE_CPU_TEST\((\w+) ([\w. ]+)\)", text, re.M):
        cmake = "proteus_register_jit_pass_plugin" in text and name.endswith("_cmake")
        yield Program("cpu", name, folder, files.split(), plugin="registered" if cmake else None)


def read_gpu(source):
    folder = os.path.join(source, "tests", "gpu")
    text = open(os.path.join(folder, "CMakeLists.txt")).read()
    pattern = r"^ *CREATE_GPU_TEST(_RDC)?(_FORCE|_LIBS)?\((\w+) ([\w. ]+)\)"
    # Branches of the file list a program more than once.
    programs = {(rdc, name): (rdc, kind, name, files) for rdc, kind, name, files in re.findall(pattern, text, re.M)}
    for rdc, kind, name, files in programs.values():
        files = files.split()
        library = []
        if kind == "_LIBS":
            files, library = files[1:], ["device_func.cpp"]
        yield Program("rdc" if rdc else "gpu", name, folder, files, force=kind == "_FORCE", library=library)
    for scale in ("scale100", "scale100-gvar"):
        where = os.path.join(folder, scale)
        files = sorted(f for f in os.listdir(where) if f.endswith(".cpp"))
        yield Program("scale", scale, where, files)


def read_frontend(source):
    """Each program is one file. The first line that runs it has its arguments."""
    top = os.path.join(source, "tests", "frontend")
    for folder in ("cpu", "gpu", "host_device", "llvmir/cpu", "llvmir/gpu", "mlir/cpu", "mlir/gpu"):
        group = "frontend" if "/" not in folder else folder.split("/")[0]
        for path in sorted(glob.glob(os.path.join(top, folder, "*.cpp"))):
            p = Program(group, os.path.basename(path)[:-4], os.path.dirname(path), [os.path.basename(path)])
            p.kernels = folder.split("/")[-1] != "cpu"
            p.label = folder.replace("/", "-") + "-" + p.name
            text = open(path).read()
            run_line = re.search(r"%build/[\w.%]+((?: [^|]*)?)\|", text)
            p.arguments = run_line[1].split() if run_line else []
            as_line = re.search(r"%llvm_as (\S+)", text)
            if as_line:
                p.bitcode = as_line[1].replace("%S", p.folder).replace("%ext", "CUDA")
            yield p


def expectations(program):
    """What the sources say: the words of FileCheck about the program's output, the number of
    compilations, and the variables of the environment."""
    text = open(os.path.join(program.folder, program.sources[0])).read()
    if program.group == "scale":
        text = open(os.path.join(program.folder, "main.cpp")).read()
    checks = []
    for line in re.findall(r"^// (CHECK[\w-]*): (.*)$", text, re.M):
        kind, wanted = line
        if TRACE.search(wanted) or kind.startswith("CHECK-HIP") or re.match(r"CHECK[0-9sz]$", kind):
            continue
        checks.append((re.sub(r"-(FIRST|SECOND|CUDA)\b", "", kind), wanted))
    # Variables that only lines of the trace define.
    defined = set(re.findall(r"\[\[(\w+):", " ".join(wanted for _, wanted in checks)))
    checks = [(kind, re.sub(r"\[\[(\w+)\]\]", lambda m: m[0] if m[1] in defined else "{{.*}}", wanted))
              for kind, wanted in checks]
    compiled = None
    for hits, accesses in re.findall(r"MemoryCache rank 0 hits (\d+) (?:accesses|total) (\d+)", text):
        compiled = (compiled or 0) + int(accesses) - int(hits)
    if compiled is None and "MemoryCache rank 0 HashValue" in text:
        counts = re.findall(r"CHECK(?:-FIRST|-CUDA)?(?:-COUNT-(\d+))?(?:-FIRST)?: \[proteus\]\[\w+\] MemoryCache rank 0 HashValue", text)
        compiled = sum(int(n or 1) for n in counts)
    environment = {}
    for name, value in re.findall(r"\b(PROTEUS_(?:TUNED_KERNELS|OPT_PIPELINE|OPT_LEVEL))=('[^']*'|\S+)", text):
        environment[name] = value.strip("'\"").replace("%S", program.folder)
    return checks, compiled, environment


def run(command, log, **kwargs):
    log.write("$ " + " ".join(command) + "\n")
    log.flush()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, **kwargs)
    return done


# Where prebuilt programs look for the pass plugin.
PLUGIN = "/tmp/mneme-proteus/JITTestPass.so"


def read_prebuilt(folder):
    shutil.rmtree(os.path.dirname(PLUGIN), ignore_errors=True)
    os.makedirs(os.path.dirname(PLUGIN))
    shutil.copy(os.path.join(folder, os.path.basename(PLUGIN)), PLUGIN)
    for path in sorted(glob.glob(os.path.join(folder, "*", "program.json"))):
        about = json.load(open(path))
        where = os.path.dirname(path)
        p = Program(about["group"], about["name"], where, [], force=about["force"])
        p.app, p.arguments = os.path.join(where, "app"), about["arguments"]
        p.label = os.path.basename(where)
        environment = {k: v.replace("%S", where) for k, v in about["environment"].items()}
        p.about = ([tuple(c) for c in about["checks"]], about["expected"], environment)
        yield p


class Runner:
    def __init__(self, args):
        self.args = args
        self.build = os.path.abspath(args.build)
        self.clang = args.clang
        self.output = os.path.abspath(args.output)
        os.makedirs(self.output, exist_ok=True)
        self.plugin = os.path.join(self.output, "JITTestPass.so")
        # What programs have as its path.
        self.plugin_path = PLUGIN if args.prebuild or args.prebuilt else self.plugin

    def build_plugin(self):
        source = os.path.join(self.args.source, "tests", "JITTestPass.cpp")
        config = self.args.llvm_config
        flags = subprocess.check_output([config, "--cxxflags"], text=True).split()
        subprocess.check_call([self.clang, *flags, "-fPIC", "-shared", "-fno-rtti", source, "-o", self.plugin])

    def compile(self, p, folder, log):
        cuda = self.args.cuda_path
        flags = ["-O2", "-w", "-std=c++17", "-I" + os.path.join(HERE, "include", "mneme-proteus"),
                 "-I" + os.path.join(HERE, "include"), "-I" + p.folder,
                 "-fpass-plugin=" + os.path.join(self.build, "lib", "MnemePass.so"),
                 '-DPROTEUS_TEST_JIT_PASS_PLUGIN_PATH="%s"' % self.plugin_path]
        app = os.path.join(folder, "app")
        if p.frontend and not p.kernels:
            source = os.path.join(p.folder, p.sources[0])
            # The code calls functions that the program exports.
            command = [self.clang, *flags, "-rdynamic", source, "-o", app, "-L" + self.build + "/lib", "-lmneme_jit",
                       "-Wl,-rpath," + self.build + "/lib"]
            return run(command, log).returncode == 0 and app
        if p.group == "cpu":
            extra = []
            if p.plugin:
                registration = os.path.join(folder, "register.cpp")
                with open(registration, "w") as f:
                    f.write('#include <proteus/Init.h>\n__attribute__((constructor)) static void add() {\n'
                            '  proteus::registerJITPassPlugin(PROTEUS_TEST_JIT_PASS_PLUGIN_PATH, "jit-test-pass");\n}\n')
                extra = [registration]
            sources = [os.path.join(p.folder, s) for s in p.sources]
            command = [self.clang, *flags, "-march=native", *sources, *extra, "-o", app, "-L" + self.build + "/lib",
                       "-lmneme_jit", "-Wl,-rpath," + self.build + "/lib"]
            return run(command, log).returncode == 0 and app
        flags += ["-DPROTEUS_ENABLE_CUDA=1", "--cuda-path=" + cuda, "--offload-arch=" + self.args.arch,
                  "-Wno-unknown-cuda-version"]
        if p.group in ("rdc", "scale"):
            flags.append("-fgpu-rdc")
        objects = []
        for s in p.sources + p.library:
            name = os.path.join(folder, os.path.basename(s) + ".o")
            if run([self.clang, *flags, "-x", "cuda", "-c", os.path.join(p.folder, s), "-o", name], log).returncode:
                return None
            objects.append(name)
        link = [self.clang, "--cuda-path=" + cuda, "-L" + cuda + "/lib64", "-Wl,-rpath," + cuda + "/lib64"]
        if p.group in ("rdc", "scale"):
            link += ["--offload-link", "-fgpu-rdc"]
        return run([*link, *objects, "-o", app, "-lcudart"], log).returncode == 0 and app

    def execute(self, p, app, environment, report, log):
        env = dict(os.environ)
        for name in list(env):
            if name.startswith(("MNEME_JIT", "PROTEUS_")):
                del env[name]
        env.update(environment)
        if report:
            env["MNEME_JIT_REPORT"] = report
        if p.force:
            env["MNEME_JIT_KERNELS"] = ".*"
        command = [app, *p.arguments]
        if p.kernels and self.args.device == "host":
            command = [os.path.join(self.build, "bin", "llvm-mneme-record"), "--no-record", "--device=host",
                       "--any-executable", "--", *command]
        elif p.kernels:
            env["LD_PRELOAD"] = os.path.join(self.build, "lib", "libmneme_jit.so")
        try:
            done = run(command, log, env=env, cwd=self.output, timeout=self.args.timeout)
        except subprocess.TimeoutExpired:
            return None, None, None
        summary = None
        if report and os.path.exists(report):
            summary = json.load(open(report))
        return done.returncode, done.stdout.decode(errors="replace"), summary

    def check(self, checks, output, folder):
        """The expectations, by FileCheck."""
        if not checks:
            return True
        expected = os.path.join(folder, "expected.txt")
        with open(expected, "w") as f:
            f.writelines("%s: %s\n" % c for c in checks)
        done = subprocess.run([self.args.filecheck, expected, "--allow-unused-prefixes"], input=output.encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with open(os.path.join(folder, "filecheck.txt"), "wb") as f:
            f.write(done.stdout)
        return done.returncode == 0

    def prebuild(self, p):
        """Compiles a program, and leaves what running it needs beside it."""
        if p.name in SKIPPED:
            return p.result.update(status="skipped", why=SKIPPED[p.name])
        folder = os.path.join(self.output, p.label)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        checks, expected, environment = expectations(p)
        for name, value in environment.items():
            if os.path.exists(value):
                shutil.copy(value, folder)
                environment[name] = os.path.join("%S", os.path.basename(value))
        log_path = os.path.join(folder, "log.txt")
        with open(log_path, "w") as log:
            self.assemble(p, folder, log)
            app = self.compile(p, folder, log)
        if not app:
            return p.result.update(status="failed", why="does not compile")
        for path in glob.glob(os.path.join(folder, "*.o")) + [log_path]:
            os.remove(path)
        with open(os.path.join(folder, "program.json"), "w") as f:
            json.dump({"group": p.group, "name": p.name, "force": p.force, "checks": checks, "expected": expected,
                       "environment": environment, "arguments": p.arguments}, f, indent=1)
        p.result.update(status="passed", why="")

    def assemble(self, p, folder, log):
        """Makes the bitcode that a program reads."""
        if p.bitcode:
            run([self.args.llvm_as, p.bitcode, "-o", os.path.join(folder, "module.bc")], log)
            p.arguments = ["%S/module.bc" if a.endswith(".bc") else a for a in p.arguments]

    def run_frontend(self, p, folder):
        r = p.result
        checks, _, environment = p.about or expectations(p)
        environment["MNEME_JIT_CACHE"] = os.path.join(folder, "cache")
        with open(os.path.join(folder, "log.txt"), "w") as log:
            if not p.app:
                self.assemble(p, folder, log)
            app = p.app or self.compile(p, folder, log)
            p.arguments = [a.replace("%S", os.path.dirname(app)) for a in p.arguments]
            if not app:
                return r.update(status="failed", why="does not compile")
            runs = []
            with tempfile.TemporaryDirectory(prefix="mneme-", ignore_cleanup_errors=True) as sockets:
                environment.update(XDG_RUNTIME_DIR=sockets, MNEME_JIT_IDLE="5")
                for name in ("first", "second"):
                    runs.append(self.execute(p, app, environment, os.path.join(folder, name + ".json"), log))
                    with open(os.path.join(folder, name + ".txt"), "w") as f:
                        f.write("%s\n%s" % runs[-1][:2])
        problems, prints = [], False
        for (code, output, report), what in zip(runs, ("first", "second")):
            if code != 0:
                problems.append("timeout" if code is None else "the %s run ends with exit code %d" % (what, code))
            elif not self.check(checks, output, folder):
                plain = [c for c in checks if not IR.search(c[1])]
                # What follows IR is not in its next line.
                plain = [(re.sub("-(NEXT|SAME)$", "", kind), wanted) for kind, wanted in plain]
                if len(plain) < len(checks) and self.check(plain, output, folder):
                    prints = True
                else:
                    problems.append("the %s run does not print what is expected" % what)
            compiled = sum(s["origin"] == "compiled" for s in report["sources"]) if report else 0
            r["compiled" if what == "first" else "second"] = compiled
        if r.get("second"):
            problems.append("the second run compiled %d sources" % r["second"])
        r.update(status="failed" if problems else "print" if prints else "passed", why="; ".join(problems))

    def run(self, p):
        r = p.result
        skipped = SKIPPED.get(p.name) or (NVCC if "nvcc" in p.name and self.args.device == "host" else None)
        if skipped:
            return r.update(status="skipped", why=skipped)
        if p.frontend:
            folder = os.path.join(self.output, p.label)
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            return self.run_frontend(p, folder)
        folder = os.path.join(self.output, p.label)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        checks, expected, environment = p.about or expectations(p)
        with open(os.path.join(folder, "log.txt"), "w") as log:
            app = p.app or self.compile(p, folder, log)
            if not app:
                return r.update(status="failed", why="does not compile")
            plain = self.execute(p, app, {"MNEME_JIT": "0"}, None, log)
            environment["MNEME_JIT_CACHE"] = os.path.join(folder, "cache")
            # A server of its own: others know code of other programs. Paths of sockets are short.
            with tempfile.TemporaryDirectory(prefix="mneme-", ignore_cleanup_errors=True) as sockets:
                environment.update(XDG_RUNTIME_DIR=sockets, MNEME_JIT_IDLE="5")
                first = self.execute(p, app, environment, os.path.join(folder, "first.json"), log)
                second = self.execute(p, app, environment, os.path.join(folder, "second.json"), log)
        for name, (code, output, _) in zip(("plain", "first", "second"), (plain, first, second)):
            with open(os.path.join(folder, name + ".txt"), "w") as f:
                f.write("%s\n%s" % (code, output))
        r["expected"] = expected
        problems, notes = [], []
        if None in (plain[0], first[0], second[0]):
            return r.update(status="failed", why="timeout")
        # Addresses of variables differ from run to run.
        same = lambda a: re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", a)
        # On a GPU, blocks print in any order.
        if p.kernels and self.args.device != "host":
            same = lambda a: sorted(re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", a).splitlines())
        for run_, what in ((first, "first"), (second, "second")):
            if run_[0]:
                problems.append("the %s run ends with exit code %d" % (what, run_[0]))
            if run_[0] != plain[0] or same(run_[1]) != same(plain[1]):
                problems.append("the %s run differs from the program as compiled" % what)
            if not self.check(checks, run_[1], folder):
                if not run_[0] and run_[1] == plain[1] and not self.check(checks, plain[1], folder):
                    notes.append("as compiled, it does not print what is expected either")
                else:
                    problems.append("the %s run does not print what is expected" % what)
            if not run_[2]:
                # No kernel or function was one of the JIT's.
                if expected:
                    problems.append("no report of the %s run" % what)
                continue
            reasons = sorted({k for c in run_[2]["code"] for k in c["reasons"] if not k.startswith("disabled")})
            if reasons:
                problems.append("ran as compiled: " + ", ".join(reasons))
        if first[2] and second[2]:
            r["served"], r["compiled"] = first[2]["served"], first[2]["compiled"]
            r["second"] = second[2]["compiled"]
            if expected is not None and r["compiled"] > expected:
                problems.append("%d variants compiled, %d expected" % (r["compiled"], expected))
            if r["second"]:
                problems.append("the second run compiled %d variants" % r["second"])
        r.update(status="failed" if problems else "passed", why="; ".join(dict.fromkeys(problems + notes)))


def table(results):
    rows = [("group", "program", "result", "served", "compiled", "Proteus", "again")]
    for r in results:
        rows.append((r["group"], r["name"], r["status"], *(str(r.get(k, "")) if r.get(k) is not None else "-"
                                                           for k in ("served", "compiled", "expected", "second"))))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
    for line, r in zip(lines[1:], results):
        if r["why"]:
            lines[lines.index(line)] = line + "  " + r["why"]
    return "\n".join(lines)


def summary(results):
    """A line for each group. Compilations: of programs whose expectations list them."""
    rows = [("group", "programs", "passed", "print", "failed", "skipped", "compiled", "Proteus", "again")]
    for group in dict.fromkeys(r["group"] for r in results):
        of = [r for r in results if r["group"] == group]
        counted = [r for r in of if "compiled" in r and (r.get("expected") is not None or "served" not in r)]
        status = [sum(r["status"] == s for r in of) for s in ("passed", "print", "failed", "skipped")]
        sums = [sum(r.get(k) or 0 for r in counted) for k in ("compiled", "expected", "second")]
        rows.append((group, *map(str, [len(of), *status, *sums])))
    return "\n".join("  ".join(cell.ljust(8) for cell in row).rstrip() for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", help="checkout of Proteus")
    parser.add_argument("--prebuild", action="store_true", help="only compile the programs")
    parser.add_argument("--prebuilt", metavar="FOLDER", help="run what --prebuild left")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no program after this time")
    parser.add_argument("--output", required=True, help="folder for programs, logs and results.json")
    parser.add_argument("--build", default=os.path.join(HERE, "build"), help="build folder of Mneme")
    parser.add_argument("--groups", default="cpu,gpu,rdc,scale,frontend,llvmir,mlir", help="of cpu, gpu, rdc, scale, frontend, llvmir, mlir")
    parser.add_argument("--only", nargs="*", help="names of programs")
    parser.add_argument("--device", default="host", choices=["host", "cuda"])
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--clang", default="clang++-22")
    parser.add_argument("--llvm-config", default="llvm-config-22")
    parser.add_argument("--llvm-as", default="llvm-as-22")
    parser.add_argument("--filecheck", default="FileCheck-22")
    parser.add_argument("--cuda-path", default="/usr/local/cuda")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each run")
    args = parser.parse_args()
    if not args.source and not args.prebuilt:
        parser.error("expected --source or --prebuilt")
    if not args.prebuild and not shutil.which(args.filecheck):
        parser.error("no '%s': give its path with --filecheck" % args.filecheck)
    runner = Runner(args)
    if args.prebuilt:
        programs = [*read_prebuilt(os.path.abspath(args.prebuilt))]
    else:
        if {"cpu", "gpu", "rdc"} & set(args.groups.split(",")):
            runner.build_plugin()
        programs = [*read_cpu(args.source), *read_gpu(args.source), *read_frontend(args.source)]
    end = time.monotonic() + args.seconds
    groups = args.groups.split(",")
    results = []
    for p in programs:
        # What is prebuilt is for GPUs.
        if p.group not in groups or (args.only and p.name not in args.only) or (args.prebuild and not p.kernels):
            continue
        if time.monotonic() > end:
            p.result.update(status="skipped", why="out of time")
        elif args.prebuild:
            runner.prebuild(p)
        else:
            runner.run(p)
        results.append(p.result)
        print("%s %s: %s %s" % (p.group, p.name, p.result["status"], p.result["why"]), file=sys.stderr)
    with open(os.path.join(runner.output, "results.json"), "w") as f:
        json.dump(results, f, indent=1)
    print(table(results))
    print(summary(results))
    failed = [r for r in results if r["status"] == "failed"]
    print("%d programs: %d passed, %d failed, %d skipped" %
          (len(results), sum(r["status"] == "passed" for r in results), len(failed),
           sum(r["status"] == "skipped" for r in results)))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
