"""Ends a program while its code is compiled: abandoned.py FOLDER APP OTHER

The pass test-hang does not end. OTHER has other code. The server compiles for one of them at a time."""

import os
import signal
import subprocess
import sys
import time

folder, app, other = sys.argv[1:]


def compilers():
    """Processes of the server that compile."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid) as file:
                words = file.read().split("\0")
            with open("/proc/%s/stat" % pid) as file:
                parent = file.read().rsplit(")", 1)[1].split()[1]
            if os.path.basename(words[0]) == "llvm-mneme-jitd" and any(w.startswith("--socket=" + folder) for w in words):
                found.add((int(pid), int(parent)))
        except OSError:
            pass
    return {pid for pid, parent in found if parent in {p for p, _ in found}}


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


first = subprocess.Popen([app, "1"], env=dict(os.environ, MNEME_JIT_PASSES="test-hang"), stdout=subprocess.DEVNULL)
wait_for(compilers)
hanging = compilers()
first.kill()
first.wait()
print(subprocess.check_output([other, "1"], text=True), end="")
wait_for(lambda: not hanging & compilers())
print("canceled")
