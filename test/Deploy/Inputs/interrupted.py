"""interrupted.py TMPDIR COMMAND...: runs a command that interrupt.sh interrupts, and waits until all its processes have
ended and its temporary folders are gone."""
import os
import signal
import subprocess
import sys
import time

folder, command = sys.argv[1], sys.argv[2:]
os.makedirs(folder, exist_ok=True)
if os.path.exists("runs"):
    os.remove("runs")
# A test may run in the background of a shell, which ignores SIGINT there.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
tool = subprocess.Popen(["sh", "-c", 'echo $$ > tool; exec "$@"', "sh", *command], env=dict(os.environ, TMPDIR=folder),
                        stdout=subprocess.DEVNULL)
status = tool.wait()
print(signal.Signals(-status).name if status < 0 else status, "in run", len(open("runs").readlines()))
# The application is ended by its launcher, which notices that the tool has ended.
while any(os.path.exists("/proc/" + line.strip()) for line in open("runs")) or os.listdir(folder):
    time.sleep(0.05)
