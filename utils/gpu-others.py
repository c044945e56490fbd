#!/usr/bin/env python3
"""Records and replays kernels of other compilers, on a machine with a GPU, PyTorch and Triton.

    utils/gpu-others.py --tools DIR --json FILE [--parts=triton,block,...] [--seconds=540]

DIR has Mneme's tools (utils/gpu-pack.sh), beside lib with its runtimes; the Python package llvm_mneme is in ../python
or beside this script. Parts, in this order, each until --seconds are over; a part without its package is left out:

triton   three kernels of Triton: recorded with their IR, replayed with Triton's own settings and under default<O3>,
         next to Triton's cubin; the first is tuned, and packed
block    a torch.compile'd transformer block, forward and backward, random weights: how many of its distinct Triton
         kernels are recorded, and replayed with which verdict; outputs with and without the recorder
conv     a small convolutional network, the same
cublas   a matrix product of cuBLAS: a kernel without IR
expand   the block's forward pass with expandable segments (cuMemMap)
numba    five kernels of numba-cuda
overhead a launch that is not recorded, with and without the recorder

Everything goes to one JSON file; a table goes to standard output.
"""
import argparse
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))

TRITON = r"""
import torch, triton, triton.language as tl
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) * 2.0 + tl.load(y + i, mask=m), mask=m)
@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * cols + i, e / tl.sum(e, 0), mask=i < cols)
@triton.jit
def matmul(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.program_id(1) * BN + tl.arange(0, BN)
    s = tl.zeros((BM, BN), dtype=tl.float32)
    for j in range(0, n, BK):
        r = j + tl.arange(0, BK)
        s += tl.dot(tl.load(a + m[:, None] * n + r[None, :]), tl.load(b + r[:, None] * n + k[None, :]))
    tl.store(c + m[:, None] * n + k[None, :], s)
torch.manual_seed(0)
n = 1 << 20
x, y = (torch.rand(n, device="cuda") for _ in range(2))
out = torch.empty_like(x)
add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
s = torch.empty(512, 1000, device="cuda")
softmax[(512,)](torch.rand(512, 1000, device="cuda"), s, 1000, BLOCK=1024)
a, b = (torch.rand(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
c = torch.empty(512, 512, device="cuda")
matmul[(8, 8)](a, b, c, 512, BM=64, BN=64, BK=32)
print("sum", out.double().sum().item(), s.double().sum().item(), c.double().sum().item())
"""

BLOCK = r"""
import torch
torch.manual_seed(0)
torch.use_deterministic_algorithms(True, warn_only=True)
class Block(torch.nn.Module):
    def __init__(self, d=256, h=4):
        super().__init__()
        self.n1, self.n2, self.h = torch.nn.LayerNorm(d), torch.nn.LayerNorm(d), h
        self.qkv, self.o = torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        self.up, self.down = torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
        q, k, v = (z.view(b, t, self.h, d // self.h).transpose(1, 2) for z in (q, k, v))
        w = torch.softmax(q @ k.transpose(-1, -2) / (d // self.h) ** 0.5, -1)
        x = x + self.o((w @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(torch.nn.functional.gelu(self.up(self.n2(x))))
model = torch.compile(Block().cuda())
x = torch.rand(4, 128, 256, device="cuda", requires_grad=True)
y = model(x)
if BACKWARD:
    y.square().mean().backward()
    print("grad", x.grad.double().sum().item())
print("sum", y.double().sum().item())
"""

CONV = r"""
import torch
torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(), torch.nn.Linear(32, 10)).cuda()
model = torch.compile(net)
x = torch.rand(8, 3, 64, 64, device="cuda")
loss = torch.nn.functional.cross_entropy(model(x), torch.arange(8, device="cuda"))
loss.backward()
print("sum", loss.double().item(), sum(p.grad.double().sum().item() for p in net.parameters()))
"""

CUBLAS = r"""
import torch
torch.manual_seed(0)
a, b = (torch.rand(512, 512, device="cuda") for _ in range(2))
print("sum", (a @ b).double().sum().item())
"""

