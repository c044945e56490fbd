"""launch-messages.py CORPUS: inputs of mneme-launch-fuzzer, which says what they are: messages
as they should be (include/llvm/Mneme/Runtime/Wire.h), cut off and changed."""
import pathlib
import random
import struct
import sys

corpus = pathlib.Path(sys.argv[1])
corpus.mkdir()
MAGIC = 0x314D4E4D
HELLO, MODULE, INITIALIZE, KERNEL, RECORDED, SUMMARY, WITHDRAW = range(1, 8)


def u32(*values):
    return b"".join(struct.pack("<I", value) for value in values)


def u64(*values):
    return b"".join(struct.pack("<Q", value) for value in values)


def string(value):
    return u64(len(value)) + value


def message(kind, body):
    return u32(MAGIC, kind) + u64(len(body)) + body


zeros = bytes(16)
hash = string(zeros)
hello = u32(7, 1) + string(b"host") + string(b"RANK") + u64(1 << 40, 1 << 20) + u32(1) + string(b"f") + u64(4096)
name = b"DeviceState.%s." + b"0" * 32 + b"." + b"0" * 16 + b".mneme.1.2"
recorded = hash + u64(0) + u32(1, 1, 1, 1, 1, 1) + u64(0) + u32(0)
recorded += string(name % b"prologue") + string(name % b"epilogue") + u32(1, 1) + u64(4096, 4096, 1, 2)
recorded += u32(1) + string(b"v") + u64(4096, 4) + 4 * string(b"GPU") + u64(0, 0) + u32(1) + hash
bodies = {
    HELLO: hello,
    MODULE: hash + u32(1) + string(b"MNEMEPL1" + bytes(200)),
    INITIALIZE: hash + u32(0, 1) + string(b"v") + u64(4096),
    KERNEL: hash + u32(0) + hash + string(b"kernel") + u32(1),
    RECORDED: recorded,
    SUMMARY: u64(3, 2, 1) + u32(1) + hash + string(b"kernel") + u64(7, 8) + u32(1) + string(b"why") + u64(1, 9, 2),
    WITHDRAW: hash + u64(0),
}
facts = hash + u32(1, 8, 0, 1) + u32(1) + string(b"v") + string(b"") + u32(1) + u64(5)
answers = {
    HELLO: string(b"") + string(b"/staging") + string(b"/database"),
    MODULE: string(b"") + u32(1) + string(b"v") + u64(4, 4) + u32(0),
    KERNEL: string(b"") + facts,
    RECORDED: string(b"") + u32(1),
    WITHDRAW: string(b"there is no such launch to withdraw"),
}
seeds = {"stream": b"r" + b"".join(message(k, b) for k, b in bodies.items())}
pieces = b"".join(bytes([k]) + struct.pack("<H", len(b)) + b for k, b in bodies.items())
seeds["messages"] = b"m" + pieces + pieces
for kind, body in answers.items():
    seeds["answer-%d" % kind] = b"a" + bytes([kind]) + 2 * message(kind, body)

generator = random.Random(1)
for key, seed in seeds.items():
    (corpus / (key + "-whole")).write_bytes(seed)
    for i in range(60 if len(seed) > 200 else 20):
        at = 1 + generator.randrange(len(seed) - 1)
        value = generator.choice([0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)])
        end = at + generator.choice([1, 2, 4, 8])
        (corpus / f"{key}-cut-{i}").write_bytes(seed[:at])
        (corpus / f"{key}-flip-{i}").write_bytes(seed[:at] + bytes([value]) * (end - at) + seed[end:])
