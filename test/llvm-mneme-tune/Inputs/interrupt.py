"""interrupt.py SIGNAL TIMES TRIALS LOG -- COMMAND...: sends the signal so often once LOG has
that many trials that ended, and waits. Exits as the command does, 0 if it was killed so."""
import json
import os
import signal
import subprocess
import sys
import time

name, times, trials, log = sys.argv[1:5]
command = sys.argv[sys.argv.index("--") + 1 :]


def ended():
    if not os.path.exists(log):
        return 0
    count = 0
    for line in open(log):
        if not line.endswith("\n"):
            break
        op = json.loads(line)
        count += op["op_code"] in (4, 6) and op.get("state", 0) in (1, 2, 3)
    return count


process = subprocess.Popen(command)
deadline = time.time() + 600
while ended() < int(trials):
    if process.poll() is not None:
        if ended() >= int(trials):
            break  # it was faster than we looked
        sys.exit("ended too early")
    if time.time() > deadline:
        process.kill()
        sys.exit("took too long")
    time.sleep(0.01)
for _ in range(int(times)):
    process.send_signal(getattr(signal, "SIG" + name))
code = process.wait()
sys.exit(0 if code == -signal.SIGKILL and name == "KILL" else code)
