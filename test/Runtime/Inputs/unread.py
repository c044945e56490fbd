"""unread.py COMMAND: runs it with a stderr that nobody reads."""
import os
import subprocess
import sys

reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.call(sys.argv[1:], stderr=writer))
