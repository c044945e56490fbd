#!/usr/bin/env python3
"""Records, replays, tunes and deploys kernels of other compilers, on a machine with a GPU, PyTorch and Triton.

    utils/gpu-others.py --tools DIR --output DIR [--steps=A,B,...] [--seconds=540]

Steps (default: all up to table, in this order; steps joined by + run at the same time); each is a process with a time
limit of its own:

versions   packages, and the smallest use of the GPU under the recorder
triton     three kernels of Triton, recorded with their IR
block      a torch.compile'd transformer block, forward and backward
step       a larger block in mixed precision, and the share of its GPU time that was recorded
conv       a small convolutional network, the same
cublas     matrix products of cuBLAS: kernels without IR
cudnn      a convolution of cuDNN, the same
numba      five kernels of numba-cuda, with their IR
images     the same, compiled by "gpu-pack.sh --numba" where Numba is: it is not needed here
openmp     OpenMP target programs of "gpu-pack.sh --openmp", without IR and with it, and llvm-omp-kernel-replay
cupy       kernels that NVRTC has compiled, without IR
cost       a launch that is not recorded, with and without the recorder
table      the kernels of triton, block and conv: default<O3> and ptxas next to Triton's own code
tune       the five of them that take most time, tuned, in packages
deploy     the block and the network with the packages of tune
expand     the block's forward pass with expandable segments (cuMemMap)
graphs     the block with CUDA graphs
workers    the block, compiled in worker processes
loader     data loaders that fork
nccl       an all-reduce

numba uses a folder gpu-others/packages as site-packages, if there is one.

Programs are in gpu-others; each runs alone and recorded, and must compute the same bits. A step whose package is not
installed is left out. tune and deploy use the recordings in --work, and make them if they are not there.

--output gets results.json and report.txt, which are written after every kernel, log.txt with each command and what it
printed, and kernels.tar.xz: the recorded kernels without their memory, and Triton's PTX.
"""
import argparse
import concurrent.futures
import contextlib
import ctypes
import fcntl
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
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# Steps that record: program and its arguments, hook, kernels, more of the environment.
INDUCTOR = "^triton_"
RECORDED = {
    "versions": (["versions.py"], "", "", {}),
    "triton": (["triton_kernels.py"], "triton", "^(add|softmax|matmul)$", {}),
    "block": (["transformer.py"], "triton", INDUCTOR, {}),
    "step": (["transformer.py", "bf16"], "triton", "", {}),
    "conv": (["convolutions.py"], "triton", INDUCTOR, {}),
    "cublas": (["matrix_products.py"], "", "", {}),
    "cudnn": (["convolution_of_cudnn.py"], "", "", {}),
    "numba": (["numba_kernels.py"], "numba", "", {"MNEME_PACKAGES": os.path.join(HERE, "gpu-others/packages")}),
    "images": (["numba_images.py", "numba"], "", "", {}),
    "cupy": (["cupy_kernels.py"], "", "^(scale|square_add)$", {}),
    "expand": (["transformer.py", "forward"], "triton", INDUCTOR,
               {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}),
    "graphs": (["transformer.py", "graphs"], "triton", INDUCTOR, {}),
    "workers": (["transformer.py"], "triton", INDUCTOR, {"TORCHINDUCTOR_COMPILE_THREADS": "4"}),
    "loader": (["data_loader.py"], "", "", {}),
    "nccl": (["all_reduce.py"], "", "", {}),
}
# Seconds at most.
LIMITS = {"versions": 100, "triton": 130, "block": 200, "step": 250, "conv": 200, "cublas": 100, "cudnn": 100, "numba": 110, "images": 80, "openmp": 300, "cupy": 80,
          "cost": 120, "table": 100, "tune": 400, "deploy": 260, "expand": 150, "graphs": 200, "workers": 150, "loader": 100,
          "nccl": 120}
FIRST = "versions,triton,block,conv,cublas,cudnn,numba,images,openmp,cupy,cost,table"
GOOD = ("Match", "MatchWithinTolerance")


