"""edit-kernel-file.py RECORDING SCRATCH: edits one property at a time in a kernel file. Every tool that
reads it must refuse it and say what to do instead, also where only a dynamic hash protects the
launch."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
from recordings import find, instance, kernel, sealed

recording, scratch = sys.argv[1:]


def dims(key, axis):
    return lambda k: instance(k)[key].update({axis: instance(k)[key][axis] + 1})


launch = "the launch's properties have changed since they were recorded.* options such as --grid-dim-x"
kernels = "the kernel's properties have changed since they were recorded.* options of llvm-mneme-replay"
table = [
    (dims("GridDims", "x"), launch),
    (dims("GridDims", "z"), launch),
    (dims("BlockDims", "x"), launch),
    (dims("BlockDims", "y"), launch),
    (lambda k: instance(k).update(SharedMem=64), launch),
    (lambda k: instance(k).update(Cooperative=True), launch),
    (lambda k: instance(k).update(Occurrences=7), launch),
    (lambda k: instance(k).update(Device={key: "x" for key in ["Name", "Arch", "Driver", "Runtime"]}), launch),
    (lambda k: k.update(OptLevel="0"), kernels),
    (lambda k: k.update(Arch="sm_80"), kernels),
    (lambda k: k.update(Triple="amdgcn-amd-amdhsa"), kernels),
    (lambda k: k.update(Toolchain="clang 1"), kernels),
    (lambda k: k["Args"][0].update(Type="i32"), kernels),
    (lambda k: k["Args"][3].update(Kind="aggregate"), kernels),
    (lambda k: k["Args"][3].update(Offset=28), kernels),
    (lambda k: k.update(VASize=k["VASize"] * 2), kernels),
    (lambda k: k.update(Globals=[{"Name": "g", "Size": 4, "Address": 0}]), kernels),
    (lambda k: k.update(KernelName="other"), kernels),
    (lambda k: k.update(ModuleDigests=["0" * 32]), kernels),
]
count = 0


def refuse(edit, expected, *tools):
    global count
    folder = os.path.join(scratch, "edited")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(recording, folder)
    edit(folder)
    for tool in tools:
        done = subprocess.run(tool + [find(folder, "*.json")], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True)
        if done.returncode != 1 or not re.search(expected, done.stderr):
            sys.exit("edit %d: %s: exit code %d, expected '%s', got: %s"
                     % (count, tool, done.returncode, expected, done.stderr))
    count += 1


replay, check = ["llvm-mneme-replay"], ["llvm-mneme-record", "check"]
everywhere = [replay, check, ["llvm-mneme-record", "list"], ["llvm-mneme-record", "show"],
              ["llvm-mneme-tune", "--trials=1"]]
for edit, expected in table:
    refuse(sealed(edit), expected, *everywhere)
# Before there were digests: what the dynamic hash is made of.
for edit, _ in table[:6]:
    refuse(kernel(edit), "has another launch configuration than '.*json' has for", replay, check)
print(count, "edits")
