"""damage.py RECORDING SCRATCH REPLAY: damages copies of a recording in many ways.
Every replay must exit with 1, say something that matches, and name the file."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

recording, scratch, replay = sys.argv[1:]


def find(folder, what):
    return glob.glob(os.path.join(folder, what))[0]


def truncate(pattern, keep):
    def do(folder):
        path = find(folder, pattern)
        os.truncate(path, int(os.path.getsize(path) * keep))

    return do


def flip(pattern, position):
    def do(folder):
        path = find(folder, pattern)
        data = bytearray(open(path, "rb").read())
        data[int(len(data) * position)] ^= 0x40
        open(path, "wb").write(data)

    return do


def remove(pattern):
    return lambda folder: os.remove(find(folder, pattern))


def edit(change):
    def do(folder):
        path = find(folder, "*.json")
        kernel = json.load(open(path))
        change(kernel)
        json.dump(kernel, open(path, "w"))

    return do


def instance(kernel):
    return next(iter(kernel["instances"].values()))


def swap(kernel):
    i = instance(kernel)
    i["Prologue"], i["Epilogue"] = i["Epilogue"], i["Prologue"]


def rename(kernel):
    kernel["instances"]["0123456789abcdef"] = kernel["instances"].popitem()[1]


prologue, epilogue = "DeviceState.prologue.*", "DeviceState.epilogue.*"
pages = "Pages.*"
table = [
    (remove(prologue), "prologue.*[Nn]o such file"),
    (remove(epilogue), "epilogue.*[Nn]o such file"),
    (remove("*.bc"), r"\.bc': .*[Nn]o such file"),
    (truncate(prologue, 0), "prologue"),
    (truncate(prologue, 0.5), "prologue"),
    (truncate(epilogue, 0.9), "epilogue"),
    (flip(prologue, 0.0), "prologue"),
    (flip(prologue, 0.5), "prologue"),
    (flip(epilogue, 0.7), "epilogue"),
    (remove(pages), r"Pages\.[0-9a-f]+\.mneme': [Nn]o such file"),
    (truncate(pages, 0), r"Pages\.[0-9a-f]+\.mneme': truncated"),
    (truncate(pages, 0.5), r"Pages\.[0-9a-f]+\.mneme': truncated"),
    (flip(pages, 0.0), r"Pages\.[0-9a-f]+\.mneme': not a page file"),
    (flip(pages, 0.1), r"Pages\.[0-9a-f]+\.mneme': pages 0 to "),
    (flip(pages, 0.99), r"Pages\.[0-9a-f]+\.mneme': "),
    (truncate("*.bc", 0.5), r"\.bc"),
    (truncate("*.bc", 0), r"\.bc"),
    (truncate("*.json", 0.5), r"\.json"),
    (truncate("*.json", 0), r"\.json"),
    (edit(lambda k: k.update(FormatVersion=99)), r"\.json.*99|\.json.*version"),
    (edit(lambda k: k.pop("KernelName")), r"\.json.*KernelName"),
    (edit(lambda k: k.pop("Modules")), r"\.json.*Modules"),
    (edit(lambda k: k.update(KernelName="nobody")), "no kernel 'nobody'"),
    (edit(lambda k: k.update(StaticHash="0" * 32)), "belongs to kernel|StaticHash|name"),
    (edit(lambda k: k.update(VASize=4096)), "arena|VASize"),
    (edit(lambda k: k["Args"].pop()), "3 in the recording"),
    (edit(lambda k: k["instances"].clear()), "holds no recorded launch|no instance"),
    (edit(lambda k: instance(k).update(Prologue="../x")), "Prologue"),
    (edit(swap), "is an epilogue, not a prologue|is a prologue, not an epilogue"),
    (edit(rename), "belongs to record|name"),
]
for number, (damage, expected) in enumerate(table):
    folder = os.path.join(scratch, str(number))
    shutil.copytree(recording, folder)
    damage(folder)
    run = subprocess.run([replay, find(folder, "*.json")], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, universal_newlines=True)
    said = run.stderr
    if run.returncode != 1 or not re.search(expected, said, re.S):
        sys.exit("case %d: exit code %d, expected '%s', got: %s"
                 % (number, run.returncode, expected, said))
    if run.stdout or not said.startswith("llvm-mneme-replay: error: "):
        sys.exit("case %d: not an error: %s %s" % (number, run.stdout, said))
