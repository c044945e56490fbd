"""Writes the N-th block of text of a page."""

import re
import sys
import textwrap

page, number = sys.argv[1:]
blocks = re.findall(r"\.\. code-block:: text\n\n((?:   .*\n|\n)+)", open(page).read())
print(textwrap.dedent(blocks[int(number)]), end="")
