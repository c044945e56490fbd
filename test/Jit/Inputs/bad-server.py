"""A compile server that ends or lies at a stage: bad-server.py STAGE --socket=PATH ..."""

import os
import socket
import struct
import sys

stage = sys.argv[1]
options = dict(o.lstrip("-").split("=", 1) for o in sys.argv[2:])
if stage == "ends":
    sys.exit(1)
listener = socket.socket(socket.AF_UNIX)
listener.bind(options["socket"])
listener.listen()
listener.settimeout(20)
os.write(int(options["ready-fd"]), b"1")
HEADER = struct.Struct("<IIQ")


def text(t):
    return struct.pack("<Q", len(t)) + t


def receive(c, n):
    data = b""
    while len(data) < n:
        part = c.recv(n - len(data))
        if not part:
            return None
        data += part
    return data


def request(c):
    header = receive(c, HEADER.size)
    if header is None:
        return None
    magic, kind, size = HEADER.unpack(header)
    receive(c, size)
    return kind


def answer(c, kind, body, part=1.0):
    data = HEADER.pack(0x314A4E4D, kind, len(body)) + body
    c.sendall(data[: int(len(data) * part)])


try:
    while True:
        c, _ = listener.accept()
        if request(c) is None:
            continue
        if stage == "greeting":
            break
        if stage == "version":
            answer(c, 1, text(b"the runtime and the compile server are of different builds"))
            break
        answer(c, 1, text(b"") + text(b"i" * 16))
        if request(c) is None:
            continue
        facts = struct.pack("<QIIII", 0, 0, 0, 0, 0)
        if stage == "answering":
            answer(c, 2, text(b"") + text(facts), 0.5)
        elif stage == "garbage":
            answer(c, 2, text(b"") + os.urandom(100))
        elif stage == "image":
            answer(c, 2, text(b"") + text(facts) + text(b"\xff" * 200) + struct.pack("<I", 0) + text(b""))
        elif stage == "error":
            answer(c, 2, text(b"because"))
        elif stage == "hangs":
            receive(c, 1)
        if stage != "error":
            break
finally:
    os.unlink(options["socket"])
