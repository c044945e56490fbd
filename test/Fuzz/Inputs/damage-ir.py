"""damage-ir.py RECORDING SCRATCH LIBRARY [--files N] [--seed S] [--limit SECONDS] [--tools A,B...]
[--reader OPT]: runs all tools that read IR on N damaged copies of the bitcode of a recording, which has
no digests and so reaches LLVM's readers. With --reader, only copies that kill OPT by a signal count.
LIBRARY is xxh3.c, for the digest of payloads. A tool may refuse a file, or accept one that is still
valid IR. It must not die of a signal, take more than SECONDS, or leave files behind. Prints a table and
exits with 1 when one does."""
import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
from recordings import find, kernel, module

parser = argparse.ArgumentParser()
for name in ["recording", "scratch", "library"]:
    parser.add_argument(name)
parser.add_argument("--files", type=int, default=2500)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--limit", type=float, default=600)
parser.add_argument("--tools")
parser.add_argument("--reader")
options = parser.parse_args()
generator = random.Random(options.seed)
xxh3 = ctypes.CDLL(options.library).xxh3_128


def damage(data):
    """A few of what disks, networks and people do to files."""
    data = bytearray(data)
    for _ in range(generator.choice([1, 1, 2, 4, 16])):
        at, kind = generator.randrange(len(data)), generator.randrange(8)
        if kind < 4:
            data[at] ^= 1 << generator.randrange(8)
        elif kind == 4:
            data[at] = generator.choice([0, 0x7F, 0x80, 0xFF, generator.randrange(256)])
        elif kind == 5:
            data[at : at + 4] = struct.pack("<I", generator.getrandbits(32))[: len(data) - at]
        elif kind == 6:
            end = min(at + generator.randrange(1, 64), len(data))
            other = generator.randrange(len(data) - (end - at) + 1)
            data[at:end] = data[other : other + end - at]
        elif len(data) > 64:
            del data[at : at + generator.choice([1, 4, 32, len(data)])]
        if len(data) < 4:
            return data
    return data


def kills(reader, path):
    """Whether the file makes a plain reader crash or exhaust 2 GiB of memory."""

    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 31, 1 << 31))

    done = subprocess.run([reader, "-passes=verify", "-disable-output", path], preexec_fn=limit,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode < 0


def makePayload(bitcode, facts):
    """A payload without compression (PayloadFormat.h)."""
    digest = ctypes.create_string_buffer(16)
    xxh3(bytes(bitcode), ctypes.c_size_t(len(bitcode)), digest)
    strings = b"".join(facts[key].encode() + b"\0" for key in ["Triple", "Arch", "KernelName"])
    strings += b"damaged.cu\0"
    names = [88]
    for key in ["Triple", "Arch", "KernelName"]:
        names.append(names[-1] + len(facts[key].encode()) + 1)
    kernels = (88 + len(strings) + 7) // 8 * 8
    args = kernels + 16
    body = strings.ljust(kernels - 88, b"\0")
    body += struct.pack("<IIII", names[2], len(facts["Args"]), args, 0)
    for a in facts["Args"]:
        kinds = ["value", "pointer", "aggregate"]
        body += struct.pack("<IIII", a["Size"], a["Offset"], kinds.index(a["Kind"]), 0)
    at = 88 + len(body)
    total = (at + len(bitcode) + 7) // 8 * 8
    header = b"MNEMEPL1" + struct.pack("<IIQQQQ", 88, 0, total, len(bitcode), len(bitcode), at)
    header += digest.raw + struct.pack("<IIIIII", names[0], names[1], names[3], ord("2"), 1, kernels)
    return (header + body + bytes(bitcode)).ljust(total, b"\0")


def makeObject(section):
    """An ELF file with nothing but that section."""
    names = b"\0mneme_payload\0.shstrtab\0"
    at = 64 + (len(section) + 7) // 8 * 8
    headers = (at + len(names) + 7) // 8 * 8
    elf = b"\x7fELF\2\1\1" + bytes(9)
    elf += struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, headers, 0, 64, 0, 0, 64, 3, 2)
    elf += section.ljust(at - 64, b"\0") + names.ljust(headers - at, b"\0") + bytes(64)
    elf += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, 64, len(section), 0, 0, 8, 0)
    elf += struct.pack("<IIQQQQIIQQ", 15, 3, 0, 0, at, len(names), 0, 0, 1, 0)
    return elf


