"""bad-input.py TOOL RECORDING APPLICATION SCRATCH: a table of what users may hand in that is no
recording, or no application, as it should be. Each time exit code 1, one error a problem that
matches, and nothing changed."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Inputs"))
from recordings import edit, epilogue, find, flip, instance, kernel, module, pages, prologue, sealed

tool, recording, application, scratch = sys.argv[1:]


def cut(pattern, size):
    """Keeps so many bytes, or takes them away from the end."""
    return edit(pattern, lambda data: data[:size])


def put(pattern, position, new):
    def change(data):
        data[position : position + len(new)] = new
        return data

    return edit(pattern, change)


def without(key):
    return kernel(lambda k: k.pop(key))


def having(key, value):
    return kernel(lambda k: k.update({key: value}))


def launch(change):
    return kernel(lambda k: change(instance(k)))


def move(old, new):
    return lambda folder: os.rename(find(folder, old), os.path.join(folder, new))


def replace(pattern, make):
    def do(folder):
        path = find(folder, pattern)
        os.remove(path)
        make(path)

    return do


def foreign(path):
    open(path, "wb").write(b"\x7fELF" + bytes(5000))


def unsealed(damage):
    """Where no digest tells what LLVM's reader is given."""

    def do(folder):
        kernel()(folder)
        damage(folder)

    return do


def other(pattern):
    """The second such file in place of the first."""

    def do(folder):
        first, second = sorted(glob.glob(os.path.join(folder, pattern)))[:2]
        shutil.copy(second, first)

    return do


# Where the fields of headers end (RecordFormat.h).
snapshot_fields = [8, 10, 12, 16, 32, 40, 48, 56, 63]
record_fields = [64, 68, 72, 80, 87, 90]
page_file_fields = [4, 8, 10, 12, 15]
footer_fields = [-48, -40, -32, -16, -8, -1]

recordings = []
for pattern, name in [(prologue, "prologue"), (epilogue, "epilogue")]:
    recordings += [(cut(pattern, n), name + ".*': truncated") for n in [0] + snapshot_fields]
    recordings += [(cut(pattern, n), name + ".*': .*truncated") for n in record_fields + [-40, -8, -1]]
    recordings += [
        (flip(pattern, 0), name + ".*': not a snapshot"),
        (put(pattern, 8, b"\x09"), name + r".*': format version 9\.\d, this reader knows 2\.x"),
        (flip(pattern, 20), name + ".*': damaged: wrong digest of the header"),
        (flip(pattern, 58), name + ".*': damaged: wrong digest of the header"),
        (flip(pattern, 80), name + ".*': .*record at offset 64: damaged: wrong digest"),
        (flip(pattern, 92), name + ".*': .*record at offset 64: damaged: wrong digest"),
        (flip(pattern, -9), name + ".*': end record at offset .*: damaged: wrong digest"),
        (edit(pattern, lambda data: data + b"more"), name + ".*': 4 bytes after the end record"),
        (replace(pattern, foreign), name + ".*': not a snapshot"),
        (replace(pattern, os.mkdir), name + ".*': [Ii]s a directory"),
        (replace(pattern, lambda path: None), name + ".*': [Nn]o such file"),
        (replace(pattern, lambda path: os.symlink("nowhere", path)), name + ".*': [Nn]o such file"),
        (replace(pattern, lambda path: os.symlink(os.path.basename(path), path)), name + ".*': [Tt]oo many levels"),
        (other(pattern), name + ".*': belongs to instance .*, not"),
    ]
