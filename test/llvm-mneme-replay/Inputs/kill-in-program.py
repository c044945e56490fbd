"""Kills a command in the middle and says what is left of it.

usage: kill-in-program.py SIGNAL PIDFILE TMPDIR COMMAND...

The command is in the middle once PIDFILE has the id of a process that it has started."""

import os
import signal
import subprocess
import sys
import time


def until(condition, seconds=600):
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(0.05)
    return condition()


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


number, pid_file, tmp, *command = sys.argv[1:]
os.makedirs(tmp, exist_ok=True)
process = subprocess.Popen(command, env={**os.environ, "TMPDIR": tmp})
if not until(lambda: os.path.exists(pid_file) and open(pid_file).read()):
    process.kill()
    sys.exit("the command has not begun")
program = int(open(pid_file).read())
print("before:", runs(program), len(os.listdir(tmp)) > 0)
process.send_signal(getattr(signal, number))
process.wait()
until(lambda: not runs(program) and not os.listdir(tmp))
print("after:", runs(program), os.listdir(tmp))
