"""damage-payload.py PROGRAM SCRATCH COMMAND...: patches headers of the payload in copies of PROGRAM
(PayloadFormat.h) and runs them by COMMAND. The program must end by itself, and say that there was a
launch. The exit code is 0, or 1 if it did not get its kernels."""
import os
import struct
import subprocess
import sys

program, scratch, command = sys.argv[1], sys.argv[2], sys.argv[3:]
whole = open(program, "rb").read()
payload = whole.index(b"MNEMEPL1")
path = os.path.join(scratch, "damaged")
TotalSize, ZSTD = 16, 1
count = 0


def run(patches):
    global count
    data = bytearray(whole)
    for at, new in patches:
        data[payload + at : payload + at + len(new)] = new
    open(path, "wb").write(data)
    os.chmod(path, 0o755)
    done = subprocess.run(command + [path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    if done.returncode != ("ran without some of its kernels" in done.stdout) or "launch" not in done.stdout:
        sys.exit("%s: exit code %d: %s" % (patches, done.returncode, done.stdout))
    count += 1


# Sizes beyond the payload, its section, its segment, the file, the address space.
for shift in range(64):
    run([(TotalSize, struct.pack("<Q", 1 << shift))])
for size in [0, 2**64 - 1, 2**63 - 8]:
    run([(TotalSize, struct.pack("<Q", size))])
# All other fields of 4 and 8 bytes.
for at in range(8, 88, 4):
    for value in [0, 1, 0x7FFFFFF8, 0xFFFFFFFF]:
        run([(at, struct.pack("<I", value))])
# The bitcode itself: behind the strings and tables of a small payload.
size = struct.unpack_from("<Q", whole, payload + TotalSize)[0]
for at in range(88, size, max(size // 40, 1)):
    run([(at, bytes([whole[payload + at] ^ 0x20]))])
print(count, "programs")
