"""outlived.py COMMAND...: COMMAND, a launcher, prints its application's pid and that
of a process that outlives it. Signals the launcher when the application has ended and
expects it to end with the application's exit code, 7."""
import os
import signal
import subprocess
import sys
import time

launcher = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, universal_newlines=True)
application, other = map(int, launcher.stdout.readline().split())
try:
    while os.path.exists("/proc/%d" % application):
        time.sleep(0.01)
    for number in (signal.SIGUSR1, signal.SIGTERM):
        try:
            launcher.send_signal(number)
        except ProcessLookupError:
            pass
    code = launcher.wait(120)
    if code != 7:
        sys.exit("exit code %d instead of 7" % code)
finally:
    launcher.kill()
    os.kill(other, signal.SIGTERM)