class Step:
    def __init__(self, args, name):
        self.args, self.name = args, name
        self.end = time.monotonic() + args.seconds
        self.facts = {}
        os.makedirs(args.work, exist_ok=True)
        os.makedirs(args.output, exist_ok=True)

    def left(self):
        return self.end - time.monotonic()

    @contextlib.contextmanager
    def locked(self):
        """Other steps may write the same files."""
        with open(os.path.join(self.args.work, ".lock"), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def say(self, text):
        with self.locked():
            print(text, flush=True)
            with open(os.path.join(self.args.output, "report.txt"), "a") as file:
                file.write(text + "\n")

    def note(self, **facts):
        """Adds to this step's results; what other steps have written stays."""
        self.facts.update(facts)
        path = os.path.join(self.args.output, "results.json")
        with self.locked():
            try:
                with open(path) as file:
                    results = json.load(file)
            except (OSError, ValueError):
                results = {}
            results[self.name] = self.facts
            with open(path + ".new", "w") as file:
                json.dump(results, file, indent=1)
            os.replace(path + ".new", path)

    def tool(self, name):
        return os.path.abspath(os.path.join(self.args.tools, "llvm-mneme-" + name))

    def program(self, words):
        return [sys.executable, os.path.join(self.args.programs, words[0]), *words[1:]]

    def environment(self, hook="", more=None):
        """For programs: no library of a CUDA toolkit in place of those that PyTorch brings."""
        work = os.path.abspath(self.args.work)
        package = next((d for d in (os.path.join(HERE, "python"), os.path.join(HERE, "../python")) if os.path.isdir(d)), "")
        paths = [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p and "cuda" not in os.path.basename(os.path.dirname(p))
                 and "CUPTI" not in p]
        env = dict(os.environ, LD_LIBRARY_PATH=":".join(paths), MNEME_HOOK=hook, PYTHONFAULTHANDLER="1", PYTHONUNBUFFERED="1",
                   PYTHONPATH=os.path.abspath(package) + ":" + os.environ.get("PYTHONPATH", ""),
                   TRITON_CACHE_DIR=os.path.join(work, "triton-cache"),
                   TORCHINDUCTOR_CACHE_DIR=os.path.join(work, "inductor-cache"),
                   TORCHINDUCTOR_COMPILE_THREADS="1", TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER="0",
                   CUPY_CACHE_DIR=os.path.join(work, "cupy-cache"), NUMBA_CACHE_DIR=os.path.join(work, "numba-cache"))
        env.update(more or {})
        return env

    def run(self, command, seconds, env=None, cwd=None):
        """Exit code (124: no time), standard output and standard error of a command. All of its processes end."""
        begin = time.monotonic()
        limit = max(1, min(seconds, self.left()))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   errors="replace", env=env, start_new_session=True, cwd=cwd or self.args.work)
        late = False
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        code = 124 if late else process.returncode
        with self.locked(), open(os.path.join(self.args.output, "log.txt"), "a") as log:
            log.write("+ [%s] %s\nexit code %d after %.1f s\n" % (self.name, shlex.join(command), code, time.monotonic() - begin))
            for text in (out, err):
                log.write(text if len(text) < 12000 else text[:4000] + "\n[...]\n" + text[-8000:])
                log.write("\n" if text and not text.endswith("\n") else "")
        return code, out, err

    def why(self, code, out, err):
        """What a failed command said, shortly."""
        if code == 124:
            return "timed out"
        lines = [l for l in (err.strip() or out.strip()).splitlines() if l.strip()]
        errors = [l for l in lines if re.search(r"error|Error|Fatal|fault", l)]
        return "exit code %d: %s" % (code, (errors or lines or [""])[-1].strip()[:300])

    # Recording.

    def folder(self, name):
        return os.path.join(os.path.abspath(self.args.work), name + ".rec")

    def record(self, name):
        """Runs a program alone, twice if it does not compute the same, and recorded. Returns whether there are recordings."""
        words, hook, kernels, more = RECORDED[name]
        env = self.environment(hook, more)
        results = lambda text: [l for l in text.splitlines() if l.startswith("result ")]
        loaded = lambda text: sorted(set(l.split()[2] + " " + l.split()[1] for l in text.splitlines() if l.startswith("loaded ")))
        begin = time.monotonic()
        code, plain, err = (0, "", "") if self.args.record_only else self.run(self.program(words), 120, env)
        plain_seconds = time.monotonic() - begin
        if code:
            self.note(left_out=self.why(code, plain, err))
            self.say("%-8s left out: alone, the program fails: %s" % (name, self.why(code, plain, err)))
            return False
        folder = self.folder(name)
        shutil.rmtree(folder, ignore_errors=True)
        begin = time.monotonic()
        command = [self.tool("record"), "--any-executable", "--device=cuda", "--max-recordings=1", "-o", folder]
        code, out, err = self.run(command + (["--kernel=" + kernels] if kernels else []) + ["--"] + self.program(words), 150, env)
        seconds = time.monotonic() - begin
        same, deterministic = results(plain) == results(out) if plain else None, None
        if not same and code == 0 and plain:
            deterministic = results(plain) == results(self.run(self.program(words), 100, env)[1])
        summary = [l for l in err.splitlines() if "mneme" in l]
        files = [json.load(open(p)) for p in sorted(glob.glob(folder + "/*.json"))]
        kernels = [f for f in files if f.get("instances")]
        seen = [l for l in loaded(out) if re.search(RECORDED[name][2] or ".", l.split()[0])]
        self.note(exit=code, same=same, deterministic=deterministic, summary=summary, plain_seconds=plain_seconds, seconds=seconds,
                  loaded=seen, recorded=sorted(f["DemangledName"] or f["KernelName"] for f in kernels),
                  with_ir=sum(not f.get("Image", {}).get("Only", False) for f in kernels),
                  plain=results(plain), output=results(out))
        verdict = "not run alone" if not plain else "same output" if same else "OTHER OUTPUT" + (" (two runs without the recorder agree)" if deterministic else "")
        self.say("%-8s %s, %s, %d kernels recorded%s, %.0f s (alone %.0f s)" % (
            name, "exit 0" if code == 0 else self.why(code, out, err), verdict, len(kernels),
            " of %d that Triton loaded" % len(seen) if seen else "", seconds, plain_seconds))
        for line in summary:
            if re.search(r"seen|skipped|warning|error|not recorded", line):
                self.say("         " + line[:300])
        if "there are:" in err:
            self.say(err[err.index("there are:"):][:2000])
        return bool(kernels)

    def recordings(self, name):
        """Kernel files of a step's recordings."""
        paths = sorted(glob.glob(self.folder(name) + "/*.json"))
        return [(p, k) for p, k in ((p, json.load(open(p))) for p in paths) if k.get("instances")]

    # Replays.

    def replay(self, path, kernel, *options, seconds=40):
        """The verdict and everything else of a replay, or its error."""
        command = [self.tool("replay"), path, "--device=cuda:0", "--record-id=" + sorted(kernel["instances"])[0], *options]
        code, out, err = self.run(command, seconds)
        try:
            result = json.loads(out[out.index("{"):])["Result"]
            says = result.get("error") or (err.strip().splitlines() or [""])[-1]
            result["says"] = " ".join(str(says).split())[:300]
            return result
        except (ValueError, KeyError):
            return {"verdict": "error", "says": self.why(code, out, err)}

    def name_of(self, kernel):
        return kernel["DemangledName"] or kernel["KernelName"]

    def verify(self, path, kernel):
        """One replay with the recorded settings; a tolerance only if the kernel has atomics."""
        only = kernel.get("Image", {}).get("Only", False)
        text = path + ".ll"
        result = self.replay(path, kernel, "--iterations=1", "--warmup=0", *([] if only else ["--output-ll=" + text]))
        atomics = not only and os.path.exists(text) and bool(re.search(r"atomicrmw|cmpxchg|\b(atom|red)\.", open(text).read()))
        if result["verdict"] == "Mismatch" and atomics:
            exact = result
            result = self.replay(path, kernel, "--iterations=1", "--warmup=0", "--dtype=f32", "--tolerance=rel:1e-4")
            result["exact"] = exact
        result.update(kernel=self.name_of(kernel), file=os.path.basename(path), ir=not only, atomics=atomics)
        return result

    def verify_all(self, name):
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            jobs = [pool.submit(self.verify, p, k) for p, k in self.recordings(name)]
            rows = []
            for job in concurrent.futures.as_completed(jobs):
                row = job.result()
                rows.append(row)
                self.note(replays=rows)
                if row["verdict"] not in GOOD or row["atomics"] or not row["ir"]:
                    self.say("         %-48s %s%s%s" % (row["kernel"][:48], row["verdict"], " (atomics)" if row["atomics"] else "",
                                                       ": " + str(row["says"])[:250] if row["says"] else ""))
        good = sum(r["verdict"] in GOOD for r in rows)
        total = max(len(rows), len(self.facts.get("loaded") or []))
        self.note(matches=good, replayed=len(rows), of=total)
        if rows:
            self.say("         %d of %d kernels replayed with a Match (%.0f %%)" % (good, total, 100 * good / total))

    def record_and_verify(self):
        if self.record(self.name):
            self.verify_all(self.name)

    def step(self):
        """Also the share of the GPU time of a step that the recorded kernels have."""
        self.record_and_verify()
        plain = lambda name: re.sub(r"\W|void", "", name)
        recorded = {plain(n) for _, k in self.recordings("step") for n in (k["KernelName"], k["DemangledName"])}
        words, hook, _, more = RECORDED["step"]
        code, out, err = self.run(self.program(words + ["profile"]), 100, self.environment(hook, more))
        times = re.findall(r"^kernel ([0-9.]+) (?!Mem(?:cpy|set) |cuda)(.*)", out, re.M)
        total = sum(float(t) for t, _ in times)
        if code or not total:
            return self.say("         no profile: " + self.why(code, out, err))
        others = sorted(((float(t), n) for t, n in times if plain(n) not in recorded), reverse=True)
        share = 1 - sum(t for t, _ in others) / total
        self.note(share=share, others=others)
        self.say("         recorded kernels have %.1f %% of the GPU time of a step, %.0f us" % (100 * share, total))
        for time, name in others[:9]:
            self.say("         not recorded: %5.1f %% %s" % (100 * time / total, name[:90]))

    def versions(self):
        code, out, err = self.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.used", "--format=csv,noheader"], 20) \
            if shutil.which("nvidia-smi") else (0, "no nvidia-smi\n", "")
        self.say(out.strip() or err.strip())
        code, out, err = self.run([self.tool("replay"), "--list-devices"], 40)
        self.say(out.strip() or self.why(code, out, err))
        self.say(self.run(self.program(["versions.py"]), 80, self.environment())[1].strip())
        self.record_and_verify()

    # OpenMP.

    def openmp_environment(self, driver):
        """libomptarget loads the driver as libcuda.so, a name that not every machine has."""
        folder = os.path.join(self.args.work, os.path.basename(driver))
        os.makedirs(folder, exist_ok=True)
        if not os.path.lexists(folder + "/libcuda.so"):
            os.symlink(driver, folder + "/libcuda.so")
        env = self.environment(more={"OMP_TARGET_OFFLOAD": "MANDATORY"})
        env["LD_LIBRARY_PATH"] = folder + ":" + env["LD_LIBRARY_PATH"]
        return env

    def openmp_refusal(self, name, words, env):
        """Why libomptarget does not record with the driver as it is, or an empty string."""
        folder = os.path.join(self.args.work, "openmp", "refusal")
        os.makedirs(folder, exist_ok=True)
        err = self.run([os.path.join(self.args.openmp, name), *words], 60, dict(env, LIBOMPTARGET_RECORD="1"), cwd=folder)[2]
        return next((line for line in err.splitlines() if "RR did not initialize" in line), "")

    def openmp_program(self, name, words, env, half):
        """A program alone and recorded, its replays, and the same with LLVM's tool."""
        binary, folder = os.path.join(self.args.openmp, name), os.path.join(self.args.work, "openmp", name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder + "/llvm")
        judge = lambda text: re.findall(r"\b(?:PASS|FAIL)\w*", text)
        row = {"program": name, "kernels": []}
        code, plain, err = self.run([binary, *words], 60, env)
        if code:
            return dict(row, error=self.why(code, plain, err))
        code, out, err = self.run([self.tool("record"), "--any-executable", "--device=cuda", "--max-recordings=1", "-o", folder + "/rec", "--",
                                   binary, *words], 60, env)
        row.update(exit=code, said=judge(plain), same=judge(plain) == judge(out), summary=[l for l in err.splitlines() if "mneme" in l])
        for path in sorted(glob.glob(folder + "/rec/*.json")):
            with open(path) as file:
                kernel = json.load(file)
            if not kernel.get("instances"):
                continue
            cell = {"kernel": self.name_of(kernel)}
            for side, options in (("image", []), ("O3", ["--ir=" + binary + ".bc", "--passes=default<O3>", "--baseline=app"])):
                cell[side] = self.replay(path, kernel, *options)
            row["kernels"].append(cell)
        # LLVM's own writes to the current folder. It only records if it gets memory as large as the device's.
        env = dict(half, LIBOMPTARGET_RECORD="1", LIBOMPTARGET_RR_SAVE_OUTPUT="1")
        begin = time.monotonic()
        code, out, err = self.run([binary, *words], 60, env, cwd=folder + "/llvm")
        row["llvm"] = {"exit": code, "seconds": time.monotonic() - begin, "error": self.why(code, out, err) if code else "", "kernels": []}
        for path in sorted(glob.glob(folder + "/llvm/*.json")):
            code, out, err = self.run([self.args.openmp + "/llvm-omp-kernel-replay", "--verify", path], 40, env, cwd=folder + "/llvm")
            row["llvm"]["kernels"].append({"kernel": os.path.basename(path), "verified": "memory verified" in out,
                                           "says": self.why(code, out, err)})
        row["bytes"] = {which: sum(os.path.getsize(p) for p in glob.glob(os.path.join(folder, which, "*"))) for which in ("rec", "llvm")}
        shutil.rmtree(folder)
        return row

    def openmp(self):
        with open(os.path.join(HERE, "gpu-openmp.txt")) as file:
            lines = [line.split("#")[0].split(":") for line in file]
        programs = {line[0].strip(): line[1].split() for line in lines if len(line) == 2}
        programs = {name: words for name, words in programs.items() if os.path.exists(os.path.join(self.args.openmp, name))}
        if not programs:
            self.say("openmp   left out: no programs in '%s'" % self.args.openmp)
            return
        ctypes.CDLL("libcuda.so.1")
        with open("/proc/self/maps") as maps:
            env = self.openmp_environment(next(line.split()[-1] for line in maps if "libcuda.so" in line))
        half, rows = self.openmp_environment(self.args.openmp + "/half-memory.so"), []
        refusal = self.openmp_refusal(*next(iter(programs.items())), env)
        self.note(refusal=refusal)
        self.say("openmp   libomptarget %s" % (refusal or "records with this driver"))
        for name, words in programs.items():
            if self.left() < 20:
                self.say("         no time left for %s and later ones" % name)
                break
            row = self.openmp_program(name, words, env, half)
            rows.append(row)
            self.note(rows=rows)
            good = {side: sum(k[side]["verdict"] in GOOD for k in row["kernels"]) for side in ("image", "O3")}
            llvm = row.get("llvm", {"kernels": []})
            self.say("openmp   %-16s %s" % (name, row.get("error") or "%s, %s; %d kernels, Match without IR %d, O3 %d; llvm-omp-kernel-replay: %d of %d verified%s; %.1f and %.1f MB" % (
                " ".join(row["said"][:1]) or "no verdict", "same" if row["same"] else "OTHER OUTPUT", len(row["kernels"]), good["image"], good["O3"],
                sum(k["verified"] for k in llvm["kernels"]), len(llvm["kernels"]), " (%s)" % llvm["error"] if llvm["error"] else "",
                row["bytes"]["rec"] / 1e6, row["bytes"]["llvm"] / 1e6)))
            for cell in row["kernels"]:
                for side in good:
                    if cell[side]["verdict"] not in GOOD:
                        self.say("         %s %s: %s: %s" % (side, cell["kernel"][:60], cell[side]["verdict"], str(cell[side]["says"])[:200]))
            for kernel in llvm["kernels"]:
                if not kernel["verified"]:
                    self.say("         llvm-omp-kernel-replay %s: %s" % (kernel["kernel"][:60], kernel["says"][:200]))

    def cost(self):
        """Alternates, so that both see the same machine."""
        env, times = self.environment("triton"), {"alone": [], "recorder": []}
        record = [self.tool("record"), "--any-executable", "--device=cuda", "--kernel=^none$", "-o", self.folder("cost"), "--"]
        for _ in range(4):
            for name, before in (("alone", []), ("recorder", record)):
                code, out, err = self.run(before + self.program(["launch_cost.py"]), 50, env)
                found = re.findall(r"^launch ([\d.]+)", out, re.M)
                if not found:
                    self.say("cost     %s: %s" % (name, self.why(code, out, err)))
                    return
                times[name].append(float(found[0]))
            self.note(ns=times, more_ns=min(times["recorder"]) - min(times["alone"]))
        text = {name: "%.0f [%.0f, %.0f]" % (statistics.median(t), min(t), max(t)) for name, t in times.items()}
        self.say("cost     ns a launch: %s alone, %s with the recorder" % (text["alone"], text["recorder"]))

    # Times.

    def compiled(self, names=("triton", "block", "conv")):
        """Recorded kernels of Triton, with how long their own code takes: longest first."""
        found = []
        for name in names:
            if not self.recordings(name):
                Step.record(self, name)
            found += [(name, p, k) for p, k in self.recordings(name) if not k.get("Image", {}).get("Only", False)]
        return found

    def assemblers(self):
        """The options that select each ptxas of PyTorch and Triton, and none for the toolkit's."""
        code = ("import importlib.util as u, os\n"
                "for name, path in ('triton', 'backends/nvidia/bin/ptxas'), ('torch', 'bin/ptxas'):\n"
                "  print(os.path.join(os.path.dirname(u.find_spec(name).origin), path))")
        found = [p for p in self.run([sys.executable, "-c", code], 30)[1].split() if os.path.exists(p)]
        return [["--ptxas=" + p] for p in found] + [[]]

    def build_of(self, cubin):
        """What a cubin says of the ptxas that made it."""
        found = re.search(rb"Cuda compilation tools, release [^\0]*", open(cubin, "rb").read())
        return found.group().decode(errors="replace") if found else None

    def assembler_of(self, image):
        """The options that select the ptxas which made an image."""
        if not hasattr(self, "by_build"):
            self.by_build = {}
            for options in self.assemblers():
                program = options[0].split("=")[1] if options else "ptxas"
                path = shutil.which(program) or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin/ptxas")
                said = self.run([path, "--version"], 10)[1] if os.path.exists(path) else ""
                release = re.search(r"release [\d.]+, V[\d.]+", said)
                if release:
                    self.by_build.setdefault(release.group(), options)
            self.note(assemblers={b: o for b, o in self.by_build.items()})
        # Before CUDA 13, cubins do not say that; Triton brings such a ptxas.
        build = self.build_of(image)
        return next((o for b, o in self.by_build.items() if b in build), []) if build else next(iter(self.by_build.values()), [])

    def table(self):
        rows = []
        self.say("table    times of the kernel's own cubin by that of the replay: above 1, the replay is faster")
        for name, path, kernel in self.compiled():
            if self.left() < 8:
                self.say("         no time left for %s and later ones" % self.name_of(kernel))
                break
            image = os.path.join(os.path.dirname(path), kernel["Image"]["File"])
            ptxas = self.assembler_of(image)
            row = {"step": name, "kernel": self.name_of(kernel), "file": os.path.basename(path), "ptxas": ptxas, "build": self.build_of(image)}
            rows.append(row)
            cells = []
            for side, options in (("own", ["--compare-with-app=" + image]), ("O3", ["--passes=default<O3>"])):
                row[side] = self.replay(path, kernel, "--baseline=app", *options, *ptxas, seconds=20)
                self.note(rows=rows)
                speedup = (row[side].get("baseline") or {}).get("speedup")
                cells.append("%s %s %s" % (side, row[side]["verdict"], "%.3f [%.3f, %.3f]" % (speedup["value"], *speedup["interval"]) if speedup
                                          else row[side]["says"][:150]))
            same = (row["own"].get("compare_with_app") or {}).get("identical")
            base = ((row["O3"].get("baseline") or {}).get("measurement") or {}).get("median")
            self.say("         %-6s %-44s %8s us  %-16s %s" % (name, row["kernel"][:44], "%.2f" % (base / 1e3) if base else "",
                                                             "same code" if same else "other code", ";  ".join(cells)))
        times = [r["O3"]["baseline"]["speedup"]["value"] for r in rows if (r.get("O3", {}).get("baseline") or {}).get("speedup")]
        if times:
            self.say("         default<O3>: geometric mean %.3f of %d kernels; the same code as Triton's: %d of %d" % (
                statistics.geometric_mean(times), len(times), sum(bool((r["own"].get("compare_with_app") or {}).get("identical")) for r in rows), len(rows)))

    def tune(self):
        timed = []
        for name, path, kernel in self.compiled(("block", "conv")):
            result = self.replay(path, kernel, "--passes=", "--iterations=5")
            timed.append(((result.get("measurement") or {}).get("median") or 0, name, path, kernel))
        rows = []
        for time_ns, name, path, kernel in sorted(timed, key=lambda t: -t[0])[:5]:
            if self.left() < self.args.budget + 20:
                self.say("         no time left")
                break
            package = os.path.join(os.path.abspath(self.args.work), "%d.mneme" % len(rows))
            ptxas = self.assembler_of(os.path.join(os.path.dirname(path), kernel["Image"]["File"]))
            study = package + ".study"
            for old in (package, study):
                subprocess.run(["rm", "-rf", old], check=True)
            code, out, err = self.run([self.tool("tune"), path, "--record-id=" + sorted(kernel["instances"])[0], "--device=cuda:0",
                                       "--preset=" + self.args.preset, "--budget=%d" % self.args.budget, "--explain=off", "--assess=off", "--quiet",
                                       "--deployable=on", "--format=json", "--results-dir=" + study, "--export=package:" + package, *ptxas],
                                      self.args.budget + 60)
            row = {"step": name, "kernel": self.name_of(kernel), "ns": time_ns, "exit": code, "package": os.path.exists(package) and package}
            try:
                summary = json.load(open(os.path.join(study, "summary.json")))
                row["summary"] = summary
                test = summary["outcome"]["final_test"]
                best = (test["candidates"] or [{}])[0]
                speedup = (test["confirmed"] or {}).get("speedup") or best.get("speedup") or {}
                row["speedup"] = speedup
                text = "%.3fx [%.3f, %.3f]%s of %s" % (speedup.get("value", 0), speedup.get("low") or 0, speedup.get("high") or 0,
                                                       " CONFIRMED" if test["confirmed"] else "", "Triton's cubin" if summary["outcome"]["baseline_is_app_code"] else "the recorded IR")
            except (OSError, ValueError, KeyError, TypeError) as e:
                text = "%r: %s" % (e, self.why(code, out, err))
            rows.append(row)
            self.note(rows=rows)
            self.say("tune     %-44s %8.2f us  %s%s" % (row["kernel"][:44], time_ns / 1e3, text, ", package" if row["package"] else ""))

    def pack_untuned(self):
        """A package with default<O3> for each kernel of the block, if no study has a winner."""
        best = next(filter(os.path.exists, (os.path.join(HERE, d, "best.py") for d in (".", "../test/llvm-mneme-deploy/Inputs"))))
        package = os.path.join(self.args.work, "O3.mneme")
        subprocess.run(["rm", "-f", package], check=True)
        for path, kernel in self.recordings("block"):
            launch = sorted(kernel["instances"])[0]
            code, out, err = self.run([self.tool("replay"), path, "--device=cuda:0", "--record-id=" + launch, "--iterations=1", "--warmup=0",
                                       "--deployable", "--passes=default<O3>"], 30)
            if code:
                continue
            with open(path + ".replay", "w") as file:
                file.write(out)
            self.run([sys.executable, best, path + ".replay", path + ".best", json.loads(out)["Result"]["gpu"]["name"], os.path.dirname(path)], 20)
            self.run([self.tool("deploy"), "pack", "--scope=kernel", "-o", package, os.path.dirname(path), path + ".best"], 30)
        return [package] if os.path.exists(package) else []

    def deploy(self):
        packages = sorted(glob.glob(os.path.join(self.args.work, "[0-9].mneme")))
        if not packages:
            packages = self.pack_untuned()
            self.say("deploy   no study has a winner: default<O3> of the block's kernels instead")
        plains, env = {}, self.environment("triton")
        for name, options in (("block", []), ("block", ["--verify=1"]), ("conv", [])):
            if self.left() < 20:
                self.say("         no time left for %s" % " ".join([name, *options]))
                break
            report = os.path.join(self.args.work, "deployed.json")
            words = RECORDED[name][0]
            if name not in plains:
                plains[name] = self.run(self.program(words), 60, env)[1]
            plain = plains[name]
            code, out, err = self.run([self.tool("deploy"), "run", "--device=cuda", "--report=" + report, *options, *packages, "--",
                                       *self.program(words)], 80, env)
            try:
                served = json.load(open(report))
            except (OSError, ValueError):
                served = {}
            results = [[l for l in text.splitlines() if l.startswith("result")] for text in (plain, out)]
            self.note(**{name + "".join(options): {"exit": code, "same": results[0] == results[1], "report": served, "error": err[-2000:]}})
            self.say("deploy   %s: %s, %s, %s launches served, %s verified" % (
                name + " ".join(["", *options]), "exit 0" if code == 0 else self.why(code, out, err), "same output" if results[0] and results[0] == results[1] else "OTHER OUTPUT",
                served.get("served"), served.get("verified")))

    def take(self):
        getattr(self, self.name, self.record_and_verify)()


