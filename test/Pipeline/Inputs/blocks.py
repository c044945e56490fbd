"""Writes the N-th block of text of a page, or, for "spaces", those of the literals of the section "Syntax" that name
passes, a line each."""

import re
import sys
import textwrap

page, which = sys.argv[1:]
text = open(page).read()
if which == "spaces":
    start = text.index("\nSyntax\n")
    section = text[start : text.index(".. code-block", start)]
    for literal in re.findall(r"``(.+?)``", section):
        if re.search(r"[a-z]{3}[<({]", re.sub(r"^(perm|seq)", "", literal)):
            print(literal)
else:
    blocks = re.findall(r"\.\. code-block:: text\n\n((?: +.*\n|\n)+)", text)
    print(textwrap.dedent(blocks[int(which)]), end="")
