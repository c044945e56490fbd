"""Kills compilers that wait, then their server: processes.py FOLDER APP

FOLDER is the one for the server's socket, by which its processes are found."""

import os
import signal
import subprocess
import sys
import time

folder, program = sys.argv[1:]
app = subprocess.Popen([program], env=dict(os.environ, XDG_RUNTIME_DIR=folder, MNEME_JIT_IDLE="60"), text=True,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def processes(name):
    """Those of the server whose program has this name."""
    found = []
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and int(pid) not in (app.pid, os.getpid()):
                with open("/proc/%s/environ" % pid) as file:
                    if "XDG_RUNTIME_DIR=" + folder in file.read().split("\0"):
                        if name in os.path.basename(os.readlink("/proc/%s/exe" % pid)):
                            found.append(int(pid))
        except OSError:
            pass
    return found


def ask(number):
    app.stdin.write("%d\n" % number)
    app.stdin.flush()
    return app.stdout.readline().strip()


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


print(ask(1), ask(2), "compilers wait" if processes("clang") else "no compiler waits")
waiting = processes("clang")
kill(waiting)
wait_for(lambda: not set(waiting) & set(processes("clang")))
print(ask(3), "without them")
print(ask(4), "compilers wait" if processes("clang") else "no compiler waits")
kill(processes("llvm-mneme-jitd"))
wait_for(lambda: not processes(""))
print("none without the server")
app.stdin.close()
sys.exit(app.wait())
