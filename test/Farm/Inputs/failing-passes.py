"""failing-passes.py [--skip=PASS] OUT TUNE ARGUMENTS...: a study of pipelines that work and
of passes that do not (test/tools/mneme-test-passes). Prints each with what came out."""
import json
import os
import subprocess
import sys

PIPELINES = """default<O1> default<O3> test-crash test-eat-memory test-endless test-fatal
test-hang test-nan test-out-of-bounds test-trap test-wrong""".split()

skipped = []
while sys.argv[1].startswith("--skip="):
    skipped.append(sys.argv.pop(1).split("=")[1])
out, command = sys.argv[1], sys.argv[2:]
tried = [p for p in PIPELINES if p not in skipped]
command += ["--passes={%s}" % "|".join(tried), "--until-exhausted", "--sampler=grid"]
command += ["--retest=0", "--explain=off", "--quiet", "-o", out]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

trials = []
with open(os.path.join(out, "study.log")) as log:
    for line in map(json.loads, log):
        if line["op_code"] == 4:
            trials.append(dict(line["user_attrs"]))
        elif line["op_code"] == 8:
            trials[line["trial_id"]].update(line["user_attr"])
        elif line["op_code"] == 6:
            trials[line["trial_id"]]["state"] = line["state"]
assert len(trials) >= len(tried), trials
verdicts = {p: "not tried" for p in PIPELINES}
for t in trials:
    if t["state"] == 1:
        verdicts[t["passes"]] = "complete"
    else:
        verdicts[t["passes"]] = "%s %s" % (t["failure"], t["error"])
for p in PIPELINES:
    print("%s: %s" % (p, verdicts[p]))
