"""An interrupt, as a terminal or a notebook sends it, in the middle of a search."""
import os
import signal
import sys

import llvm_mneme as mneme

kernel = mneme.open(sys.argv[1])["twice"]


def interrupt(study, trial):
    if len(study.trials) == 25:
        # To the whole group of processes, as from a terminal.
        os.killpg(0, signal.SIGINT)


os.setpgid(0, 0)
# A test may run where interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
executor = mneme.Executor(kernel, device="host")
pids = [next(iter(executor._servers.values())).pid]
space = mneme.Space.options(block_x="32..1024:8", maxnreg="0..64:2", specialize="both")
study = mneme.tune(space, executor, trials=100000, callbacks=[interrupt], journal=sys.argv[2])
print(study.end, len(study.trials) >= 25, all(t.state != "running" for t in study.trials))


# An interrupt while a request is sent, in the middle of its line and after it: the request is whole.
class Interrupted:
    def __init__(self, socket):
        self.socket = socket
        self.sizes = [7, 0, 1]

    def send(self, view):
        if not self.sizes:
            return self.socket.send(view)
        size = self.sizes.pop(0)
        if size:
            return self.socket.send(view[:size])
        raise KeyboardInterrupt


server = next(iter(executor._servers.values()))
real, server._socket = server._socket, Interrupted(server._socket)
before = set(executor._futures)
try:
    executor.submit(fresh=True)
except KeyboardInterrupt:
    print("raised", set(executor._futures) <= before)
server._socket = real
# The executor is as it was.
print(executor.evaluate().verified)
executor.close()


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


print([p for p in pids if is_alive(p)])
# The journal has all of it, and a search continues with it.
with open(sys.argv[2]) as file:
    print(len(file.readlines()) == 1 + len(study.trials))
more = mneme.tune(space, kernel, device="host", trials=len(study.trials) + 5, retest=0, journal=sys.argv[2])
print(len(more.trials) == len(study.trials) + 5, [t.params for t in more.trials[:25]] == [t.params for t in study.trials[:25]])
print(len({str(sorted(t.params.items())) for t in more.trials}) == len(more.trials))
with open(sys.argv[2], "a") as file:
    file.write('{"torn')
again = mneme.tune(space, kernel, device="host", trials=len(more.trials) + 1, retest=0, journal=sys.argv[2])
print(len(again.trials) == len(more.trials) + 1)
try:
    mneme.tune(mneme.Space.options(block_x="32,64"), kernel, device="host", trials=1, journal=sys.argv[2])
except mneme.RequestError as error:
    print(str(error).partition(": ")[0].rpartition("' ")[2])
