"""Replays with so many subsets of all pass executions, each of them without a half at random."""

import json
import random
import subprocess
import sys

count, command = int(sys.argv[1]), sys.argv[2:]
listing = json.loads(subprocess.check_output([command[0], "list-passes", *command[1:], "--format=json"]))["listing"]
numbers = [e["number"] for e in listing["executions"] if e["number"]]
random.seed(1)
for _ in range(count):
    skipped = ",".join(str(n) for n in numbers if random.random() < 0.5)
    done = subprocess.run(command + ["--skip-passes=" + skipped], stdout=subprocess.PIPE)
    print(json.loads(done.stdout)["Result"]["verdict"], "without", skipped)
