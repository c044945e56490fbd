"""Reads a table of trials as a spreadsheet would."""

import csv
import sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.reader(file))
head, rows = rows[0], rows[1:]
wide = all(len(r) == len(head) for r in rows)
print("rows: %d, %s" % (len(rows), "as wide as the head" if wide else "not as wide"))
for row in rows:
    trial = dict(zip(head, row))
    if trial["error"]:
        print("trial %s: %s" % (trial["number"], trial["error"].replace("\n", "|")))
        break