def pack_kernels(args):
    """The recorded kernels, for a look at them elsewhere: at most 15 MiB."""
    path = os.path.join(args.output, "kernels.tar.xz")
    with tarfile.open(path, "w:xz") as tar:
        for pattern in ("*.rec/*.json", "*.rec/*.bc", "*.rec/*.cubin", "*.rec/*.ptx", "triton-cache/*/*.ptx"):
            for file in sorted(glob.glob(os.path.join(args.work, pattern))):
                if os.path.getsize(file) < 1 << 20:
                    tar.add(file, os.path.relpath(file, args.work))
    if os.path.getsize(path) > 15 << 20:
        os.remove(path)


def run_step(args, step, end):
    """Runs a step as a process of its own. Returns whether it worked."""
    parent = Step(args, step)
    limit = min(LIMITS[step], end - time.monotonic() - 5)
    if limit < 15:
        parent.say("%-8s no time left" % step)
        return False
    begin = time.monotonic()
    # A little more than the step gives itself.
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--one=" + step, "--seconds=%f" % (limit - 3)],
                               start_new_session=True, stderr=subprocess.PIPE, errors="replace")
    try:
        _, err = process.communicate(timeout=limit)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
        code = 124
    if code:
        parent.say("%-8s FAILED: %s" % (step, parent.why(code, "", err)))
        with parent.locked(), open(os.path.join(args.output, "log.txt"), "a") as log:
            log.write("[%s] failed with %d\n%s\n" % (step, code, err))
    parent.say("-- %s: %.0f s" % (step, time.monotonic() - begin))
    with parent.locked():
        pack_kernels(args)
    return code == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, metavar="DIR")
    parser.add_argument("--output", default="mneme-others", metavar="DIR")
    parser.add_argument("--work", default="/tmp/mneme-others", metavar="DIR")
    parser.add_argument("--programs", default=os.path.join(HERE, "gpu-others"), metavar="DIR", help="instead of the folder gpu-others")
    parser.add_argument("--openmp", default=os.path.join(HERE, "../openmp"), metavar="DIR", help="as openmp-programs.py leaves it")
    parser.add_argument("--steps", default=FIRST)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--budget", type=int, default=20, help="seconds of search for each kernel of tune")
    parser.add_argument("--preset", default="standard", help="the search space of tune")
    parser.add_argument("--jobs", type=int, default=4, help="replays at the same time where no time is measured")
    parser.add_argument("--record-only", action="store_true", help="do not run the programs without the recorder")
    parser.add_argument("--one", metavar="STEP", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for key in ("tools", "output", "work", "programs", "openmp"):
        setattr(args, key, os.path.abspath(getattr(args, key)))
    groups = [group.split("+") for group in args.steps.split(",")]
    for step in sum(groups, []):
        if step not in LIMITS:
            parser.error("unknown step '%s'" % step)
    if args.one:
        Step(args, args.one).take()
        return 0
    end = time.monotonic() + args.seconds
    with concurrent.futures.ThreadPoolExecutor(len(max(groups, key=len))) as pool:
        good = [all(list(pool.map(lambda step: run_step(args, step, end), group))) for group in groups]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
