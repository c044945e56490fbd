"""Two processes want one GPU: the second one warns and waits until the first one ends."""
import subprocess
import sys
import warnings

import llvm_mneme as mneme

FIRST = """
import sys, llvm_mneme as mneme
executor = mneme.Executor(sys.argv[1], device="cuda:0")
print(executor.evaluate().verified, flush=True)
sys.stdin.read()
executor.close()
"""

first = subprocess.Popen([sys.executable, "-c", FIRST, sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print("first", first.stdout.readline().decode().strip())


def show(message, *_, **__):
    print(message)
    # The first process ends only now.
    first.stdin.close()


warnings.showwarning = show
with mneme.Executor(sys.argv[1], device="cuda:0") as executor:
    print("second", executor.evaluate().verified)
print(first.wait())