NUMBA = r"""
import math
import numpy as np
from numba import cuda, float32
@cuda.jit
def axpy(r, a, x, y):
    i = cuda.grid(1)
    if i < r.size:
        r[i] = a * x[i] + y[i]
@cuda.jit
def wave(r, x):
    i = cuda.grid(1)
    if i < r.size:
        r[i] = math.sin(x[i]) + math.sqrt(x[i])
@cuda.jit
def blocksum(r, x):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    n = 128
    while n:
        if t < n:
            s[t] += s[t + n]
        cuda.syncthreads()
        n //= 2
    if t == 0:
        r[cuda.blockIdx.x] = s[0]
@cuda.jit
def transpose(r, x):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        r[j, i] = x[i, j]
@cuda.jit
def count(r, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(r, int(x[i] * 16) % 16, 1)
x = cuda.to_device(np.linspace(0, 1, 4096, dtype=np.float32))
y, r = cuda.device_array_like(x), cuda.device_array_like(x)
wave[16, 256](y, x)
axpy[16, 256](r, 3.0, x, y)
s = cuda.device_array(16, np.float32)
blocksum[16, 256](s, x)
m = cuda.to_device(np.arange(4096, dtype=np.float32).reshape(64, 64))
t = cuda.device_array((64, 64), np.float32)
transpose[(4, 4), (16, 16)](t, m)
c = cuda.to_device(np.zeros(16, np.int32))
count[16, 256](c, x)
print("sum", r.copy_to_host().sum(), s.copy_to_host().sum(), t.copy_to_host()[3, 5], c.copy_to_host()[0])
"""

OVERHEAD = r"""
import time, torch, triton, triton.language as tl
@triton.jit
def nothing(x):
    tl.store(x, 1.0)
x = torch.empty(1, device="cuda")
k = nothing[(1,)](x)
k = nothing.warmup(x, grid=(1,))
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
k._init_handles()
args = (ctypes.c_void_p * 3)()
values = [ctypes.c_uint64(x.data_ptr()), ctypes.c_uint64(0), ctypes.c_uint64(0)]
for i, v in enumerate(values):
    args[i] = ctypes.addressof(v)
launch = driver.cuLaunchKernel
launch.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
best = 1e9
for _ in range(20):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(500):
        launch(k.function, 1, 1, 1, 32 * k.metadata.num_warps, 1, 1, 0, None, ctypes.addressof(args), None)
    best = min(best, (time.perf_counter() - begin) / 500)
    torch.cuda.synchronize()
print("launch", best * 1e9)
"""


