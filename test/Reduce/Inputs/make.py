"""Runs the commands of one target of ./Makefile, as make does: a machine of tests need not have it."""
import re
import subprocess
import sys

values = {"CXX": "c++"}
commands, target = [], None
for line in open("Makefile"):
    if match := re.match(r"(\w+) = (.*)", line):
        values[match[1]] = match[2]
    elif match := re.match(r"(\w+):$", line):
        target = match[1]
    elif line.startswith("\t") and target == sys.argv[1]:
        commands.append(re.sub(r"\$\((\w+)\)", lambda name: values[name[1]], line[1:].rstrip("\n")).replace("$$", "$"))
assert commands, "no target " + sys.argv[1]
for command in commands:
    print(command, flush=True)
    if code := subprocess.run(command, shell=True, stdout=sys.stdout).returncode:
        sys.exit(code)
