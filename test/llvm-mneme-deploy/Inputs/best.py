"""best.py REPLAY BEST GPU: writes the best.json of a study that measured what a replay ran."""
import json
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
    "gpu": sys.argv[3],
    "exact": True,
}
json.dump(best, open(sys.argv[2], "w"))
