import collections, json, sys

trials = json.loads(list(open(sys.argv[1]))[-1])["inner"]
kinds = collections.defaultdict(list)
for trial in trials:
    values = trial["values"]
    kinds[trial.get("failure")].append((values.get("block.x"), values.get("block.y")))
print("verified in the recorded shape:", set(kinds[None]) <= {(None, None), (16, 16)} and len(kinds[None]) > 0)
print("crashed: 8 to 11", 8 <= len(set(kinds["Crash"])) <= 11)
print("not launched:", len(kinds["Invalid"]) > 0)