class Run:
    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.results = {}
        os.makedirs(args.work, exist_ok=True)
        self.python_path = next((d for d in (os.path.join(HERE, "python"), os.path.join(HERE, "../python"),
                                             os.path.join(args.tools, "../python")) if os.path.isdir(d)), "")

    def left(self):
        return self.end - time.monotonic()

    def tool(self, name):
        return os.path.abspath(os.path.join(self.args.tools, "llvm-mneme-" + name))

    def run(self, command, seconds, **environment):
        env = dict(os.environ, PYTHONPATH=os.path.abspath(self.python_path) + os.pathsep + os.environ.get("PYTHONPATH", ""),
                   TRITON_CACHE_DIR=os.path.join(os.path.abspath(self.args.work), "triton"),
                   TORCHINDUCTOR_CACHE_DIR=os.path.join(os.path.abspath(self.args.work), "inductor"),
                   TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER="0", **environment)
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=max(1, min(seconds, self.left())), errors="replace", env=env)
            return done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as e:
            text = lambda b: (b or b"").decode(errors="replace") if isinstance(b, bytes) else (b or "")
            return 124, text(e.stdout), text(e.stderr) + "\ntimed out"

    def note(self, part, **facts):
        self.results.setdefault(part, {}).update(facts)
        with open(self.args.json, "w") as file:
            json.dump(self.results, file, indent=1)

    def record(self, part, source, package, kernels="", seconds=120, **environment):
        """Runs a program alone and recorded. Returns the folder, or None."""
        path = os.path.join(self.args.work, part + ".py")
        hook = "try:\n    import llvm_mneme.%s\nexcept ImportError as e:\n    print('no hook', e)\n" % package if package else ""
        with open(path, "w") as file:
            file.write(hook + source)
        code, plain, error = self.run([sys.executable, path], seconds, **environment)
        if code:
            self.note(part, skipped=error.strip()[-300:])
            print("%-9s left out: %s" % (part, error.strip().splitlines()[-1] if error.strip() else code))
            return None
        folder = os.path.join(self.args.work, part + ".rec")
        subprocess.run(["rm", "-rf", folder])
        begin = time.monotonic()
        code, out, error = self.run([self.tool("record"), "--any-executable", "--device=cuda", "--max-recordings=1", "-o", folder] +
                                    (["--kernel=" + kernels] if kernels else []) + ["--", sys.executable, path], 2 * seconds, **environment)
        same = [l for l in plain.splitlines() if "sum" in l or "grad" in l] == [l for l in out.splitlines() if "sum" in l or "grad" in l]
        summary = [l for l in error.splitlines() if l.startswith("mneme")]
        self.note(part, exit=code, same_output=same, summary=summary, seconds=time.monotonic() - begin,
                  plain=plain[-400:], recorded=out[-400:])
        print("%-9s exit %d, %s output; %s" % (part, code, "same" if same else "OTHER",
                                              next((l for l in summary if "launches seen" in l), error.strip()[-200:])))
        for line in summary:
            if "skipped:" in line or "warning" in line:
                print("          " + line)
        return folder if os.path.isdir(folder) else None

    def replay(self, part, folder, seconds=25):
        """Replays each kernel as recorded, and its IR under default<O3>."""
        rows = []
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            kernel = json.load(open(path))
            if not kernel.get("instances") or self.left() < 5:
                continue
            only = kernel.get("Image", {}).get("Only", False)
            row = {"kernel": kernel["DemangledName"] or kernel["KernelName"], "ir": not only}
            base = [self.tool("replay"), path, "--device=cuda:0", "--record-id=" + sorted(kernel["instances"])[0]]
            sides = [("own", ["--baseline=app"])] + ([] if only else [("O3", ["--passes=default<O3>", "--baseline=app"])])
            for name, options in sides:
                code, out, error = self.run(base + options, seconds)
                try:
                    result = json.loads(out)["Result"]
                    row[name] = {"verdict": result.get("verdict"), "error": result.get("error"), "result": result}
                except (ValueError, KeyError):
                    row[name] = {"verdict": "error", "error": error.strip()[-300:]}
            rows.append(row)
            verdicts = ", ".join("%s %s%s" % (n, row[n]["verdict"], " (%s)" % str(row[n]["error"])[:120] if row[n]["error"] else "")
                                 for n, _ in sides)
            print("          %-50s %s" % (row["kernel"][:50], verdicts))
            self.note(part, kernels=rows)
        good = sum(r["own"]["verdict"] in ("Match", "MatchWithinTolerance") for r in rows)
        self.note(part, matches=good, replayed=len(rows))
        print("          %d of %d replayed with a Match" % (good, len(rows)))
        return rows

    def triton(self):
        folder = self.record("triton", TRITON, "triton", "add|softmax|matmul")
        if not folder:
            return
        self.replay("triton", folder)
        path = sorted(glob.glob(os.path.join(folder, "*.json")))[0]
        code, out, error = self.run([self.tool("tune"), path, "--device=cuda:0", "--budget=20", "--storage=" +
                                     os.path.join(self.args.work, "study"), "--export=package:" +
                                     os.path.join(self.args.work, "triton.mneme")], 90)
        self.note("triton", tune_exit=code, tune=(out + error)[-1500:])
        print("          tune: exit %d; %s" % (code, (out + error).strip().splitlines()[-1] if (out + error).strip() else ""))

    def block(self):
        folder = self.record("block", "BACKWARD = True\n" + BLOCK, "triton", "^triton_")
        if folder:
            self.replay("block", folder)

    def conv(self):
        folder = self.record("conv", CONV, "triton", "^triton_")
        if folder:
            self.replay("conv", folder)

    def cublas(self):
        folder = self.record("cublas", CUBLAS, "", "gemm|cutlass|cublas|sgemm|xmma|nvjet")
        if folder:
            self.replay("cublas", folder)

    def expand(self):
        folder = self.record("expand", "BACKWARD = False\n" + BLOCK, "triton", "^triton_",
                             PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", PYTORCH_ALLOC_CONF="expandable_segments:True")
        if folder:
            self.replay("expand", folder)

    def numba(self):
        folder = self.record("numba", NUMBA, "numba")
        if folder:
            self.replay("numba", folder)

    def overhead(self):
        path = os.path.join(self.args.work, "overhead.py")
        with open(path, "w") as file:
            file.write(OVERHEAD)
        times = {}
        for name, before in (("plain", []), ("recorder", [self.tool("record"), "--any-executable", "--device=cuda",
                                                         "--kernel=^no_such_kernel$", "-o", os.path.join(self.args.work, "none"), "--"])):
            found = []
            for _ in range(3):
                code, out, error = self.run(before + [sys.executable, path], 60)
                found += [float(x) for x in re.findall(r"launch ([\d.]+)", out)]
            times[name] = min(found) if found else None
        self.note("overhead", **times)
        print("overhead  ns per launch: %s" % times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--json", default="others.json")
    parser.add_argument("--work", default="run-others")
    parser.add_argument("--parts", default="triton,block,cublas,conv,expand,numba,overhead")
    parser.add_argument("--seconds", type=float, default=540)
    args = parser.parse_args()
    run = Run(args)
    for part in args.parts.split(","):
        if run.left() < 10:
            print("%-9s no time left" % part)
            continue
        try:
            getattr(run, part)()
        except Exception as e:  # One part must not cost the others.
            run.note(part, failed=repr(e))
            print("%-9s FAILED: %r" % (part, e))
    run.note("machine", left=run.left())


if __name__ == "__main__":
    main()
