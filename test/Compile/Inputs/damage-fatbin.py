"""damage-fatbin.py APP OUT: copies APP, with its first image's size made too large."""
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
container = data.index(struct.pack("<IH", 0xBA55ED50, 1))
struct.pack_into("<Q", data, container + 16 + 8, 1 << 40)
open(sys.argv[2], "wb").write(data)
