"""own-winner.py BEST REPLAY: adds the winner of a single launch, which a replay ran, to a best.json
of the host device."""
import json
import sys

best = json.load(open(sys.argv[1]))
report = json.load(open(sys.argv[2]))
config = report["Replay-config"]
best["gpu"] = None
best["record_ids"].append(config["record_id"])
best["instance_configs"] = [
    {"record_id": id, "config": best["config"], "code_hash": best["code_hash"]} for id in best["record_ids"]
]
best["instance_winners"] = [
    {
        "record_id": config["record_id"],
        "config": config["config"],
        "trial": 1,
        "speedup": best["expected"]["speedup"],
        "code_hash": report["Result"]["code_hash"],
    }
]
json.dump(best, open(sys.argv[1], "w"))
