"""mutate.py PAYLOAD RECORDING CORPUS: files of a recording, cut off and changed.

PAYLOAD is what llvm-readelf -x printed of an executable's section.
"""
import pathlib
import random
import re
import sys

dump, recording, corpus = map(pathlib.Path, sys.argv[1:])
corpus.mkdir()


def first(pattern):
    return sorted(recording.glob(pattern))[0].read_bytes()


words = re.findall(r"^0x[0-9a-f]{8,16}((?: [0-9a-f]{2,8}){1,4})", dump.read_text(), re.M)
seeds = {
    "json": first("*.json"),
    "prologue": first("DeviceState.prologue.*"),
    "epilogue": first("DeviceState.epilogue.*"),
    "payload": bytes.fromhex("".join(words).replace(" ", "")),
}
assert seeds["payload"].startswith(b"MNEMEPL1")
generator = random.Random(1)
for name, seed in seeds.items():
    (corpus / (name + "-whole")).write_bytes(seed)
    for i in range(50):
        # Headers come first, and most can go wrong there.
        at = generator.randrange(min(len(seed), 400) if i % 2 else len(seed))
        value = generator.choice([0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)])
        end = at + generator.choice([1, 2, 4, 8])
        (corpus / f"{name}-cut-{i}").write_bytes(seed[:at])
        flipped = seed[:at] + bytes([value]) * (end - at) + seed[end:]
        (corpus / f"{name}-flip-{i}").write_bytes(flipped)
        swapped = seed[:at] + seed[end : end + 64] + seed[at:end] + seed[end + 64 :]
        (corpus / f"{name}-swap-{i}").write_bytes(swapped)
