"""refusals.py TABLE FOLDER RECORD CC APP OBJECT LIBRARY: runs each row of the table, which
must fail with one error, without starting the application or touching the recordings
that are there."""
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys

table, folder, record, cc, app, object_, library = sys.argv[1:]
good = open(app, "rb").read()


def sections(elf):
    """name -> (offset of its header, offset, size) of a 64-bit ELF file."""
    shoff, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, shoff + i * size) for i in range(count)]
    strings = headers[names][4]
    return {elf[strings + h[0]:elf.index(b"\0", strings + h[0])].decode(): (shoff + i * size, h[4], h[5])
            for i, h in enumerate(headers)}


payload_header, payload, payload_size = sections(good)["mneme_payload"]
bitcode, = struct.unpack_from("<Q", good, payload + 40)
kernels, = struct.unpack_from("<I", good, payload + 84)
arguments, = struct.unpack_from("<I", good, payload + kernels + 8)

# name: (place, struct format, value)
HUGE = 1 << 30
patches = {
    "elf32": (4, "B", 1), "bigend": (5, "B", 2), "aarch64": (18, "H", 183), "core": (16, "H", 4),
    "noheaders": (32, "Q", 1 << 60),
    "magic2": (payload, "8s", b"MNEMEPL2"), "magic": (payload, "8s", b"whatever"),
    "section": (payload_header + 32, "Q", payload_size - 8), "tiny": (payload_header + 32, "Q", 12),
    "header": (payload + 8, "I", 8), "headers": (payload + 8, "I", HUGE),
    "flags": (payload + 12, "I", 0x1001),
    "size0": (payload + 16, "Q", 0), "size1": (payload + 16, "Q", payload_size + 1),
    "bitcodesize": (payload + 24, "Q", 1 << 40),
    "bitcodesize1": (payload + 24, "Q", struct.unpack_from("<Q", good, payload + 24)[0] - 1),
    "stored": (payload + 32, "Q", HUGE), "bitcode": (payload + 40, "Q", (1 << 64) - 8),
    "hash": (payload + 48, "B", good[payload + 48] ^ 1),
    "triple": (payload + 64, "I", HUGE), "arch": (payload + 68, "I", HUGE), "source": (payload + 72, "I", 3),
    "level": (payload + 76, "I", ord("9")), "kernels": (payload + 80, "I", HUGE), "table": (payload + 84, "I", HUGE),
    "name": (payload + kernels, "I", HUGE), "args": (payload + kernels + 4, "I", HUGE),
    "kind": (payload + arguments + 8, "I", 9),
    "contents": (payload + bitcode + 100, "B", good[payload + bitcode + 100] ^ 255),
}


def write(name, contents):
    path = os.path.join(folder, name)
    open(path, "wb").write(contents)
    os.chmod(path, 0o755)


for name, (place, form, value) in patches.items():
    changed = bytearray(good)
    struct.pack_into("<" + form, changed, place, value)
    write(name, changed)
write("good", good)
write("words", b"words\n")
write("empty", b"")
write("script", b"#!/no/such/shell\n")
write("begin", good[:20])
write("half", good[:len(good) // 2])
write("object", open(object_, "rb").read())
write("library.so", open(library, "rb").read())
write("text", b"text\n")
os.chmod(os.path.join(folder, "text"), 0o644)
write("unreadable", good)
os.chmod(os.path.join(folder, "unreadable"), 0o311)
os.mkdir(os.path.join(folder, "locked"), 0o555)
os.symlink("/no/such/folder", os.path.join(folder, "nowhere"))
open(os.path.join(folder, "plain.c"), "w").write("int main() { return 0; }\n")
for name, flags in ("plain", []), ("static", ["-static"]):
    subprocess.check_call([*cc.split(), os.path.join(folder, "plain.c"), "-o", os.path.join(folder, name), *flags])


def digest(path):
    return {file: hashlib.sha256(open(os.path.join(path, file), "rb").read()).digest()
            for file in sorted(os.listdir(path))}


recordings = os.path.join(folder, "recordings")
subprocess.check_call([record, "--device=host", "--quiet", "-o", recordings, "--", os.path.join(folder, "good")],
                      stdout=subprocess.DEVNULL)
before = digest(recordings)
assert len(before) >= 4, before


nobody = {"user": 65534} if os.geteuid() == 0 else {}


def has_nobody():
    """Whether another user than root can run the tool at all."""
    try:
        return subprocess.run([record, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              **nobody).returncode == 0
    except OSError:
        return False


def check(options, application, expected, user):
    """What is wrong with how a row is refused."""
    options = options.replace("%F", folder).split()
    if not any(o.startswith("-o") for o in options):
        options += ["-o", recordings]
    if not any(o.startswith("--device") for o in options):
        options += ["--device=host"]
    command = [record, *options, "--"] + ([os.path.join(folder, application)] if application else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **user)
    said = done.stderr.decode(errors="replace")
    lines = [line for line in said.splitlines() if ": warning: " not in line]
    pattern = "".join(part[2:-2] if part.startswith("{{") else re.escape(part)
                      for part in re.split(r"(\{\{.*?\}\})", expected.replace("%F", folder)))
    if done.returncode != 1:
        return f"exit code {done.returncode}: {said}"
    if done.stdout:
        return f"the application ran: {done.stdout}"
    # LLVM's own errors of the command line begin with the tool's name alone.
    if not re.search(pattern, lines[0]) or not lines[0].startswith("llvm-mneme-record: "):
        return f"expected '{expected}', got: {said}"
    if [line for line in lines[1:] if not line.startswith("llvm-mneme-record: Did you mean")]:
        return f"more than one error: {said}"
    if digest(recordings) != before:
        return "the recordings have changed"
    return ""


rows = wrong = 0
for line in open(table):
    if line.startswith("#") or not line.strip():
        continue
    name, options, application, expected = [part.strip() for part in line.split("|")]
    rows += 1
    if name.startswith("nobody: ") and not has_nobody():
        print(f"{name}: not to be tested here")
        continue
    problem = check(options, application, expected, nobody if name.startswith("nobody: ") else {})
    if problem:
        print(f"{name}: {problem}")
        wrong += 1
print(f"{rows} refusals, {wrong} wrong")
sys.exit(wrong > 0)
