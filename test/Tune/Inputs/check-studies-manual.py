#!/usr/bin/env python3
"""Does docs/Studies.rst have everything that the tables (*.def) have?

usage: check-studies-manual.py SOURCE-DIRECTORY
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
include = root / "include/llvm/Mneme"
manual = (root / "docs/Studies.rst").read_text()
literals = set(re.findall(r"``(.+?)``", manual))


def names(path, macro):
    text = (include / path).read_text()
    return re.findall(rf'^{macro}\(\s*"([^"]+)"', text, re.MULTILINE)


def spellings(path):
    text = (include / path).read_text()
    return re.findall(r'^EXPR_OP\(\w+, "([^"]+)"', text, re.MULTILINE)


missing = []


def check(what, found, prefix=""):
    assert found, f"no {what}"
    for name in found:
        # y and z stand behind x.
        axis = re.fullmatch(r"(.+[.-])[yz]", name)
        wanted = prefix + (axis.group(1) + "x" if axis else name)
        if wanted not in literals:
            missing.append(f"{what} {wanted}")


check("recorded fact", names("Study/Recorded.def", "RECORDED"), "recorded.")
check("option", names("Study/CommandLineSpace.def", "SPACE_OPTION"), "--")
operators = set(
    word for text in literals for word in re.findall(r"\w+(?=\()|[^\w\s]+|\w+", text)
)
for spelling in spellings("Study/ExprOps.def"):
    for part in ["?", ":"] if spelling == "?:" else [spelling]:
        if part not in operators:
            missing.append(f"operator {part}")
print("\n".join(missing) if missing else "complete")
sys.exit(bool(missing))
