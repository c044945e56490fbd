"""Runs the commands of a report, in this folder, and compares their code with best.json's."""

import html
import json
import re
import subprocess
import sys

report, best = sys.argv[1:]
page = open(report, encoding="utf-8").read()
commands = re.findall(r"<pre>(llvm-mneme-replay .*?)</pre>", page)
expected = json.load(open(best))["code_hash"]
for command in map(html.unescape, commands):
    print(command)
    run = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, check=True)
    result = json.loads(run.stdout)["Result"]
    same = "same" if result["code_hash"] == expected else "other"
    print("%s, %s code" % (result["verdict"], same))
