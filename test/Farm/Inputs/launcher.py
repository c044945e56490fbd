"""launcher.py STATE HOST COMMAND...: starts a worker as ssh, srun or kubectl do, and relays
its standard streams. The first worker of some hosts does not fare well, once it has sent
its first result: that of 'drop' is dropped, that of 'stall' is not heard any more, the
output of 'garble' is garbled. Their next ones, and 'late', wait until that has happened to
all three. That of 'noise' writes something before its greeting; 'stuck' does not end when
it is asked to."""
import os
import signal
import subprocess
import sys
import threading
import time

state, host, command = sys.argv[1], sys.argv[2], sys.argv[3:]
bad = {"drop", "stall", "garble"}


def mark(name):
    open(os.path.join(state, name), "w").close()


def is_marked(name):
    return os.path.exists(os.path.join(state, name))


is_bad = host in bad and not is_marked(host)
if host == "noise":
    print("Welcome to", host)
    sys.stdout.write("modules: none; prompt> ")
    sys.stdout.flush()
    print("a message of the launcher", file=sys.stderr, flush=True)
if host == "stuck":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    mark("stuck.%d" % os.getpid())
if host == "late" or (host in bad and not is_bad):
    deadline = time.time() + 600
    while not all(is_marked(name) for name in bad) and time.time() < deadline:
        time.sleep(0.02)

worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def feed():
    while True:
        data = os.read(0, 65536)
        if not data:
            break
        worker.stdin.write(data)
        worker.stdin.flush()
    worker.stdin.close()


threading.Thread(target=feed, daemon=True).start()
for line in iter(worker.stdout.readline, b""):
    if is_bad and line.startswith(b"evaluated "):
        mark(host)
        if host == "drop":
            worker.kill()
            sys.exit(3)
        if host == "stall":
            while True:
                time.sleep(1)
        line = line[: len(line) // 2] + b"\x1b[2J\n" + line[len(line) // 2 :]
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
code = worker.wait()
while host == "stuck":
    time.sleep(1)
sys.exit(code)
