"""What a bisection's JSON report says is responsible, a line each."""

import json
import sys

with open(sys.argv[1]) as file:
    report = json.load(file)
assert all(c["shows"] for c in report["commands"]), report["commands"]
for c in report["passes"]["culprits"]:
    print("%(pass)s on %(unit)s, function %(function)s, heals alone: %(heals_alone)s" % c)
