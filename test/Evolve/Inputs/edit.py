"""edit.py FROM TO [FILE]: edits a text, or proposes one version with this edit. FROM may begin in any line."""
import json
import sys

old, new = sys.argv[1:3]


def edit(text):
    assert text.count(old) == 1, text
    return text.replace(old, new)


if len(sys.argv) > 3:
    print(edit(open(sys.argv[3]).read()), end="")
    sys.exit()
start = json.loads(sys.stdin.readline())["start"]
for number, line in enumerate(sys.stdin):
    print(json.dumps({"done": True} if number else {"text": edit(start)}), flush=True)
