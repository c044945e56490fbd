"""exit-code.py CODE COMMAND...: fails unless COMMAND exits with CODE."""
import subprocess
import sys

code = subprocess.call(sys.argv[2:])
if code != int(sys.argv[1]):
    sys.exit("exit code %d instead of %s" % (code, sys.argv[1]))
