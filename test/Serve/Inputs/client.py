"""A client of `llvm-mneme-replay serve` with nothing but Python's standard library.

client.py [--pipes|--socket=PATH] COMMAND...   talks to COMMAND, prints what tests check
"""
import json
import os
import socket
import subprocess
import time


class Client:
    def __init__(self, command=None, pipes=False, path=None):
        self.process = None
        self.buffer = b""
        self.fds = []
        if path:
            self.socket = socket.socket(socket.AF_UNIX)
            while True:
                try:
                    self.socket.connect(path)
                    break
                except ConnectionRefusedError:  # it does not listen yet
                    time.sleep(0.01)
        elif pipes:
            self.socket = None
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        else:
            self.socket, theirs = socket.socketpair()
            self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs)
            theirs.close()

    def write(self, data):
        if self.socket:
            self.socket.sendall(data)
        else:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def send(self, type, id, data=b"", **fields):
        message = {"type": type, "id": id, **fields}
        if data:
            message["bytes"] = len(data)
        self.write(json.dumps(message).encode() + b"\n" + data)

    def more(self):
        if self.socket:
            data, fds, _, _ = socket.recv_fds(self.socket, 1 << 16, 4)
            self.fds += fds
        else:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
        self.buffer += data
        return bool(data)

    def read(self):
        """The next message and its bytes; None at the end."""
        while b"\n" not in self.buffer:
            if not self.more():
                return None, b""
        line, self.buffer = self.buffer.split(b"\n", 1)
        message = json.loads(line)
        size = message.get("bytes", 0)
        while len(self.buffer) < size:
            if not self.more():
                return None, b""
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return message, data

    def call(self, type, id, data=b"", **fields):
        self.send(type, id, data, **fields)
        while True:
            message, data = self.read()
            if message is None or message.get("id") == id:
                return message, data

    def hello(self):
        return self.call("hello", 1000000, protocol=1, client="test")[0]

    def close(self):
        if self.socket:
            self.socket.close()
        else:
            self.process.stdin.close()
            self.process.stdout.close()
        return self.process.wait() if self.process else 0
