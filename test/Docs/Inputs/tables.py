"""Rows of simple tables that docutils reads otherwise than they look: a line with text in the first
column begins a row, so a first cell cannot be continued on the next line."""
import re
import sys

wrong = []
for name in sys.argv[1:]:
    columns = last = None
    for number, line in enumerate(open(name, encoding="utf-8"), 1):
        border = re.fullmatch(r"( *=+ +)=+( +=+)*", line.rstrip())
        if border:
            columns, last = len(border[1]), None
        elif not line.strip():
            columns = None if last is None else columns
        elif columns and line[:columns].strip():
            first, rest = line[:columns].rstrip(), line[columns:].strip()
            if not rest or first.endswith(",") or first.count("``") % 2:
                wrong.append(f"{name}:{number}: the row has only a part of its text: use list-table")
            last = number
print("\n".join(wrong) or "no broken rows")
sys.exit(bool(wrong))
