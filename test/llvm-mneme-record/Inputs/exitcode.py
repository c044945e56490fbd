"""exitcode.py [--signal=NAME] CODE COMMAND...: fails unless COMMAND ends with CODE.

With --signal, sends that signal to COMMAND once it has printed its first line.
"""
import signal
import subprocess
import sys

args = sys.argv[1:]
number = None
if args[0].startswith("--signal="):
    number = getattr(signal, "SIG" + args.pop(0).split("=")[1])
code = int(args.pop(0))
if number is None:
    found = subprocess.call(args)
else:
    process = subprocess.Popen(args, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(number)
    found = process.wait()
if found != code:
    sys.exit("exit code %d instead of %d" % (found, code))
