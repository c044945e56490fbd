"""orphans.py [--until=TEXT | --processes=N] [--left=TEXT]... COMMAND...: kills COMMAND with
SIGKILL while it works, and prints which of the processes that it has started are left. A
variable of their environment identifies them. COMMAND works once a process has TEXT in its
command line, or once N processes stay the same for a while. Processes with a text of --left
in their command line may stay."""
import argparse
import os
import subprocess
import sys
import time
import uuid

parser = argparse.ArgumentParser()
parser.add_argument("--until")
parser.add_argument("--processes", type=int, default=2)
parser.add_argument("--left", action="append", default=[])
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()
variable = "MNEME_TEST_MARK=" + uuid.uuid4().hex
# Much more than it takes, so that a busy machine fails no test.
SECONDS = 200


def read(pid, name):
    try:
        with open("/proc/%s/%s" % (pid, name), "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def find():
    """Those that run, with their command lines."""
    return {
        pid: read(pid, "cmdline")
        for pid in filter(str.isdigit, os.listdir("/proc"))
        if variable in read(pid, "environ").split(" ")
        and read(pid, "stat").rpartition(")")[2].split()[0:1] not in (["Z"], ["X"], [])
    }


def until(condition):
    end = time.time() + SECONDS
    while not condition() and time.time() < end:
        time.sleep(0.05)
    return condition()


class Works:
    def __init__(self):
        self.seen, self.times = None, 0

    def __call__(self):
        running = find()
        if args.until:
            return any(args.until in line for line in running.values())
        self.times = self.times + 1 if self.seen == running.keys() else 0
        self.seen = running.keys()
        return len(running) >= args.processes and self.times >= 20


process = subprocess.Popen(
    args.command,
    env={**os.environ, variable.split("=")[0]: variable.split("=")[1]},
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
works = Works()
if not until(lambda: works() or process.poll() is not None) or process.poll() is not None:
    process.kill()
    sys.exit("the command does not work: " + str(find()))
print("processes:", len(find()))
process.kill()
process.wait()


def orphans():
    return [line for line in find().values() if not any(text in line for text in args.left)]


until(lambda: not orphans())
print("orphans:", orphans() or "none")
print("left:", sorted(find().values()))