recordings += [(cut(pages, n), "Pages.*': truncated") for n in [0] + page_file_fields]
recordings += [(cut(pages, n), "Pages.*': truncated") for n in footer_fields]
recordings += [
    (flip(pages, 0), "Pages.*': not a page file"),
    (put(pages, 8, b"\x07"), "Pages.*': format version 7.0, this reader knows 1"),
    (put(pages, 12, b"\x01"), "Pages.*': pages of 4097 bytes"),
    (flip(pages, 17), "Pages.*': pages 0 to .*(\n.*data at .* is lost)+"),
    (flip(pages, -60), "Pages.*': damaged: wrong digest of the index"),
    (flip(pages, -12), "Pages.*': damaged: wrong digest of the index"),
    (put(pages, -56, b"\xff" * 16), "Pages.*': damaged: .* pages in .* are not in"),
    (edit(pages, lambda data: data + bytes(4096)), "Pages.*': truncated"),
    (replace(pages, foreign), "Pages.*': not a page file"),
    (replace(pages, os.mkdir), "Pages.*': [Ii]s a directory"),
    (replace(pages, lambda path: None), "Pages.*': [Nn]o such file"),
    (other(pages), "Pages.*': has the index of"),
    (cut(module, 0), "bc': has changed since it was recorded: digest .*, not "),
    (flip(module, 100), "bc': has changed since it was recorded: digest .*, not "),
    (unsealed(cut(module, 0)), "bc': "),
    (unsealed(cut(module, 3)), "bc': "),
    (unsealed(cut(module, -1000)), "bc': can't skip"),
    (unsealed(replace(module, foreign)), "bc': "),
    (replace(module, os.mkdir), "bc': [Ii]s a directory"),
    (replace(module, lambda path: None), "bc': [Nn]o such file"),
    (other(module), "bc': has changed since it was recorded"),
    (unsealed(other(module)), "bc': does not define kernel"),
]
recordings += [(cut("*.json", n), "json': .*(empty|xpected|nterminated)") for n in [0, 1, 40, 400, -3]]
recordings += [
    (replace("*.json", foreign), "json': \\[1:1, byte=1\\]"),
    (replace("*.json", os.mkdir), "json': [Ii]s a directory"),
    (edit("*.json", lambda data: b"[]"), "json': expected object"),
    (edit("*.json", lambda data: b"[" * 100000), "json': .*nested too deep"),
    (edit("*.json", lambda data: data.replace(b"sm_90", b"sm_\xff\xfe")), "json': .*Invalid UTF-8"),
    (having("FormatVersion", 3), "json': this reader knows versions 1 and 2"),
    (having("FormatVersion", 2), "json': expected 32 hexadecimal digits a module"),
    (sealed(lambda k: k.update(FormatVersion=1)), "json': files of version 1 have no digests"),
    (having("FormatVersion", "1"), "json': expected uint64_t at recording.FormatVersion"),
    (having("StaticHash", "0" * 31), "json': expected 32 hexadecimal digits at recording.StaticHash"),
    (having("StaticHash", "0" * 32), "json': has the name of another kernel"),
    (having("KernelName", 7), "json': expected string at recording.KernelName"),
    (having("Modules", []), "json': expected a module at recording.Modules"),
    (having("Modules", ["../../passwd"]), "json': expected name of a file in the recording's folder at recording.Modules"),
    (having("Args", [{}]), "json': missing key at recording.Args"),
    (having("VASize", -1), "json': expected uint64_t at recording.VASize"),
    (having("VASize", 4096), "arena of .* is not the recording's"),
    (having("instances", []), "json': expected object at recording.instances"),
    (launch(lambda i: i.update(Prologue="/etc/passwd")), "json': expected name of a file in the recording's folder at .*Prologue"),
    (launch(lambda i: i.update(Epilogue=i["Prologue"])), "prologue in the place of an epilogue"),
    (launch(lambda i: i.update(GridDims={"x": 0, "y": 1, "z": 1})), "json': expected dimensions from 1 up at .*GridDims"),
    (launch(lambda i: i.update(BlockDims={"x": 1 << 40, "y": 1, "z": 1})), "json': expected integer of 32 bits at .*BlockDims.x"),
    (launch(lambda i: i.pop("BlockDims")), "json': missing key at .*BlockDims"),
    (launch(lambda i: i.update(SharedMem="all")), "json': expected uint64_t at .*SharedMem"),
    (kernel(lambda k: k["instances"].update(x=k["instances"].popitem()[1])), "json': expected 16 hexadecimal digits as its key"),
    (kernel(lambda k: k["instances"].update({"0" * 16: k["instances"].popitem()[1]})), "belongs to instance .*, not 0000000000000000"),
    (move("*.json", "0" * 32 + ".json"), "has the name of another kernel"),
]
keys = ["FormatVersion", "KernelName", "StaticHash", "Modules", "VASize", "VAddr", "Args", "instances"]
recordings += [(without(key), "json': .*" + key) for key in keys]


def state(folder):
    found = {}
    for directory, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(directory, name)
            found[path] = os.path.isfile(path) and open(path, "rb").read()
    return found


