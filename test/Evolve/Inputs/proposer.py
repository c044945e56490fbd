"""Proposes versions of matmul.cu: one that does not compile, a wrong one, an answer that is no version, and the fast one."""
import json
import sys

hello = json.loads(sys.stdin.readline())
assert hello["mneme_proposer"] == 1 and "matmul" in hello["kernel"], hello
assert hello["facts"] == {"block_threads": 256, "arguments": [None, None, None, "128"]}, hello["facts"]
answers = [
    {"text": hello["start"].replace("Sum = 0;", "Sum = nothing;"), "cost": 0.5},
    {"edits": [{"search": "C[Row * N + Col] = Sum", "replace": "C[Row * N + Col] = 2 * Sum"}]},
    {"edits": [{"search": "not there", "replace": ""}]},
    {"diff": "Faster:\n<<<<<<< SEARCH\n  constexpr int Rounds = 8;\n=======\n  constexpr int Rounds = 1;\n>>>>>>> REPLACE\n",
     "description": "one round"},
    {"done": True},
]
for answer in answers:
    line = json.loads(sys.stdin.readline())
    if "error" in line:
        print("proposer: told " + line["error"], file=sys.stderr)
    else:
        judgement = line["parent"]["judgement"]
        assert judgement["failure"] is None and line["inspirations"], line
        print("proposer: asked %d" % line["ask"], file=sys.stderr)
    print(json.dumps(answer), flush=True)
