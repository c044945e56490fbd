"""What faults cost: resources of each replay's report beside those of none.json."""

import json
import os
import sys


def resources(name):
    with open(os.path.join(sys.argv[1], name + ".json")) as file:
        return json.load(file)["Result"]["resources"]


none = resources("none")
for name in ("registers", "spills", "size", "slow"):
    found = resources(name)
    more = "more" if found["registers"] >= none["registers"] + 32 else "about as many"
    spills = "spills" if found["spill_stores"] > 0 else "no spills"
    code = "more" if found["code_size"] >= 2 * none["code_size"] else "about as much"
    print("%s: %s registers, %s, %s code" % (name, more, spills, code))
