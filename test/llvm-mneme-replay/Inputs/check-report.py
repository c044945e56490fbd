"""Checks what FileCheck cannot: types, sums and that the report parses."""
import json
import sys

report = json.load(open(sys.argv[1]))
assert set(report) == {"Replay-config", "Result"}, set(report)
config, result = report["Replay-config"], report["Result"]
assert len(result["exec_time"]) == config["iterations"] == 5
assert all(isinstance(t, int) and t > 0 for t in result["exec_time"])
assert config["warmup"] == 2
times = result["times"]
steps = """front_end open parse read specialize optimize codegen assemble gpu_codegen prepare load
           restore run compare baseline"""
assert set(times) == set(steps.split()), set(times)
assert all(t >= 0 for t in times.values())
assert times["run"] > 0 and times["optimize"] > 0 and times["codegen"] > 0
assert result["opt_time"] == times["optimize"]
# No second is in two figures, and nothing that takes long is in none.
inside = sum(times.values()) - times["parse"] - times["read"]
total = result["end_time"] - result["start_time"]
assert total - 0.25 <= inside <= total + 0.01, (inside, total, times)
measured = result["measurement"]
assert measured["samples"] == 5 and measured["warmup_launches"] == 2
assert measured["timer"] == "host" and measured["cache"] == "warm"
low, high = measured["interval"]
assert min(result["exec_time"]) == measured["min"] <= low <= measured["median"] <= high
