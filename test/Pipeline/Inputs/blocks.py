"""Writes the N-th block of text of a page, or, for "spaces", those of the literals of "What can be written" that name
passes, a line each."""

import re
import sys
import textwrap

page, which = sys.argv[1:]
text = open(page).read()
if which == "spaces":
    section = text[text.index("What can be written") : text.index(".. code-block", text.index("What can be written"))]
    for literal in re.findall(r"``(.+?)``", section):
        if re.search(r"[a-z]{3}[<({]", re.sub(r"^(perm|seq)", "", literal)):
            print(literal)
else:
    blocks = re.findall(r"\.\. code-block:: text\n\n((?: +.*\n|\n)+)", text)
    print(textwrap.dedent(blocks[int(which)]), end="")
