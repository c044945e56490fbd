"""Speaks to the launcher as no runtime does (include/llvm/Mneme/Runtime/Wire.h)."""
import os
import re
import socket
import struct

HELLO, MODULE, INITIALIZE, KERNEL, RECORDED, SUMMARY, WITHDRAW, OBJECT = range(1, 9)


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def string(value):
    return u64(len(value)) + value


class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.environ["MNEME_SOCKET"])

    def receive(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            assert part, "the launcher hung up"
            data += part
        return data

    def ask(self, name, kind, body, magic=0x314D4E4D, size=None):
        size = len(body) if size is None else size
        self.socket.sendall(u32(magic) + u32(kind) + u64(size) + body)
        magic, answered, size = struct.unpack("<IIQ", self.receive(16))
        assert magic == 0x314D4E4D and answered == kind
        answer = self.receive(size)
        (length,) = struct.unpack_from("<Q", answer)
        print("%s: %s" % (name, answer[8 : 8 + length].decode() or "ok"), flush=True)


HASH = string(bytes(16))
with open(os.path.join(os.path.dirname(__file__), "../../../include/llvm/Mneme/Runtime/Wire.h")) as header:
    VERSION = int(re.search(r"MNEME_WIRE_VERSION (\d+)", header.read())[1])
GREETING = u32(VERSION) + u32(1) + string(b"host") + string(b"") + u64(1 << 40) + u64(1 << 20)
Client().ask("magic", HELLO, b"", magic=0)
Client().ask("size", HELLO, b"", size=1 << 50)
Client().ask("size of its type", HELLO, b"", size=1 << 21)
Client().ask("size before the greeting", MODULE, b"", size=1 << 21)
Client().ask("no greeting", SUMMARY, b"")
Client().ask("version", HELLO, u32(99) + u32(1) + string(b"") + string(b"") + u64(0) + u64(0) + u32(0))
Client().ask("short hello", HELLO, u32(VERSION))
Client().ask("endless hello", HELLO, GREETING + u32(0xFFFFFFFF))
Client().ask("no device", HELLO, GREETING.replace(b"host", b"boat") + u32(0))
client = Client()
client.ask("hello", HELLO, GREETING + u32(1) + string(b"f") + u64(4096))
client.ask("twice", HELLO, GREETING + u32(0))
client.ask("unknown", 77, b"whatever")
client.ask("short hash", MODULE, string(b"short") + u32(1) + string(b""))
client.ask("no payload", MODULE, HASH + u32(1) + string(b"MNEMEPL1" + bytes(200)))
client.ask("no payloads", MODULE, HASH + u32(0))
client.ask("many payloads", MODULE, HASH + u32(1 << 31) + string(b"MNEMEPL1"))
client.ask("name twice", INITIALIZE, HASH + u32(0) + u32(2) + 2 * (string(b"v") + u64(4096)))
client.ask("no module", INITIALIZE, HASH + u32(0) + u32(0))
client.ask("no module either", KERNEL, HASH + u32(0) + HASH + string(b"k") + u32(1))
client.ask("short kernel", KERNEL, HASH)
client.ask("no kernel name", KERNEL, HASH + u32(0) + HASH + string(b"") + u32(1))
client.ask("no flag", KERNEL, HASH + u32(0) + HASH + string(b"k") + u32(2))
client.ask("no entry", OBJECT, HASH + u32(0) + string(b"cpu") + string(b"") + string(b"object"))
client.ask("short object", OBJECT, HASH + u32(0) + string(b"cpu") + string(b"k") + u64(1 << 40))
client.ask("object of no module", OBJECT, HASH + u32(0) + string(b"cpu") + string(b"k") + string(b"object"))


def recorded(name, prologue, grid=1):
    body = HASH + u64(0) + u32(grid) + 5 * u32(1) + u64(0) + u32(0) + 3 * u32(1)
    body += string(prologue) + string(b"e") + u32(0) + u32(1) + u64(4096) + u64(4096) + u64(0) + u64(0)
    client.ask(name, RECORDED, body + u32(0) + 4 * string(b"") + 2 * u64(0) + u32(0))


zeros = b"." + b"0" * 32 + b"." + b"0" * 16 + b".mneme"
body = HASH + u64(0) + 6 * u32(1) + u64(0) + u32(0) + 3 * u32(1)
body += string(b"DeviceState.prologue" + zeros + b".1")
body += string(b"DeviceState.epilogue" + zeros + b".1.2") + u32(0) + u32(1) + u64(4096) + u64(4096) + u64(0) + u64(0)
client.ask("no kernel", RECORDED, body + u32(0) + 4 * string(b"") + 2 * u64(0) + u32(0))
recorded("wrong names", b"../p")
recorded("zero grid", b"p", grid=0)
client.ask("short withdrawal", WITHDRAW, HASH)
client.ask("nothing to withdraw", WITHDRAW, HASH + u64(0))
client.ask("short summary", SUMMARY, u64(0))
escape = u32(1) + string(b"a \x1b[31mred\xff reason\n") + u64(1)
client.ask("summary", SUMMARY, u64(1) + u64(0) + u64(1) + u32(0) + escape + u64(0) + u64(0))
client.ask("another summary", SUMMARY, 3 * u64(0) + u32(0) + u32(0) + u64(0) + u64(0))

# A request that never ends, and one whose client is gone.
half = Client()
half.socket.sendall(u32(0x314D4E4D) + u32(HELLO) + u64(100) + b"half")
half.socket.close()
gone = Client()
gone.socket.sendall(u32(0x314D4E4D) + u32(SUMMARY) + u64(0))
gone.socket.close()
Client().ask("hello again", HELLO, GREETING + u32(0))
print("hung up")

# Other users are not listened to, even where they can get at the socket.
path = os.environ["MNEME_SOCKET"]
folder = os.path.dirname(path)
print("modes: %o %o" % (os.stat(path).st_mode & 0o777, os.stat(folder).st_mode & 0o777), flush=True)
if os.geteuid() == 0:
    os.chmod(path, 0o666)
    os.chmod(folder, 0o755)
    if os.fork() == 0:
        os.setuid(65534)
        stranger = Client()
        try:
            stranger.socket.sendall(u32(0x314D4E4D) + u32(HELLO) + u64(0))
            assert not stranger.socket.recv(1)
        except (BrokenPipeError, ConnectionResetError):
            pass
        os._exit(0)
    assert os.wait()[1] == 0, "another user was answered"
