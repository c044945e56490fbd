"""command_guide.py DOCS BIN: the manual page of each program that is installed from BIN."""
import glob
import os
import re
import sys

docs, binaries = sys.argv[1:]
index = open(os.path.join(docs, "index.rst")).read()
names = [os.path.basename(p) for p in glob.glob(binaries + "/llvm-mneme-*") + glob.glob(binaries + "/*-as-clang")]
if os.path.exists(binaries + "/mneme-opt"):
    names.append("mneme-opt")
wrong = False
for name in names:
    page = os.path.join(docs, "CommandGuide", name + ".rst")
    text = open(page).read() if os.path.exists(page) else ""
    missing = [s for s in ("SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO")
               if not re.search("^" + s + "\n-+$", text, re.M)]
    if name not in index:
        missing.append("its line in index.rst")
    wrong |= bool(missing)
    print(name + ": " + ("lacks " + ", ".join(missing) if missing else "complete"))
sys.exit(wrong)
