"""Writes the exchanges of messages in some files, cut off and changed anywhere, into a
folder."""

import sys

from corpus import Corpus

*files, out = sys.argv[1:]
write = Corpus(out).write
texts = [open(name, "rb").read() for name in files]
# What each side says, as messages alone: by the letter of its lines, the number of its set.
for text in list(texts):
    if text.startswith(b"s"):
        texts.append(b"m5" + text[1:])
        continue
    for letter, number in ((b"c", b"1"), (b"r", b"3"), (b"w", b"6")):
        said = [line[1:] for line in text.splitlines(keepends=True) if line.startswith(letter)]
        if said:
            texts.append(b"m" + number + b"".join(said))
symbols = b'{}[]",:09-. \n\0\xff'
numbers = [b"-1", b"1e999", b"0", b"18446744073709551616", b'""', b"[]", b"{}", b"null"]
for n, text in enumerate(texts):
    write("whole", text)
    lines = text.splitlines(keepends=True)
    for i in range(len(lines)):
        write("drop", b"".join(lines[:i] + lines[i + 1 :]))
        write("twice", b"".join(lines[: i + 1] + lines[i:]))
        write("cross", b"".join(lines[:i]) + texts[n - 1])
    step = max(1, len(text) // 100)
    for at in range(n % step, len(text), step):
        symbol = symbols[(n + at) % len(symbols)]
        write("cut", text[:at])
        write("flip", text[:at] + bytes([symbol]) + text[at + 1 :])
        write("insert", text[:at] + bytes([symbol]) + text[at:])
    # Each value of a field, by another one.
    at = text.find(b'":')
    while at >= 0:
        end = at + 2
        while end < len(text) and text[end : end + 1] not in (b",", b"}", b"\n"):
            end += 1
        write("value", text[: at + 2] + numbers[at % len(numbers)] + text[end:])
        at = text.find(b'":', at + 2)
