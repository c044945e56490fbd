"""Usage: all-kernels.py APPLICATION.JSON: checks the file of --all-kernels."""
import json
import sys

application = json.load(open(sys.argv[1]))
assert application["format"] == "mneme-application"
kernels = application["kernels"]
others = application["unrecorded_ns"]
total = sum(k["time_ns"] for k in kernels) + others
assert others >= 0
for k in kernels:
    assert abs(k["share"] - k["time_ns"] / total) < 1e-6
assert [k["share"] for k in kernels] == sorted((k["share"] for k in kernels), reverse=True)
after = others + sum(k["time_ns"] / (k["speedup"]["value"] if k["packaged"] else 1) for k in kernels)
assert abs(total / after - application["speedup"]["value"]) < 1e-6
assert application["proof"]["equal"] and application["proof"]["served"] == 4
