"""Prints how many sources of a report of the JIT were compiled, by kind, language and origin: sources.py FILE"""

import collections
import json
import sys

sources = json.load(open(sys.argv[1]))["sources"]
counts = collections.Counter("%s %s %s" % (s["kind"], s["language"], s["origin"]) for s in sources)
for what, count in sorted(counts.items()):
    print("%s: %d" % (what, count))
