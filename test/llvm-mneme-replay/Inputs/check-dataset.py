"""Reads what --dataset wrote: each line is one whole sample."""

import json
import sys

samples = [json.loads(line) for line in open(sys.argv[1])]
print(len(samples), "samples")
keys = {frozenset(s) for s in samples}
assert len(keys) == 1, keys
first, _, last = samples
print(first["passes"], first["verdict"])
assert first["ir_hash"] and first["code_hash"] and first["assembly_hash"]
assert first["resources"]["registers"] > 0
assert first["features"]["recorded"]["opcodes"]["alloca"] > 0
assert "alloca" not in first["features"]["optimized"]["opcodes"]
assert last["config"]["llvm.unroll-threshold"] == "9"
blocks = [
    last["features"][stage]["function"]["BasicBlockCount"]
    for stage in ("recorded", "optimized")
]
print(
    last["passes"],
    last["verdict"],
    len(last["exec_time"]),
    "times, fewer blocks or as many:",
    blocks[0] >= blocks[1] > 0,
)
