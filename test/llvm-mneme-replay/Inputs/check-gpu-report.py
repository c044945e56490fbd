"""Checks what FileCheck cannot in the report of a replay on a GPU."""
import json
import sys

report = json.load(open(sys.argv[1]))
result = report["Result"]
times, measured = result["times"], result["measurement"]
# No second is in two figures, and nothing that takes long is in none.
inside = sum(times.values()) - times["parse"] - times["read"]
total = result["end_time"] - result["start_time"]
assert total - 0.25 <= inside <= total + 0.01, (inside, total, times)
assert times["assemble"] > 0 and times["codegen"] > 0 and times["gpu_codegen"] == 0
assert result["codegen_time"] == times["codegen"] + times["assemble"]

samples = result["exec_time"]
assert 7 <= len(samples) == measured["samples"] <= 200
assert all(t > 0 for t in samples)
low, high = measured["interval"]
assert min(samples) == measured["min"] <= low <= measured["median"] <= high
assert max(samples) == measured["max"] >= high
if measured["stopped_by"] == "precision":
    assert high - low < 0.005 * measured["median"]
else:
    assert measured["stopped_by"] in ("samples", "time")
assert measured["warmup_launches"] >= 2
assert len(measured["clocks"]) >= 2