def run(*arguments):
    done = subprocess.run([tool, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode(errors="replace")


def refuse(case, expected, *arguments):
    code, said = run(*arguments)
    errors = [line for line in said.splitlines() if not line.startswith("llvm-mneme-record: warning: ")]
    if (code != 1 or not errors or not re.search(expected, said)
            or not all(line.startswith("llvm-mneme-record: error: ") for line in errors)):
        sys.exit("%s: %s: exit code %d, expected '%s', got: %s"
                 % (case, " ".join(arguments), code, expected, said))
    # What is wrong with a file that many need is said once.
    assert len(set(errors)) == len(errors), said


folder, target = os.path.join(scratch, "bad"), os.path.join(scratch, "target")
for number, (damage, expected) in enumerate(recordings):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(recording, folder)
    damage(folder)
    before = state(folder)
    case = "recording %d" % number
    refuse(case, expected, "check", folder)
    assert state(folder) == before, case
    # What is damaged is neither handed on nor taken for nothing.
    if number % 4:
        continue
    code, said = run("move", folder, target)
    assert code == 1 and "error: " in said, case + said
    assert state(folder) == before, case
    for name in glob.glob(os.path.join(target, "*.json")):
        code, said = run("check", name)
        assert code == 0, case + said
    shutil.rmtree(target, ignore_errors=True)

# The section that an application carries (PayloadFormat.h).
with open(application, "rb") as file:
    whole = file.read()
payload = whole.index(b"MNEMEPL1")


def patched(position, new):
    return whole[: payload + position] + new + whole[payload + position + len(new) :]


applications = [
    (b"", "neither an ELF file nor an archive"),
    (b"#!/bin/sh\n", "neither an ELF file nor an archive"),
    (whole[:3], "neither an ELF file nor an archive"),
    (whole[:100], "holds no device code; compile with -fpass-plugin=MnemePass.so"),
    (whole[: payload + 20], "holds no device code; compile with -fpass-plugin=MnemePass.so"),
    (whole[: len(whole) // 2], "holds no device code; compile with -fpass-plugin=MnemePass.so"),
    (patched(0, b"N"), "no payload where one must begin"),
    (patched(7, b"2"), "format MNEMEPL2, this tool reads MNEMEPL1"),
    (patched(8, b"\x01"), "header claims 1 bytes"),
    (patched(8, b"\xff\xff\xff\xff"), "header claims 4294967295 bytes"),
    (patched(16, b"\xff" * 8), "it claims 18446744073709551615 bytes"),
    (patched(16, bytes(8)), "it claims 0 bytes"),
    (patched(24, b"\xff" * 7), "claims .* bytes of bitcode"),
    (patched(32, b"\xff" * 8), "bitcode lies outside"),
    (patched(40, b"\xff" * 8), "bitcode lies outside"),
    (patched(48, bytes(16)), "digest of its bitcode does not match"),
    (patched(64, b"\xff" * 4), "triple lies outside"),
    (patched(68, b"\xff" * 4), "architecture lies outside"),
    (patched(80, b"\xff" * 4), "table of kernels lies outside"),
    (patched(84, b"\xff" * 4), "table of kernels lies outside"),
]
path = os.path.join(scratch, "app")
for number, (contents, expected) in enumerate(applications):
    open(path, "wb").write(contents)
    refuse("application %d" % number, expected, "list-kernels", "--static-hash", path)

# Places where recordings cannot be, or are not.
plain = os.path.join(scratch, "plain")
open(plain, "w").close()
places = [
    (["list", plain], "plain': truncated: the file is empty"),
    (["show", os.path.join(plain, "in")], "[Nn]ot a directory"),
    (["check", os.path.join(scratch, "nowhere")], "nowhere': [Nn]o such file"),
    (["check", "/dev/null"], "null': [Nn]ot a directory"),
    (["list", ""], "'': [Nn]o such file"),
    (["copy", recording, plain], "plain': [Nn]ot a directory"),
    (["copy", recording, os.path.join(plain, "in")], "[Nn]ot a directory"),
    (["copy", recording, os.path.join(recording, "..", os.path.basename(recording))], "is both source and destination"),
    (["copy", recording, "/dev/full"], "full': [Nn]ot a directory"),
    (["export", "-o", scratch, recording], "[Ii]s a directory"),
    (["export", "-o", "", recording], "'': [Nn]o such file"),
    (["import", recording, target], "[Ii]s a directory"),
    (["import", application, target], "archive"),
    (["prune", plain], "plain': [Nn]ot a directory"),
    (["-o", plain, "--device=host", "--", application], "plain': [Nn]ot a directory"),
    (["-o", os.path.join(plain, "in"), "--device=host", "--", application], "in': [Nn]ot a directory"),
    (["-o", target, "--device=host", "--", scratch], "[Ii]s a directory"),
    (["-o", target, "--device=host", "--", os.path.join(scratch, "nowhere")], "nowhere': [Nn]o such file"),
    (["-o", target, "--device=host", "--", "/bin/true"], "true': holds no recordable kernels: build it with"),
]
before = state(recording)
for arguments, expected in places:
    refuse("place", expected, *arguments)
    assert not os.path.exists(target), arguments
assert state(recording) == before
print(len(recordings) + len(applications) + len(places), "cases")
