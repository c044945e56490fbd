import json
import os
import sys

import llvm_mneme as mneme

folder = sys.argv[2]
recording = mneme.open(sys.argv[1])
path = os.path.join(folder, "d.jsonl")
with mneme.Executor(recording["poly"], device="host") as executor:
    source = executor.instance().module().text
    results = [executor.evaluate(passes=p) for p in ("default<O1>", "default<O3>", "nonsense")]
    results += [executor.evaluate(grid_x=8), executor.evaluate(ir=source)]
    print(mneme.dataset.write(path, results, ir="recorded"))
with open(path) as file:
    rows = [json.loads(line) for line in file]
print([r["failure"] for r in rows], [r["verified"] for r in rows])
print({r["schema"] for r in rows}, len({r["group"] for r in rows}), len({r["group_launch"] for r in rows}))
print([r["passes"] for r in rows[:3]], rows[3]["grid_x"], rows[0]["grid_x"], len(rows[0]["samples"]))
# IR is written once for each hash: recorded, and submitted.
print(len({r["source_ir"] for r in rows}), sorted(os.listdir(path + ".ir")) == sorted({r["source_ir"] + ".bc" for r in rows}))
study = mneme.tune(mneme.Space({"block_x": [32, 64]}), recording["twice"], device="host", retest=0)
print(len(list(mneme.dataset.rows(study))))
corpus = os.path.join(folder, "corpus")
print(mneme.dataset.export_corpus(corpus, recording))
with open(os.path.join(corpus, "corpus_description.json")) as file:
    description = json.load(file)
print(description["has_thinlto"], len(description["modules"]))
for name in description["modules"]:
    with open(os.path.join(corpus, name + ".bc"), "rb") as code, open(os.path.join(corpus, name + ".cmd")) as command:
        print(code.read(2), command.read().split("\0")[:3])
