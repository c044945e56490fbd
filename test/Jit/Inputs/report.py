"""Prints what a report of the JIT says: report.py FILE [SYMBOL]

In all, or of the kernel or function whose demangled name begins with SYMBOL."""

import json
import sys

report = json.load(open(sys.argv[1]))
if len(sys.argv) == 2:
    keys = ("served", "fell_back", "compiled", "from_cache", "shared")
    print(" ".join("%s=%d" % (key, report[key]) for key in keys))
    sys.exit()
for code in report["code"]:
    if not code["name"].startswith(sys.argv[2]):
        continue
    print(code["kind"], code["name"])
    for reason, times in sorted(code["reasons"].items()):
        print("  %d ran as compiled: %s" % (times, reason))
    for field in code["not_constant"]:
        print("  argument %d is not a constant: %s" % (field["arg"], field["reason"]))
    for variant in code["variants"]:
        print("  %s: %d served" % (variant["constants"], variant["served"]))
        if "message" in variant:
            print("    %s: %s" % (variant["problem"], variant["message"]))
