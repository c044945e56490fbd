"""break-off.py COMMAND...: sends two interrupts once the best is tested again, which would take
very long. Prints what the command says."""
import signal
import subprocess
import sys

process = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True)
for line in process.stderr:
    print(line, end="")
    if "re-testing the best trials" in line:
        # Two of the same signal at once can be one.
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
sys.exit(process.wait())
