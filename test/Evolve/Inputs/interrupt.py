"""interrupt.py SIGNAL: a proposer that interrupts the search when it is asked for the second version, and then never
answers."""
import json
import os
import signal
import sys
import time

start = json.loads(sys.stdin.readline())["start"]
sys.stdin.readline()
print(json.dumps({"text": start.replace("Rounds = 2", "Rounds = 1")}), flush=True)
sys.stdin.readline()
os.kill(os.getppid(), getattr(signal, sys.argv[1]))
while True:
    time.sleep(1000)
