"""kinds.py LOG: prints the kinds of a journal's trials, in their order."""
import json
import sys

kinds = []
for line in open(sys.argv[1]):
    op = json.loads(line)
    kind = op.get("user_attrs", op.get("user_attr", {})).get("kind")
    if kind:
        kinds.append(kind)
print(*kinds)
