"""remote.py TUNE OUT ARGUMENTS...: a study that only workers evaluate, and two workers, of
which one is killed in the middle. Prints what the study says. The workers' device is
WORKER_DEVICE of the environment, or host."""
import os
import re
import subprocess
import sys
import threading
import time

tune, out, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
device = os.environ.get("WORKER_DEVICE", "host")
env = dict(os.environ, MNEME_TOKEN="secret of a test")


def start_worker(address, **kwargs):
    return subprocess.Popen(
        [tune, "--worker=" + address, "--device=" + device, "--compile-jobs=1"],
        env=dict(env, XDG_CACHE_HOME=out + ".cache", **kwargs),
        stderr=subprocess.PIPE,
        text=True,
    )


study = subprocess.Popen(
    [tune, "--device=none", "--listen=:0", "-o", out] + arguments,
    env=env,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
)
address, errors = None, []
for line in study.stderr:
    errors.append(line)
    match = re.search(r"listening at (\S+)", line)
    if match:
        address = match.group(1)
        print("says:", line.strip())
        break
if not address:
    study.kill()
    sys.exit("no address: " + "".join(errors))
threading.Thread(target=lambda: errors.extend(study.stderr), daemon=True).start()

stranger = start_worker(address, MNEME_TOKEN="another secret")
code = stranger.wait(timeout=60)
print("stranger:", code, stranger.stderr.read().strip().splitlines()[-1])
workers = [start_worker(address), start_worker(address)]
log = os.path.join(out, "study.log")
deadline = time.time() + 90
while time.time() < deadline and study.poll() is None:
    if os.path.exists(log) and open(log).read().count('"state":1') > 3:
        break
    time.sleep(0.01)
workers[0].kill()
text = study.communicate(timeout=120)[0] if study.stderr.closed else study.stdout.read()
print(text)
print("study:", study.wait(timeout=60))
print("worker:", workers[1].wait(timeout=60))
print(workers[0].stderr.read() + workers[1].stderr.read())
