"""launchers.py TUNE OUT ARGUMENTS...: a study whose workers are started as ssh, srun and flux
start them: with little of the environment, several at once, late. One is killed and started
again; one is behind a network that goes silent. Prints how each of them ended."""
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time

tune, out, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
TOKEN = "secret of a test"
DEADLINE = time.time() + 400
started = []


class SilentNetwork:
    """Forwards connections until it is told to fall silent; it closes none."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.there = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.silent = False
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(self.there)
        other = {near: far, far: near}
        while not self.silent:
            for s in select.select(list(other), [], [], 0.05)[0]:
                data = s.recv(65536)
                if not data:
                    return
                other[s].sendall(data)
        self.kept = other


def worker(address, *options):
    return [tune, "--worker=" + address, "--device=host", "--compile-jobs=1", *options]


def start(name, command, stdin=None, **env):
    """As a launcher does: not a variable more than it passes on."""
    env = dict(env, PATH=os.environ["PATH"], XDG_CACHE_HOME=out + ".cache")
    for key in os.environ:
        if key.startswith(("LD_", "ASAN_", "UBSAN_", "LSAN_")):
            env[key] = os.environ[key]
    p = subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=open("%s.%s" % (out, name), "w"),
        text=True,
    )
    if stdin:
        p.stdin.write(stdin)
    p.stdin.close()
    started.append((name, p))
    return p


def ended():
    """How many trials have their verdict."""
    try:
        lines = open(os.path.join(out, "study.log")).read().splitlines()
    except FileNotFoundError:
        return 0
    return sum(bool(re.search(r'"op_code":[46].*"state":[123]', l)) for l in lines)


def wait_for(count):
    while ended() < count and study.poll() is None:
        if time.time() > DEADLINE:
            finish("%d of %d trials" % (ended(), count))
        time.sleep(0.02)


def finish(error=None):
    for _, p in started + [("study", study)]:
        if p.poll() is None:
            p.kill()
    sys.exit(error)


study = subprocess.Popen(
    [tune, "--device=none", "--listen=:0", "-o", out] + arguments,
    env=dict(os.environ, MNEME_TOKEN=TOKEN),
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
)
said = []
for line in study.stderr:
    said.append(line)
    match = re.search(r"listening at (\S+)", line)
    if match:
        address = match.group(1)
        break
else:
    finish("no address: " + "".join(said))
reader = threading.Thread(target=lambda: said.extend(study.stderr), daemon=True)
reader.start()

# A worker whose network falls silent in the middle: what it had goes to others.
network = SilentNetwork(address)
silent = start(
    "silent", worker(network.address, "--worker-timeout=15"), MNEME_TOKEN=TOKEN
)
wait_for(2)
network.silent = True

# srun starts all at once; they fetch the recording once. One is killed at work.
ranks = [
    start("srun%d" % i, worker(address), MNEME_TOKEN=TOKEN, SLURM_LOCALID=str(i))
    for i in (0, 1)
]
while not any(":%d at" % ranks[0].pid in l for l in said) and time.time() < DEADLINE:
    time.sleep(0.02)
wait_for(ended() + 2)
ranks[0].kill()

# ssh passes no variables on, and sh takes a line of its input as the token.
start(
    "ssh",
    ["sh", "-c", 'read MNEME_TOKEN; export MNEME_TOKEN; exec "$@"', "sh"]
    + worker(address),
    stdin=TOKEN + "\n",
)
start("again", worker(address), MNEME_TOKEN=TOKEN, FLUX_TASK_LOCAL_ID="0")

text = study.stdout.read()
reader.join()
print(text)
print("study:", study.wait(timeout=120))
for name, p in started:
    try:
        code = p.wait(timeout=max(1, DEADLINE - time.time()))
    except subprocess.TimeoutExpired:
        finish(name + " does not end")
    last = open("%s.%s" % (out, name)).read().strip().splitlines()
    print("%s: %d %s" % (name, code, last[-1] if last and code > 0 else ""))
print("".join(l for l in said if "lost the worker" in l))
workers = set()
for line in map(json.loads, open(os.path.join(out, "study.log"))):
    attributes = line.get("user_attr") or line.get("user_attrs") or {}
    if attributes.get("device"):
        workers.add(attributes["device"])
print("devices:", " ".join(workers))
