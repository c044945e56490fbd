"""damage.py RECORDING SCRATCH REPLAY: damages copies of a recording in many ways.
Every replay must exit with 1, say something that matches, and name the file."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Inputs"))
from recordings import epilogue, find, flip, instance, kernel, pages, prologue

recording, scratch, replay = sys.argv[1:]


def truncate(pattern, keep):
    def do(folder):
        path = find(folder, pattern)
        os.truncate(path, int(os.path.getsize(path) * keep))

    return do


def flip_at(pattern, position):
    """position: a share of the file."""
    return flip(pattern, lambda size: int(size * position))


def remove(pattern):
    return lambda folder: os.remove(find(folder, pattern))


def swap(kernel):
    i = instance(kernel)
    i["Prologue"], i["Epilogue"] = i["Epilogue"], i["Prologue"]


def rename(kernel):
    kernel["instances"]["0123456789abcdef"] = kernel["instances"].popitem()[1]


table = [
    (remove(prologue), "prologue.*[Nn]o such file"),
    (remove(epilogue), "epilogue.*[Nn]o such file"),
    (remove("*.bc"), r"\.bc': .*[Nn]o such file"),
    (truncate(prologue, 0), "prologue"),
    (truncate(prologue, 0.5), "prologue"),
    (truncate(epilogue, 0.9), "epilogue"),
    (flip_at(prologue, 0.0), "prologue"),
    (flip_at(prologue, 0.5), "prologue"),
    (flip_at(epilogue, 0.7), "epilogue"),
    (remove(pages), r"Pages\.[0-9a-f]+\.mneme': [Nn]o such file"),
    (truncate(pages, 0), r"Pages\.[0-9a-f]+\.mneme': truncated"),
    (truncate(pages, 0.5), r"Pages\.[0-9a-f]+\.mneme': truncated"),
    (flip_at(pages, 0.0), r"Pages\.[0-9a-f]+\.mneme': not a page file"),
    (flip_at(pages, 0.1), r"Pages\.[0-9a-f]+\.mneme': pages 0 to "),
    (flip_at(pages, 0.99), r"Pages\.[0-9a-f]+\.mneme': "),
    (truncate("*.bc", 0.5), r"\.bc"),
    (truncate("*.bc", 0), r"\.bc"),
    (truncate("*.json", 0.5), r"\.json"),
    (truncate("*.json", 0), r"\.json"),
    (kernel(lambda k: k.update(FormatVersion=99)), r"\.json.*99|\.json.*version"),
    (kernel(lambda k: k.pop("KernelName")), r"\.json.*KernelName"),
    (kernel(lambda k: k.pop("Modules")), r"\.json.*Modules"),
    (kernel(lambda k: k.update(KernelName="nobody")), "no kernel 'nobody'"),
    (kernel(lambda k: k.update(StaticHash="0" * 32)), "belongs to kernel|StaticHash|name"),
    (kernel(lambda k: k.update(VASize=4096)), "arena|VASize"),
    (kernel(lambda k: k["Args"].pop()), "3 in the recording"),
    (kernel(lambda k: k["instances"].clear()), "holds no recorded launch|no instance"),
    (kernel(lambda k: instance(k).update(Prologue="../x")), "Prologue"),
    (kernel(swap), "is an epilogue, not a prologue|is a prologue, not an epilogue"),
    (kernel(rename), "belongs to record|name"),
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