def makeArchive(folder):
    """As llvm-mneme-record export writes it."""
    table, members = b"", b""
    for name in sorted(n for n in os.listdir(folder) if not n.startswith(".")):
        data = open(os.path.join(folder, name), "rb").read()
        header = b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (
            b"/%d" % len(table), b"0", b"0", b"0", b"644", len(data))
        table += name.encode() + b"/\n"
        members += header + data + (b"\n" if len(data) % 2 else b"")
    table += b"\n" if len(table) % 2 else b""
    start = b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (b"//", b"", b"", b"", b"", len(table))
    return b"!<arch>\n" + start + table + members


scratch = os.path.abspath(options.scratch)
temporary = os.path.join(scratch, "tmp")
recording, target = os.path.join(scratch, "rec"), os.path.join(scratch, "target")
output, archive = os.path.join(scratch, "out"), os.path.join(scratch, "export")
program = os.path.join(scratch, "damaged.o")
environment = dict(os.environ, TMPDIR=temporary)
replay, record, tune = "llvm-mneme-replay", "llvm-mneme-record", "llvm-mneme-tune"
limits = ["--timeout=%g" % (options.limit / 10)]
tools = {
    "replay": [replay, recording] + limits,
    "replay --ir": [replay, options.recording, "--ir=" + os.path.join(scratch, "damaged.bc")] + limits,
    "bisect": [replay, "bisect", recording, "--criterion=regs", "--no-execute", "--output=" + output] + limits,
    "tune": [tune, recording, "--block-x=64", "--until-exhausted", "--quiet", "--report=false",
             "--explain=off", "--retest=0", "--device=host", "-o", output],
    "check": [record, "check", recording],
    "list": [record, "list", recording],
    "copy": [record, "copy", recording, target],
    "import": [record, "import", archive, target],
    "list-kernels": [record, "list-kernels", "--static-hash", program],
}
chosen = options.tools.split(",") if options.tools else tools
shutil.rmtree(scratch, ignore_errors=True)
os.makedirs(temporary)
original = open(find(options.recording, module), "rb").read()
facts = json.load(open(find(options.recording, "*.json")))
failures, outcomes, slowest = 0, {}, {}
damaged = os.path.join(scratch, "damaged.bc")
for number in range(options.files):
    while True:
        data = damage(original)
        open(damaged, "wb").write(data)
        if not options.reader or kills(options.reader, damaged):
            break
    shutil.rmtree(recording, ignore_errors=True)
    shutil.copytree(options.recording, recording)
    shutil.copy(damaged, find(recording, module))
    kernel()(recording)
    open(archive, "wb").write(makeArchive(recording))
    open(program, "wb").write(makeObject(makePayload(data, facts)))
    for name in chosen:
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(output, ignore_errors=True)
        begin, said = time.time(), b""
        try:
            done = subprocess.run(tools[name], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment, timeout=options.limit)
            code, said = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code = "hung"
        slowest[name] = max(slowest.get(name, 0), time.time() - begin)
        left = os.listdir(temporary)
        if os.path.exists(target):
            left += [n for n in os.listdir(target) if n.startswith(".recording-")]
            left += [target] if name == "import" and code else []
        if code not in [0, 1, 2] or left or (code == 1 and b"Stack dump" in said):
            failures += 1
            kept = os.path.join(scratch, "failure-%d.bc" % number)
            open(kept, "wb").write(data)
            print("%s: %s: exit code %s, left %s: %s"
                  % (kept, name, code, left, said.decode(errors="replace")[:500]))
            shutil.rmtree(temporary)
            os.makedirs(temporary)
        outcomes[name, code] = outcomes.get((name, code), 0) + 1
for name, code in sorted(outcomes, key=str):
    print("%-12s exit code %s: %d" % (name, code, outcomes[name, code]))
for name in sorted(slowest):
    print("%-12s slowest: %.1f s" % (name, slowest[name]), file=sys.stderr)
print("%d files, %d failures" % (options.files, failures))
sys.exit(failures != 0)
