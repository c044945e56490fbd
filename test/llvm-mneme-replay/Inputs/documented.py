"""documented.py HELP RST: fails unless every option of HELP stands in RST."""
import os
import re
import sys

options = set(re.findall(r"^ +--?([a-z][\w-]*)", open(sys.argv[1]).read(), re.M))
text = open(sys.argv[2]).read()
documented = set(re.findall(r"(?<![\w-])--?([a-z][\w-]*)", text))
assert len(options) > 40, options
missing = sorted(options - documented)
if missing:
    sys.exit("not documented: " + ", ".join(missing))
title, rule = text.splitlines()[:2]
tool = os.path.splitext(os.path.basename(sys.argv[2]))[0]
if not title.startswith(tool + " - ") or len(rule) != len(title) or set(rule) != {"="}:
    sys.exit("the title is not that of a man page")
