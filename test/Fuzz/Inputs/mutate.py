"""mutate.py PAYLOAD FATBIN CUBIN UNIT LIBRARY EXPORT OLD RECORDING CORPUS: files of a
recording, an application's fat binary, a cubin, an object file and a library with
payloads, exported recordings and one without digests, cut off and changed.

PAYLOAD and FATBIN are what llvm-readelf -x printed of an executable's sections.
"""
import pathlib
import random
import re
import sys

payload, fatbin, cubin, unit, library, export, old, recording, corpus = map(
    pathlib.Path, sys.argv[1:]
)
corpus.mkdir()


def first(pattern):
    return sorted(recording.glob(pattern))[0].read_bytes()


def section(dump):
    words = re.findall(r"^0x[0-9a-f]{8,16}((?: [0-9a-f]{2,8}){1,4})", dump.read_text(), re.M)
    return bytes.fromhex("".join(words).replace(" ", ""))


seeds = {
    "json": first("*.json"),
    "prologue": first("DeviceState.prologue.*"),
    "epilogue": first("DeviceState.epilogue.*"),
    "pages": first("Pages.*"),
    "both": first("Pages.*") + b"MNEMEALL" + first("DeviceState.prologue.*"),
    "payload": section(payload),
    "fatbin": section(fatbin),
    "cubin": cubin.read_bytes(),
    "object": unit.read_bytes(),
    "library": library.read_bytes(),
    "export": export.read_bytes(),
    "old": old.read_bytes(),
}
assert seeds["payload"].startswith(b"MNEMEPL1")
assert seeds["fatbin"].startswith(b"\x50\xed\x55\xba")
generator = random.Random(1)
for name, seed in seeds.items():
    (corpus / (name + "-whole")).write_bytes(seed)
    for i in range(50):
        # Headers come first, and most can go wrong there.
        at = generator.randrange(min(len(seed), 400) if i % 2 else len(seed))
        if name in ("pages", "both", "object") and i % 4 == 0:
            at = len(seed) - 1 - generator.randrange(min(len(seed), 400))
        value = generator.choice([0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)])
        end = at + generator.choice([1, 2, 4, 8])
        (corpus / f"{name}-cut-{i}").write_bytes(seed[:at])
        flipped = seed[:at] + bytes([value]) * (end - at) + seed[end:]
        (corpus / f"{name}-flip-{i}").write_bytes(flipped)
        swapped = seed[:at] + seed[end : end + 64] + seed[at:end] + seed[end + 64 :]
        (corpus / f"{name}-swap-{i}").write_bytes(swapped)
