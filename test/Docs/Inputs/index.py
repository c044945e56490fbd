"""index.py ROOT: the index of the manuals, and the links of the README.

The index has one list and one hidden toctree in each section: Sphinx warns of a page that is in no toctree, but
not of one without a line in a list."""
import glob
import os
import re
import sys

root = sys.argv[1]
docs = os.path.join(root, "docs")
index = open(os.path.join(docs, "index.rst"), encoding="utf-8").read()
problems = []

listed = []
for section in re.split(r"^(?=.+\n=+\n\n)", index, flags=re.M)[1:]:
    title = section.splitlines()[0]
    entries = re.findall(r"^\* :doc:`([^`]+)`(: \S.*)?$", section, re.M)
    for name, text in entries:
        if not text:
            problems.append(f"{name}: no line in section '{title}'")
    names = [name for name, _ in entries]
    toctree = re.findall(r"^   ([^:\s].*)$", section.partition(".. toctree::")[2], re.M)
    if names != toctree:
        problems.append(f"section '{title}': the list and the toctree differ")
    listed += [re.sub(r".*<(.*)>", r"\1", name) for name in names]

pages = [os.path.relpath(p, docs)[:-4] for p in glob.glob(docs + "/**/*.rst", recursive=True)]
for name in sorted(set(pages + listed) - {"index"}):
    if listed.count(name) != 1 or name not in pages:
        problems.append(f"{name}: {listed.count(name)} times in the index, {pages.count(name)} files")

readme = open(os.path.join(root, "README.md"), encoding="utf-8").read()
for target in re.findall(r"\]\(([^)#:]+)\)", readme):
    if not os.path.exists(os.path.join(root, target)):
        problems.append(f"README.md: no file '{target}'")

print("\n".join(problems) or f"{len(listed)} pages")
sys.exit(bool(problems))
