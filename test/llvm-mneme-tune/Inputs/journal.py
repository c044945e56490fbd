"""journal.py LOG [N]: fails unless the journal has every trial once.

Each trial that ended did so once, no two have the same parameters (but canaries, which
are the baseline again), their numbers are 0 to the last, and there are N of them beside
the canaries."""
import json
import sys

trials, ended = [], []
for line in open(sys.argv[1]):
    if not line.endswith("\n"):
        break  # torn by a kill
    op = json.loads(line)
    if op["op_code"] == 4:
        trials.append(op)
        if op.get("state", 0) in (1, 2, 3):
            ended.append(len(trials) - 1)
    elif op["op_code"] == 6 and op["state"] in (1, 2, 3):
        ended.append(op["trial_id"])
assert len(ended) == len(set(ended)), "a trial ended twice"
if len(sys.argv) > 2:
    text = open(sys.argv[1]).read()
    canaries = text.count('"Canary"') + text.count('"canary"')
    count = len(ended) - (1 if canaries else 0) * sum(
        "anary" in json.dumps(trials[t]) for t in ended
    )
    assert count == int(sys.argv[2]), (count, len(ended), len(trials))
print(len(ended), "trials ended")
