"""Checks all includes of lib/ and include/ against the table of layers in docs/DeveloperGuide.rst:

    check-includes.py <source folder>

An include may not lead to a folder of a higher layer, nor to a private header of another folder; no two folders may
include each other, directly or not. All folders have to be in the table, and all of the table have to be there."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
# Private headers that a folder's parts share.
SHARED = {"Runtime/Base"}

layers = {}
layer = None
for line in (root / "docs/DeveloperGuide.rst").read_text().splitlines():
    if row := re.match(r"(L\d|  \\) +``(?:lib/)?([A-Za-z/]+)``", line):
        layer = row[1] if row[1][0] == "L" else layer
        layers[row[2]] = layer

errors = []


def folder_of(path):
    """The folder of the table that holds the file."""
    parts = path.relative_to(root / "lib").parts[:-1]
    for length in (2, 1):
        if (name := "/".join(parts[:length])) in layers:
            return name
    errors.append("no layer: %s" % path.relative_to(root))
    return None


private = {}  # header: folders
files = []
for path in sorted((root / "lib").rglob("*")):
    if path.suffix in (".cpp", ".h", ".def", ".c") and (folder := folder_of(path)):
        files.append((folder, path))
        private.setdefault(path.name, set()).add(folder)
for name in layers:
    if name != "Runtime" and not any(folder.split("/")[0] == name or folder == name for folder, _ in files):
        errors.append("no such folder: %s" % name)
for path in sorted((root / "include/llvm/Mneme").rglob("*")):
    if path.suffix in (".h", ".def"):
        files.append((path.relative_to(root / "include/llvm/Mneme").parts[0], path))

uses = {}
for folder, path in files:
    for include in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        where = "%s includes %s" % (path.relative_to(root), include)
        if public := re.match(r"llvm/Mneme/(\w+)/", include):
            other = public[1]
            # The public headers of the runtime are those of all its parts.
            if other == folder.split("/")[0]:
                continue
        elif include.startswith("llvm/") or include.startswith("mlir/"):
            continue
        else:
            owners = private.get(include.split("/")[-1], set())
            if not owners or folder in owners or owners & SHARED:
                continue
            other = sorted(owners)[0]
            if not (folder.startswith("Runtime/") and other.startswith("Runtime/")):
                errors.append(where + ", a private header of " + other)
        uses.setdefault(folder, {}).setdefault(other, where)
        if layers.get(other, "L9") > layers.get(folder, "L9"):
            errors.append("%s: from %s up to %s" % (where, layers.get(folder), layers.get(other)))


def find_cycle(folder, trail):
    if folder in trail:
        return trail[trail.index(folder) :] + [folder]
    for other in uses.get(folder, {}):
        if cycle := find_cycle(other, trail + [folder]):
            return cycle
    return None


for folder in sorted(uses):
    if cycle := find_cycle(folder, []):
        errors.append("a cycle: " + "; ".join(uses[a][b] for a, b in zip(cycle, cycle[1:])))
        break

print("\n".join(errors) or "%d files in %d folders" % (len(files), len(layers)))
sys.exit(bool(errors))
