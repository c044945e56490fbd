"""flip-bits.py REPLAY RECORD RECORDING SCRATCH [--flips N] [--seed S] [--class NAME]...:
flips one bit at a time in copies of a recording with one launch, N times in each class of file.
No damaged copy may verify, except where the damaged file still means the same: then check finds
no problem either. No tool may die of a signal or hang. Prints a table and exits with 1 when one
of these happens."""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
from recordings import epilogue, find, module, pages, prologue

classes = {"module": module, "prologue": prologue, "epilogue": epilogue, "pages": pages,
           "kernel": "*.json"}
parser = argparse.ArgumentParser()
for name in ["replay", "record", "recording", "scratch"]:
    parser.add_argument(name)
parser.add_argument("--flips", type=int, default=900)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--class", dest="classes", choices=classes, action="append")
parser.add_argument("--timeout", type=float, default=600)
options = parser.parse_args()


def run(*command):
    """"Match", "other verdict", "refused", or what must not be."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return "hung"
    if done.returncode < 0 or done.returncode > 2:
        return "died"
    if done.returncode == 1:
        return "refused" if b"error: " in done.stderr else "silent"
    if b'"verdict": "Match"' in done.stdout:
        return "Match"
    return "other verdict" if done.returncode else "accepted"


def means(path):
    """LLVM reads 01 as 1, which is what becomes of a space before it."""
    text = open(path, "rb").read()
    try:
        return json.loads(re.sub(rb"([^0-9a-f\".])0+(?=[0-9])", rb"\1", text))
    except ValueError:
        return None


copy = os.path.join(options.scratch, "flipped")
failures = 0
for name in options.classes or classes:
    outcomes = {}
    original = open(find(options.recording, classes[name]), "rb").read()
    meaning = means(find(options.recording, "*.json"))
    bits = random.Random(options.seed).sample(range(8 * len(original)),
                                              min(options.flips, 8 * len(original)))
    for bit in bits:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(options.recording, copy)
        path = find(copy, classes[name])
        data = bytearray(original)
        data[bit // 8] ^= 1 << bit % 8
        open(path, "wb").write(data)
        kernel = find(copy, "*.json")
        replayed = run(options.replay, kernel)
        checked = run(options.record, "check", kernel)
        bad = replayed in ["hung", "died", "silent"] or checked in ["hung", "died", "silent"]
        if replayed in ["Match", "other verdict"]:
            bad |= checked != "accepted" or name == "module" or (
                name == "kernel" and means(kernel) != meaning)
        outcome = "replay: %s, check: %s" % (replayed, checked)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if bad:
            failures += 1
            print("bit %d of byte %d of %s: %s" % (bit % 8, bit // 8, os.path.basename(path), outcome))
    print("%s: %d flips" % (name, len(bits)))
    for outcome in sorted(outcomes):
        print("  %4d %s" % (outcomes[outcome], outcome))
shutil.rmtree(copy, ignore_errors=True)
print("%d failures" % failures)
sys.exit(failures != 0)
