"""Proposes one version of matmul.cu: a change that makes it fast, and one that does nothing."""
import json
import sys

start = json.loads(sys.stdin.readline())["start"]
asked = 0
for line in sys.stdin:
    asked += 1
    if asked > 1:
        print(json.dumps({"done": True}), flush=True)
        continue
    text = start.replace("Rounds = 8", "Rounds = 1").replace("  C[Row", "  const int Unused = N;\n  (void)Unused;\n  C[Row")
    print(json.dumps({"text": text}), flush=True)
