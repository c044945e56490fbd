"""Kills the real server while it compiles: kill-server.py FOLDER LIBRARY SERVER

The server has a path of its own, so it is no other test's."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

folder, library, server = sys.argv[1:]
private = os.path.join(folder, "private", "bin")
os.makedirs(private)
program = os.path.join(private, "llvm-mneme-jitd")
shutil.copy(shutil.which(server), program)
env = dict(os.environ, LD_PRELOAD=library, MNEME_JIT_SERVER=program, MNEME_JIT_REPORT=folder + "/killed",
           MNEME_JIT_PASSES="test-hang", LD_LIBRARY_PATH=os.path.join(os.path.dirname(shutil.which(server)), "..", "lib"))
app = subprocess.Popen([folder + "/plugin", "1"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def servers():
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and os.readlink("/proc/%s/exe" % pid) == program:
                yield int(pid)
        except OSError:
            pass


# The server and the compiler, which hangs.
while len(list(servers())) < 2:
    assert app.poll() is None, app.communicate()
    time.sleep(0.05)
for pid in servers():
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
out, err = app.communicate(timeout=60)
assert (app.returncode, out) == (0, "2\n"), (app.returncode, out, err)
code = json.load(open(folder + "/killed"))["code"][0]
assert code["reasons"] == {"no compile server": 1}, code
assert "it has ended" in code["variants"][0]["message"], code
