"""Writes every space of some files, cut off and changed anywhere, into a folder."""

import sys

from corpus import Corpus

*files, out = sys.argv[1:]
write = Corpus(out).write
spaces = []
for name in files:
    with open(name, "rb") as f:
        text = f.read()
    if name.endswith(".space"):
        spaces.append(text)
    else:
        spaces += [l for l in text.splitlines() if l and not l.startswith(b"#")]

symbols = b",;()<>{|}[]?$#\\ \n\0\xff"
for n, space in enumerate(spaces):
    write("whole", space)
    step = max(1, len(space) // 8)
    for at in range(n % step, len(space), step):
        write("cut", space[:at])
        symbol = symbols[(n + at) % len(symbols)]
        write("flip", space[:at] + bytes([symbol]) + space[at + 1 :])
        write("insert", space[:at] + bytes([symbol]) + space[at:])
        write("swap", space[at:] + b"," + space[:at])
