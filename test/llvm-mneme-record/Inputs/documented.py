"""documented.py HELP RST: fails unless every option of HELP stands in RST."""
import re
import sys

options = set(re.findall(r"^ +(--?[a-z][\w-]*)", open(sys.argv[1]).read(), re.M))
text = open(sys.argv[2]).read()
documented = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text))
# cl prints one dash for one-letter options only; both are accepted.
missing = sorted(o for o in options if o.lstrip("-") not in {d.lstrip("-") for d in documented})
assert len(options) > 15, options
if missing:
    sys.exit("not documented: " + ", ".join(missing))
title, rule = text.splitlines()[:2]
if not title.startswith("llvm-mneme-record - ") or len(rule) != len(title) or set(rule) != {"="}:
    sys.exit("the title is not that of a man page")
