"""Ways to damage a copy of a recording. Each is do(folder), for the tables of tests."""
import glob
import json
import os

prologue, epilogue = "DeviceState.prologue.*", "DeviceState.epilogue.*"
pages, module = "Pages.*", "*.bc"


def find(folder, pattern):
    return sorted(glob.glob(os.path.join(folder, pattern)))[0]


def edit(pattern, change):
    """change(data) is what becomes of the first such file."""

    def do(folder):
        path = find(folder, pattern)
        data = change(bytearray(open(path, "rb").read()))
        open(path, "wb").write(data)

    return do


def flip(pattern, position):
    """position(size) where it depends on that."""

    def change(data):
        data[position(len(data)) if callable(position) else position] ^= 0x40
        return data

    return edit(pattern, change)


def sealed(change):
    """Of the JSON file, whose digests then are wrong."""

    def do(folder):
        path = find(folder, "*.json")
        contents = json.load(open(path))
        change(contents)
        json.dump(contents, open(path, "w"))

    return do


def kernel(change=lambda contents: None):
    """The same of one without digests, so that the change itself is noticed."""

    def both(contents):
        unseal(contents)
        change(contents)

    return sealed(both)


def unseal(kernel):
    """Makes it one of version 1, which has no digests."""
    kernel["FormatVersion"] = 1
    kernel.pop("Digest", None)
    kernel.pop("ModuleDigests", None)
    for launch in kernel["instances"].values():
        for key in ["Digest", "PrologueDigest", "EpilogueDigest"]:
            launch.pop(key, None)


def instance(kernel):
    return next(iter(kernel["instances"].values()))
