"""damage.py DIR: damages each file of a recording with two instances differently."""
import glob
import os
import sys

folder = sys.argv[1]


def edit(path, change):
    data = bytearray(open(path, "rb").read())
    with open(path, "wb") as file:
        file.write(change(data))


def flip(data):
    # In the arguments record's payload: header, record header, count, entries.
    data[64 + 24 + 9] ^= 1
    return data


def version1(data):
    data[8] = 1
    return data


first, second = sorted(glob.glob(os.path.join(folder, "DeviceState.prologue.*")))
edit(first, lambda data: data[: -(24 + 16)])  # the end record
edit(second, flip)
first, second = sorted(glob.glob(os.path.join(folder, "DeviceState.epilogue.*")))
edit(first, version1)
os.remove(second)
(module,) = glob.glob(os.path.join(folder, "RecordedIR_*"))
edit(module, lambda data: data[: len(data) // 2])
