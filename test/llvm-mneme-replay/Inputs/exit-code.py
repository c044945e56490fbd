"""exit-code.py CODE COMMAND...: fails unless the command ends with this exit code."""
import subprocess
import sys

code = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
if code != int(sys.argv[1]):
    sys.exit("exit code %d instead of %s" % (code, sys.argv[1]))
