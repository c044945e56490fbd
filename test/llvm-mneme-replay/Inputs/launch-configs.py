"""Usage: launch-configs.py RECORDING BEST [KEY [VALUE]]

Writes the best.json of a study of the recording of lengths.cu, and the record id of its
longer launch to the file "long". KEY of the last launch's configuration gets VALUE; without
VALUE, the launch loses KEY.
"""
import glob
import json
import sys

kernel = json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))


def launch(item):
    record_id, instance = item
    blocks = instance["GridDims"]["x"] // 32 + 1
    return {"record_id": record_id, "config": {"passes": "default<O1>", "block.x": 32, "grid.x": blocks}}


short, long = [launch(i) for i in sorted(kernel["instances"].items(), key=lambda i: i[1]["GridDims"]["x"])]
open("long", "w").write(long["record_id"])
best = {
    "format": "mneme-best",
    "version": 1,
    "static_hash": kernel["StaticHash"],
    "record_id": short["record_id"],
    "config": dict(short["config"]),
    "instance_configs": [short, long],
}
if len(sys.argv) == 4:
    del long[sys.argv[3]]
elif len(sys.argv) > 4:
    value = sys.argv[4]
    long["config"][sys.argv[3]] = float(value) if value[0].isdigit() else value
json.dump(best, open(sys.argv[2], "w"), indent=1)
