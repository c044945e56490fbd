"""killed-study.py RESULTS COMMAND...: kills a study once it has trials. Prints whether its
worker has ended by itself; the worker's launcher writes its number to RESULTS.pid."""
import os
import signal
import subprocess
import sys
import time

results, command = sys.argv[1], sys.argv[2:]
study = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
deadline = time.time() + 600


def wait_for(condition, what):
    while not condition():
        if time.time() > deadline:
            study.kill()
            sys.exit("no " + what)
        time.sleep(0.02)


def has_trials():
    try:
        return '"state":1' in open(os.path.join(results, "study.log")).read()
    except FileNotFoundError:
        return False


def has_ended():
    try:
        return ") Z " in open("/proc/%d/stat" % pid).read()
    except FileNotFoundError:
        return True


wait_for(has_trials, "trials")
pid = int(open(results + ".pid").read())
os.kill(study.pid, signal.SIGKILL)
study.wait()
wait_for(has_ended, "end of the worker")
print("the worker has ended")
