"""Calls that a client should not make, as lines of JSON. usage: mcp_attacks.py WHAT RECORDING FOLDER"""

import json
import os
import signal
import subprocess
import sys

what, recording, folder = sys.argv[1], *map(os.path.abspath, sys.argv[2:])
kernel = {"recording": recording, "kernel": "twice"}


class Server:
    """A server, and all processes that it starts: they inherit MNEME_TEST_MARK."""

    def __init__(self, *options):
        self.mark = f"{os.getpid()}.{id(self)}"
        command = [sys.executable, "-m", "llvm_mneme.mcp", f"--read={recording}", f"--write={folder}/write"]
        self.process = subprocess.Popen(
            [*command, "--device=host", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(os.environ, MNEME_TEST_MARK=self.mark, TMPDIR=f"{folder}/tmp"),
        )
        self.number = 0

    def write(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method, **parameters):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        self.write(json.dumps(message).encode())
        return self.number

    def read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def begin(self):
        client = {"name": "attacker", "version": "1"}
        number = self.send("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        while self.read()["id"] != number:
            pass
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return self

    def start(self, tool, **arguments):
        return self.send("tools/call", name=tool, arguments=arguments)

    def call(self, tool, **arguments):
        """Returns an answer, or the text of an error."""
        number = self.start(tool, **arguments)
        answer = self.read()
        assert answer["id"] == number, answer
        result = answer["result"]
        text = result["content"][0]["text"]
        assert "Traceback" not in text and "\n" not in text, text
        return f"error: {text}" if result["isError"] else result["structuredContent"]

    def pids(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"MNEME_TEST_MARK={self.mark}".encode() in file.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def wait_for_study(self):
        """Waits until a tuner has processes of its own."""
        while len(self.pids()) < 4:
            assert self.process.poll() is None

    def end(self):
        self.process.stdin.close()
        print("exit code", self.process.wait())
        while self.pids():  # a process that stays is a time-out of the test
            pass
        print("no process is left")


def paths():
    server = Server().begin()
    for path in (f"{folder}/write/../outside", f"{folder}/write/link", "/etc", "../outside", f"{recording}x", ""):
        print(server.call("replay", recording=path))
    print(server.call("replay", recording=f"{folder}/write/linked"))
    for path in (f"{folder}/outside/study", f"{folder}/write/link/study", f"{recording}/study"):
        print(server.call("tune", output=path, budget=5, **kernel))
    print(server.call("pack", recording=recording, study=f"{folder}/write/best.json", output=f"{folder}/write/p"))
    print(server.call("prove", package=f"{recording}/p", application="sh -c id"))
    for config in ({"ptxas": "/bin/sh"}, {"ir": "/etc/passwd"}, {"passes": "dot-cfg"}, {"llvm.info-output-file": "x"}):
        print(server.call("replay", config=config, **kernel))
        print(server.call("compare", config={}, baseline=config, **kernel))
    print(server.call("tune", output=f"{folder}/write/s", space={"passes": "dot-cfg"}, budget=5, **kernel))
    print(server.call("tune", output=f"{folder}/write/s", space={"source": "/etc/passwd"}, budget=5, **kernel))
    print([k["recording"] == recording for k in server.call("recordings")["kernels"]])
    print(server.call("recordings")["skipped"])
    server.end()
    print(sorted(os.listdir(f"{folder}/write")), os.listdir(f"{folder}/outside"), os.listdir(f"{folder}/tmp"))


def pipes():
    server = Server().begin()
    os.mkfifo(f"{folder}/write/pipe")
    os.mkfifo(f"{folder}/write/linked/kernel.json")
    for path in ("pipe", "linked"):
        print(server.call("show", recording=f"{folder}/write/{path}"))
        print(server.call("evaluate", source=f"{folder}/write/{path}", **kernel))
    print(server.call("recordings")["skipped"])
    server.end()


def annotations():
    server = Server().begin()
    server.send("tools/list")
    for tool in server.read()["result"]["tools"]:
        print(tool["name"], *(name for name, value in sorted(tool["annotations"].items()) if value))
    server.end()


def arguments():
    server = Server()
    for line in (b"garbage", b"\xff\xfe", b"{}", b"[1]", b'{"jsonrpc":"2.0","id":1}', b"[" * 5000, b'"' + b"x" * (8 << 20)):
        server.write(line)
    server.begin()
    print(server.call("nonsense"))
    print(server.call("replays"))
    print(server.call("replay"))
    print(server.call("replay", recordings=recording))
    for value in (3, None, True, [recording], {"a": 1}, "x" * 5000, "a\0b"):
        print(server.call("replay", recording=value))
    for value in ([1], "x", {"block.x": -1}, {"block.x": "1"}, {"nonsense": 1}, {"passes": "x" * 70000}, {"passes": "gvn,"}):
        print(server.call("replay", config=value, **kernel))
    for budget in (0, -1, True, "5", 1e12, 300):
        print(server.call("tune", output=f"{folder}/write/s", budget=budget, **kernel))
    print(server.call("tune", output=f"{folder}/write/s", trials=1.5, **kernel))
    print(server.call("replay", device="cuda:0", **kernel))
    print(server.call("replay", device="--allow-programs", **kernel))
    print(server.call("replay", launch="--allow-programs", **kernel))
    server.write(b'{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"replay","arguments":[]}}')
    print(server.read()["error"]["message"])
    print(server.call("replay", **kernel)["verdict"])
    server.end()


def limits():
    server = Server("--call-seconds=0.2").begin()
    print(server.call("tune", output=f"{folder}/write/s", budget=1, **kernel))
    print(server.call("bisect", **kernel))
    server.end()
    server = Server("--total-seconds=3").begin()
    while not isinstance(answer := server.call("bisect", **kernel), str):
        pass
    print(answer)
    print(server.call("replay", **kernel))
    print(len(server.call("recordings")["kernels"]))
    server.end()


def together():
    server = Server().begin()
    numbers = [server.start("tune", output=f"{folder}/write/{n}", budget=4, **kernel) for n in range(2)]
    numbers += [server.start("replay", **kernel) for _ in range(3)]
    quick = server.start("show", **kernel)
    answers = [server.read() for _ in range(6)]
    print("first", answers[0]["id"] == quick)
    print(sorted(a["id"] for a in answers) == sorted([*numbers, quick]), any(a["result"]["isError"] for a in answers))
    print([os.path.exists(f"{folder}/write/{n}/best.json") for n in range(2)])
    # A cancelled call gives the devices to the next one.
    number = server.start("tune", output=f"{folder}/write/cancelled", budget=200, **kernel)
    server.wait_for_study()
    server.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}' % number)
    print(server.call("replay", **kernel)["verdict"])
    server.end()


def disconnect():
    ends = {
        "closes": lambda s: s.process.stdin.close(),
        "terminates": lambda s: s.process.terminate(),
        "kills": lambda s: s.process.kill(),
    }
    for name, end in ends.items():
        server = Server().begin()
        server.start("tune", output=f"{folder}/write/{name}", budget=200, **kernel)
        server.wait_for_study()
        end(server)
        print("client", name)
        server.end()
        if name != "kills":
            print(os.listdir(f"{folder}/tmp"))


signal.alarm(300)
os.makedirs(f"{folder}/tmp")
globals()[what]()
