import os
import stat
import subprocess
import sys
import tempfile
import time

from client import Client

# The path of a socket is short.
folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "s")
server = subprocess.Popen(sys.argv[1:] + ["--listen=unix:" + path])
try:
    while not os.path.exists(path):
        time.sleep(0.01)
        assert server.poll() is None
    print("mode", oct(stat.S_IMODE(os.stat(path).st_mode)))
    first = Client(path=path)
    second = Client(path=path)
    for name, client in (("first", first), ("second", second)):
        print(name, client.hello()["descriptors"])
    # Numbers of different clients are independent.
    first.send("submit", 1, config={"passes": "default<O1>"})
    second.send("submit", 1, config={"passes": "default<O2>"})
    for name, client in (("first", first), ("second", second)):
        answer, _ = client.read()
        print(name, answer["id"], repr(answer["failure"]))
    first.close()
    print("second lives", second.call("stats", 2)[0]["type"])
    second.close()
    print("exit code", server.wait(60))
    print("socket", os.path.exists(path))
finally:
    server.kill()
