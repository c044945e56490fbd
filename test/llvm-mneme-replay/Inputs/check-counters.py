# check-counters.py REPORT COUNTERS.DEF: --counters=all has all counters of the table
import json
import re
import sys

with open(sys.argv[1]) as file:
    counters = json.load(file)["Result"]["counters"]
with open(sys.argv[2]) as file:
    names = re.findall(r'^COUNTER\("(\w+)"', file.read(), re.M)
assert len(names) == 33, names
# The emulated kernel has no stores.
assert set(counters["values"]) == set(names) - {"store_sectors"}, counters
assert abs(counters["values"]["energy"] - 2) < 1e-6, counters
assert counters["passes"] == 8 and counters["problem"] is None, counters
