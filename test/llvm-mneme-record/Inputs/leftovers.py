"""leftovers.py RECORDER ENDLESS-APP APP SCRATCH: kills a recorder and its application; the
next recorder removes what the killed one left in the temporary folder, and nothing else."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

recorder, endless, app, scratch = sys.argv[1:]
# A socket's path is short.
tmp = tempfile.mkdtemp(prefix="m", dir="/tmp")
others = tempfile.mkdtemp(prefix="m", dir="/tmp")
open(os.path.join(others, "file"), "w").close()
environment = {**os.environ, "TMPDIR": tmp}


def record(program, **options):
    return subprocess.Popen([recorder, "--quiet", "--device=host", "-o", scratch, "--", program],
                            env=environment, start_new_session=True, **options)


try:
    killed = record(endless)
    while not [d for d in os.listdir(tmp) if os.path.exists(os.path.join(tmp, d, "socket"))]:
        assert killed.poll() is None
        time.sleep(0.01)
    print("running:", record(app).wait(), len(os.listdir(tmp)))
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    print("killed:", len(os.listdir(tmp)))
    os.symlink(others, os.path.join(tmp, "mneme-run-ABCDEF"))
    os.mkdir(os.path.join(tmp, "mneme-run-other"))
    print("next:", record(app).wait(), sorted(os.listdir(tmp)), os.listdir(others))
finally:
    shutil.rmtree(tmp)
    shutil.rmtree(others)
