"""check-reduced.py JSON: fails unless what reduce printed is small."""
import json
import sys

report = json.load(open(sys.argv[1]))
before, after = report["before"], report["after"]
assert report["difference"]["difference"] == "present", report
assert before["instructions"] > 30 and before["functions"] >= 2, before
assert 0 < after["kernel_instructions"] < 20, after
assert after["instructions"] < 20, after
assert before["grid"] == [4, 1, 1] and before["block"] == [16, 1, 1], before
assert after["grid"] == [1, 1, 1] and after["block"] == [1, 1, 1], after
assert before["buffers"] == 3 and before["buffer_bytes"] > 1 << 20, before
assert after["buffers"] == 1 and after["buffer_bytes"] <= 4096, after
assert after["stored_bytes"] <= 4096 < before["stored_bytes"], report
assert report["tests"] > 0, report
