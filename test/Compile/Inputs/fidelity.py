"""fidelity.py SCRATCH RECORD REPLAY LEVEL COMPILER... SOURCE: compiles SOURCE, records
it, and compares the machine code of each kernel in clang's own cubin with that of a
replay which only compiles.

Instructions are the same, byte for byte, but for one operand: the address of a
variable is loaded from a table (constant bank 4), in whose order the variables of
clang's whole module stand, and in the replay's those of one kernel. There the two slots
must hold the same variable."""
import glob
import json
import os
import struct
import subprocess
import sys

scratch, record, replay, level = sys.argv[1:5]
compiler, source = sys.argv[5:-1], sys.argv[-1]
KERNELS = 5


class Cubin:
    def __init__(self, path):
        self.data = open(path, "rb").read()
        offset, = struct.unpack_from("<Q", self.data, 40)
        count, names = struct.unpack_from("<HH", self.data, 60)
        # name, type, flags, address, offset, size, link, info, alignment, entry size
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + 64 * i)
                   for i in range(count)]
        self.headers = headers
        self.sections = {self.string(headers[names], h[0]): h for h in headers}

    def string(self, table, offset):
        start = table[4] + offset
        return self.data[start : self.data.index(b"\0", start)].decode()

    def text(self, kernel):
        header = self.sections[".text." + kernel]
        return self.data[header[4] : header[4] + header[5]]

    def slots(self):
        """Names in the table of addresses, by offset."""
        relocations = self.sections.get(".rela.nv.constant4")
        if not relocations:
            return {}
        symbols = self.headers[relocations[6]]
        names = self.headers[symbols[6]]
        result = {}
        for i in range(relocations[5] // 24):
            offset, info, _ = struct.unpack_from("<QQq", self.data, relocations[4] + 24 * i)
            name, = struct.unpack_from("<I", self.data, symbols[4] + 24 * (info >> 32))
            result[offset] = self.string(names, name)
        return result


def same(a, b, kernel):
    code, other = a.text(kernel), b.text(kernel)
    if len(code) != len(other):
        return False
    slots, otherSlots = a.slots(), b.slots()
    for i in range(0, len(code), 16):
        x, y = bytearray(code[i : i + 16]), bytearray(other[i : i + 16])
        if x == y:
            continue
        # Byte 5 holds the offset into the bank, in words; a slot is two words.
        mine = slots.get(8 * (x[5] // 2))
        if mine is None or mine != otherSlots.get(8 * (y[5] // 2)) or (x[5] ^ y[5]) & 1:
            return False
        x[5] = y[5]
        if x != y:
            return False
    return True


app = os.path.join(scratch, "app." + level)
cubin = os.path.join(scratch, "clang.%s.cubin" % level)
folder = os.path.join(scratch, "rec." + level)
own = os.path.join(scratch, "own.cubin")
plain = [a for a in compiler if not a.startswith(("-l", "-L", "-Wl", "-fpass-plugin"))]
subprocess.check_call(compiler + ["-O" + level, source, "-o", app])
subprocess.check_call(plain + ["-O" + level, "--offload-device-only", "-c", source, "-o", cubin])
subprocess.check_call([record, "-o", folder, "--device=host", "--", app])
recordings = glob.glob(os.path.join(folder, "*.json"))
for path in recordings:
    kernel = json.load(open(path))
    assert kernel["OptLevel"] == level, kernel["OptLevel"]
    subprocess.check_call([replay, path, "--no-execute", "--output-obj=" + own],
                          stdout=subprocess.DEVNULL)
    if not same(Cubin(cubin), Cubin(own), kernel["KernelName"]):
        sys.exit("-O%s: the code of %s differs" % (level, kernel["KernelName"]))
if len(recordings) != KERNELS:
    sys.exit("%d kernels recorded instead of %d" % (len(recordings), KERNELS))
