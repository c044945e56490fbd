import os
import signal
import subprocess
import sys
import time

from client import Client


def children(pid):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry) as file:
                parent, group = file.read().rsplit(")", 1)[1].split()[1:3]
        except OSError:
            continue
        if int(parent) == pid:
            found += [int(entry)] + children(int(entry))
    return found


def alive(pids):
    found = []
    for pid in pids:
        try:
            with open("/proc/%d/stat" % pid) as file:
                if file.read().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(pid)
        except OSError:
            pass
    return found


def check(how, end):
    c = Client(sys.argv[1:])
    c.hello()
    c.call("open", 1)
    # A compilation that hangs, and work for the run process.
    c.send("submit", 2, config={"passes": "test-hang"})
    c.send("submit", 3)
    while c.read()[0]["id"] != 3:
        pass
    pids = [c.process.pid] + children(c.process.pid)
    assert len(pids) >= 3, pids
    end(c)
    deadline = time.time() + 60
    while alive(pids) and time.time() < deadline:
        time.sleep(0.01)
        c.process.poll()
    print(how, alive(pids))


check("closed", lambda c: c.close())
check("killed", lambda c: os.kill(c.process.pid, signal.SIGKILL))
