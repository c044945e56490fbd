"""Runs the Python blocks of a page of the documentation, one after the other.

run_page.py PAGE    blocks with "# optional" may lack a package; blocks with "# not run" are only compiled
"""
import re
import sys
import textwrap

with open(sys.argv[1]) as file:
    text = file.read()
scope = {"__name__": "__main__"}
count = 0
for match in re.finditer(r"^( *)\.\. code-block:: python\n\n((?:(?:\1  .*)?\n)+)", text, re.M):
    source = textwrap.dedent(match.group(2))
    line = text[: match.start(2)].count("\n")
    code = compile("\n" * line + source, sys.argv[1], "exec")
    count += 1
    if "# not run" in source:
        continue
    try:
        exec(code, scope)
    except ImportError:
        if "# optional" not in source:
            raise
        print("without an optional package")
print(count, "blocks")
