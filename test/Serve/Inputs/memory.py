import mmap
import struct
import sys

from client import Client

for pipes in (False, True):
    c = Client(sys.argv[1:], pipes=pipes)
    c.hello()

    def memory(id, **fields):
        answer, data = c.call("memory", id, buffer=1, **fields)
        if answer["type"] == "failed":
            return answer["error"]
        if answer["attached"]:
            descriptor = c.fds.pop(0)
            data = mmap.mmap(descriptor, answer["size"], prot=mmap.PROT_READ)[:]
            try:
                mmap.mmap(descriptor, answer["size"], prot=mmap.PROT_WRITE)
                print("writable")
            except PermissionError:
                pass
        return struct.unpack("<4096f", data)

    before, after = memory(1), memory(2, when="after")
    print("pipes" if pipes else "socket", before[4], after[4], after[8])
    same = memory(3, when="result", config={"passes": "default<O3>"})
    half = memory(4, when="result", config={"grid.x": 8})
    print("result", same == after, half[:2048] == after[:2048], half[2048:] == before[2048:])
    print(memory(5, when="result", config={"passes": "nonsense"}))
    print(memory(6, when="never"))
    assert c.close() == 0
