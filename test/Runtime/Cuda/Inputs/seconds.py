"""Runs a command and prints how many whole seconds it took."""

import subprocess
import sys
import time

start = time.monotonic()
status = subprocess.run(sys.argv[1:]).returncode
print(int(time.monotonic() - start), "s", flush=True)
sys.exit(status)
