"""best.py REPLAY BEST GPU [RECORDINGS]: writes the best.json of a study that measured what a replay ran.

GPU is "host" for the host device. With the folder RECORDINGS, it has the launch that was recorded."""
import json
import os
import sys

report = json.load(open(sys.argv[1]))
config, result = report["Replay-config"], report["Result"]
assert result["verified"], result["error"]
best = {
    "format": "mneme-best",
    "version": 1,
    "kernel": config["kernel"],
    "static_hash": config["static_hash"],
    "record_ids": [config["record_id"]],
    "config": config["config"],
    "trial": 0,
    "expected": {"speedup": {"value": 2, "low": 1.9, "high": 2.1}},
    "code_hash": result["code_hash"],
    "gpu": None if sys.argv[3] == "host" else sys.argv[3],
    "exact": True,
}
if len(sys.argv) > 4:
    kernel = json.load(open(os.path.join(sys.argv[4], config["static_hash"] + ".json")))
    launch = kernel["instances"][config["record_id"]]
    best["arch"], best["opt_level"] = kernel["Arch"], kernel["OptLevel"]
    best["launches"] = [{"record_id": config["record_id"], "grid": launch["GridDims"],
                         "block": launch["BlockDims"], "shared_mem": launch["SharedMem"]}]
json.dump(best, open(sys.argv[2], "w"))
