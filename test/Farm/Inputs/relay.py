"""relay.py PROGRAM COMMAND...: relays a worker's standard streams, and adds opt_tool=PROGRAM
to the configurations that the study sends."""
import json
import subprocess
import sys
import threading

program, command = sys.argv[1], sys.argv[2:]
worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def feed():
    stream = sys.stdin.buffer
    while True:
        line = stream.readline()
        if not line:
            break
        kind, size, text = line.split(b" ", 2)
        data = stream.read(int(size))
        if kind == b"evaluate":
            message = json.loads(text)
            if message["request"]["config"]:
                message["request"]["config"]["opt_tool"] = program
            line = b"evaluate 0 " + json.dumps(message).encode() + b"\n"
        worker.stdin.write(line + data)
        worker.stdin.flush()
    worker.stdin.close()


threading.Thread(target=feed, daemon=True).start()
for line in iter(worker.stdout.readline, b""):
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.exit(worker.wait())
