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
steps = "parse read specialize optimize codegen gpu_codegen prepare load restore run compare"
assert set(times) == set(steps.split()), set(times)
assert all(t >= 0 for t in times.values())
assert times["run"] > 0 and times["optimize"] > 0 and times["codegen"] > 0
assert result["opt_time"] == times["optimize"]
inside = sum(times.values()) - times["parse"] - times["read"]
assert inside <= result["end_time"] - result["start_time"] + 0.01
