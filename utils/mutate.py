#!/usr/bin/env python3
"""Damages artifacts, runs the tools on them, and prints a table.

    utils/mutate.py RECORDINGS... [--bin DIR] [--count N] [--seed S] [--jobs J] [--keep DIR]

RECORDINGS are folders that were recorded on the host device. A study, an exported recording
and a kernel-carrying object are made from the first one, and a package and a cache of the JIT for applications.
Each mutation changes one file: a bit, bytes, its length, or a value of its JSON. Findings are
deaths by signal, hangs, more than 2 GiB of memory, failures without an error message, replays
of a changed recording that verify, and applications that a changed package or cache changes. --keep
saves the files that led to findings. The exit code is 1 if there are findings.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import rst

LIMIT_S, LIMIT_KIB = 120, 2 << 20
EXTREMES = [0, -1, 1, 2**31, 2**32, 2**63 - 1, 2**64 - 1, -2**63, 1e308, "", "x" * 70000, "../x", "\x1b[2J", None, True, [], {}]


def flip_bit(r, data):
    at = r.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << r.randrange(8)]) + data[at + 1:]


def damage(r, data):
    """data with one larger damage."""
    a = r.randrange(len(data))
    b = min(len(data), a + r.choice([1, 4, 8, 64, 4096]))
    noise = bytes(r.randrange(256) for _ in range(b - a))
    return r.choice([
        lambda: data[:a],
        lambda: data[:a] + data[b:],
        lambda: data[:b] + data[a:],
        lambda: data[:a] + noise + data[a:],
        lambda: data[:a] + noise + data[b:],
        lambda: data[:a] + bytes(b - a) + data[b:],
        lambda: data[:a] + b"\xff" * (b - a) + data[b:],
        lambda: data + noise,
        lambda: b"",
    ])()


def change_value(r, data):
    """JSON data with one changed or missing value. Journals have one object in each line."""
    lines = data.decode().splitlines()
    parts = lines if all(line.startswith("{") for line in lines) else [data.decode()]
    n = r.randrange(len(parts))
    value = json.loads(parts[n])
    places = []

    def walk(v):
        for key in list(v) if isinstance(v, dict) else range(len(v)):
            places.append((v, key))
            if isinstance(v[key], (dict, list)):
                walk(v[key])
    walk(value)
    holder, key = r.choice(places)
    if r.random() < 0.2:
        del holder[key]
    else:
        holder[key] = r.choice(EXTREMES)
    parts[n] = json.dumps(value)
    return "\n".join(parts).encode() + b"\n"


def meaning(path):
    """What a kernel file says; None for other files. LLVM reads 01 as 1, which is what becomes of " 1"."""
    try:
        return json.loads(re.sub(rb"([^0-9a-f\".])0+(?=[0-9])", rb"\1", open(path, "rb").read()))
    except ValueError:
        return None


def mutate(r, path):
    """Changes the file at path. Returns how, and whether the file means the same."""
    data, before = open(path, "rb").read(), meaning(path)
    for _ in range(100):
        how = r.choice([flip_bit, damage])
        if path.endswith((".json", ".log")) and r.random() < 0.5:
            how = change_value
        changed = how(r, data)
        if changed != data:
            open(path, "wb").write(changed)
            return how.__name__, before is not None and meaning(path) == before
    sys.exit("error: '%s' cannot be changed" % path)


class Artifact:
    """Files in a folder that tools read. commands: lists of words, in which {} is the folder."""

    def __init__(self, folder, commands, files=None, sealed=False, output=None):
        """output: a line that the last command prints, which exits with 3."""
        self.folder, self.commands, self.sealed, self.output = folder, commands, sealed, output
        self.files = files or sorted(f for f in os.listdir(folder)
                                     if not f.startswith(".") and os.path.isfile(os.path.join(folder, f)))
        self.files = [f for f in self.files if os.path.getsize(os.path.join(folder, f))]


def run(command, work, output=None):
    """Output and finding of a command, which is to print the line output, if any, and exit with 3."""
    # A file, as what a tool leaves behind would keep a pipe open.
    with open(os.path.join(work, "output"), "w+b") as out:
        p = subprocess.Popen(command, cwd=work, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                             env=dict(os.environ, TMPDIR=work))
        timer = threading.Timer(LIMIT_S, os.killpg, (p.pid, signal.SIGKILL))
        timer.start()
        start = time.time()
        _, status, used = os.wait4(p.pid, 0)
        timer.cancel()
        p.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    finding = None
    if code < 0:
        finding = "hang" if time.time() - start >= LIMIT_S else signal.Signals(-code).name
    elif used.ru_maxrss > LIMIT_KIB:
        finding = "%d MiB" % (used.ru_maxrss >> 10)
    elif output:
        finding = None if code == 3 and output in text.splitlines() else "exit code %d, or another output" % code
    elif code not in (0, 1, 2):
        finding = "exit code %d" % code
    elif code == 1 and "error: " not in text:
        finding = "no error"
    return text, finding


def try_one(name, artifact, seed, keep):
    """One mutation. Returns its artifact, how it was made, and findings."""
    r = random.Random("%s %s" % (name, seed))
    with tempfile.TemporaryDirectory(prefix="mneme-mutate-") as work:
        folder = os.path.join(work, "it")
        shutil.copytree(artifact.folder, folder)
        target = r.choice(artifact.files)
        how, same = mutate(r, os.path.join(folder, target))
        if keep:
            saved = os.path.join(keep, "%s-%s" % (name, seed))
            shutil.copytree(folder, saved)
        findings = []
        for command in artifact.commands:
            text, finding = run([w.replace("{}", folder) for w in command], work,
                                artifact.output if command is artifact.commands[-1] else None)
            if not finding and artifact.sealed and not same and '"verdict": "Match"' in text:
                finding = "Match"
            if finding:
                findings.append("%s, seed %s: %s of %s: %s: %s\n%s" % (
                    name, seed, how, target, " ".join(command), finding, text[-400:]))
        if keep and not findings:
            shutil.rmtree(saved)
        return name, how, findings


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("recordings", nargs="+")
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--keep", metavar="DIR")
    args = p.parse_args()
    record, replay, tune, deploy = (os.path.abspath(os.path.join(args.bin, "llvm-mneme-" + n))
                                    for n in ("record", "replay", "tune", "deploy"))
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryDirectory(prefix="mneme-mutate-") as made:
        def make(*command, code=0):
            out = subprocess.run(command, cwd=made, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if out.returncode != code:
                sys.exit("error: %s\n%s" % (" ".join(command), out.stderr))
            return out.stdout

        artifacts = {}
        for n, folder in enumerate(map(os.path.abspath, args.recordings)):
            kernels = [f for f in sorted(os.listdir(folder)) if f.endswith(".json")]
            if not kernels:
                sys.exit("error: '%s' has no recordings" % folder)
            # Only one kernel's files may be changed: a replay of another kernel matches.
            kernel = json.load(open(os.path.join(folder, kernels[0])))
            launch = sorted(kernel["instances"])[0]
            only = os.path.join(made, "recording%d" % n)
            make(record, "copy", os.path.join(folder, kernels[0]), only)
            artifacts["recording%d" % n] = Artifact(only, [
                [record, "check", "{}"],
                [replay, "{}/" + kernels[0], "--device=host", "--record-id=" + launch],
            ], sealed=len(kernel["instances"]) == 1)
        first = artifacts["recording0"].folder
        kernel = [f for f in os.listdir(first) if f.endswith(".json")][0]
        os.mkdir(os.path.join(made, "export"))
        make(record, "export", first, "-o", os.path.join(made, "export", "all.mneme"))
        artifacts["export"] = Artifact(os.path.join(made, "export"), [
            [record, "import", "{}/all.mneme", "{}/to"],
            [replay, "{}/to/" + kernel, "--device=host"],
        ])
        study = os.path.join(made, "study")
        make(tune, os.path.join(first, kernel), "--device=host", "--passes=default<{O1|O2|O3}>", "--trials=4", "--quiet", "-o", study)
        artifacts["study"] = Artifact(study, [
            [tune, os.path.join(first, kernel), "--device=host", "--passes=default<{O1|O2|O3}>", "--trials=5", "--quiet",
             "--resume", "-o", "{}"],
            [replay, os.path.join(first, kernel), "--device=host", "--config={}/best.json"],
        ])
        carrier = os.path.join(made, "carrier")
        os.mkdir(carrier)
        open(os.path.join(made, "k.cu"), "w").write(
            "__global__ void add(float *p, float v) { p[threadIdx.x] += v; }\n"
            "int main() { add<<<1, 32>>>(nullptr, 1); }\n")
        clang = make(record, "--print-config=cxx").strip()
        flags = make(record, "--print-config=cudaflags").split()
        make(clang, *flags, "--cuda-gpu-arch=sm_90", "-c", "k.cu", "-o", os.path.join(carrier, "k.o"))
        artifacts["object"] = Artifact(carrier, [[record, "list-kernels", "{}/k.o"]])

        # An application whose kernel is much faster if it is optimized, and depends on an argument. It is optimized without a
        # doubt on a busy machine, too: the second loop goes.
        package, app = os.path.join(made, "package"), os.path.join(made, "app")
        os.mkdir(package)
        open(app + ".cu", "w").write(
            "#include <cstdio>\n"
            "__global__ void hash(unsigned *p, unsigned modulus, unsigned rounds) {\n"
            "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = p[i];\n"
            "  for (unsigned k = 0; k < rounds; ++k) v = (v * 17 + k) % modulus;\n"
            "  for (unsigned k = 0; k < 4000; ++k) v += k & 1 ? 1 : -1;\n"
            "  p[i] = v;\n"
            "}\n"
            "int main() {\n"
            "  unsigned *p, h[4096], sum = 0;\n"
            "  for (unsigned i = 0; i != 4096; ++i) h[i] = i;\n"
            "  cudaMalloc(&p, sizeof(h));\n"
            "  cudaMemcpy(p, h, sizeof(h), cudaMemcpyHostToDevice);\n"
            "  hash<<<32, 128>>>(p, 64, 200);\n"
            "  cudaMemcpy(h, p, sizeof(h), cudaMemcpyDeviceToHost);\n"
            "  for (unsigned v : h) sum = sum * 3 + v;\n"
            "  printf(\"sum %u\\n\", sum);\n"
            "  return 3;\n"
            "}\n")
        make(clang, *flags, "--cuda-gpu-arch=sm_90", app + ".cu", "-o", app, *make(record, "--print-config=ldflags").split())
        plain = make(record, "-o", "tuned", "--device=host", "--quiet", "--", app, code=3).strip()
        make(tune, "tuned", "--device=host", "--passes=default<O3>", "--specialize=on", "--until-exhausted", "--quiet", "-o", "packaged",
             "--explain=off", "--assess=off", "--export=package:" + os.path.join(package, "p"))
        artifacts["package"] = Artifact(package, [
            [deploy, "show", "{}/p"],
            [deploy, "check", "{}/p"],
            [deploy, "merge", "-o", "{}/to", "{}/p"],
            [deploy, "run", "--device=host", "{}/p", "--", app],
        ], output=plain)

        # An application and the code that the JIT keeps of it, which is taken without a server, or not at all.
        cache, jit = os.path.join(made, "cache"), os.path.join(made, "jit")
        os.mkdir(cache, 0o700)
        open(jit + ".cpp", "w").write(
            "#include <cstdio>\n"
            "#include <mneme/jit.h>\n"
            "__attribute__((noinline, annotate(\"jit\", 1))) int scale(int n, int by) { return n * by; }\n"
            "int main(int argc, char **) {\n"
            "  printf(\"scaled %d\\n\", scale(21, argc + 1));\n"
            "  return 3;\n"
            "}\n")
        make(clang, *make(record, "--print-config=cxxflags").split(), "-O2", jit + ".cpp", "-o", jit)
        library = os.path.join(make(record, "--print-config=libdir").strip(), "libmneme_jit.so")
        preload = ["env", "LD_PRELOAD=" + library, "XDG_RUNTIME_DIR=" + made]
        make(*preload, "MNEME_JIT_CACHE=" + cache, jit, code=3)
        artifacts["jit"] = Artifact(cache, [
            [*preload, "MNEME_JIT_CACHE={}", "MNEME_JIT_MODE=cached", jit],
        ], output="scaled 42")

        # What is not changed works.
        for name, artifact in artifacts.items():
            folder = os.path.join(made, "unchanged")
            shutil.copytree(artifact.folder, folder)
            outputs = [make(*[w.replace("{}", folder) for w in command],
                            code=3 if artifact.output and command is artifact.commands[-1] else 0)
                       for command in artifact.commands]
            if artifact.sealed and '"verdict": "Match"' not in outputs[-1]:
                sys.exit("error: the %s does not match before any change\n%s" % (name, outputs[-1]))
            shutil.rmtree(folder)

        names = sorted(artifacts)
        done, findings, ways = dict.fromkeys(names, 0), [], {}
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            futures = [pool.submit(try_one, names[i % len(names)], artifacts[names[i % len(names)]], args.seed + i, args.keep)
                       for i in range(args.count)]
            for f in concurrent.futures.as_completed(futures):
                name, how, found = f.result()
                done[name] += 1
                ways[how] = ways.get(how, 0) + 1
                findings += found
                for text in found:
                    print(text, flush=True)
    print(rst.table(["artifact", "mutations"], [[n, done[n]] for n in names]))
    print("%d mutations (%s), %d findings" % (
        sum(done.values()), ", ".join("%d %s" % (n, w) for w, n in sorted(ways.items())), len(findings)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
