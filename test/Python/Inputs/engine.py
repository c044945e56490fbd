"""llvm-mneme-tune on a cluster of Dask: a node is killed and another one joins in the middle of the study."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import llvm_mneme as mneme

# The whole space; the study also has the recorded configuration.
TRIALS = 48


def read_trials(path):
    """Returns the numbers of the trials that have ended, and the devices, of a journal."""
    with open(path) as file:
        lines = file.read().split("\n")[:-1]
    ended = [e["trial_id"] for e in map(json.loads, lines) if e["op_code"] == 6]
    return ended, set(re.findall(r"[0-9]+\.0:[^\"]*/host", "\n".join(lines)))


def main():
    from distributed import LocalCluster

    recording, output = sys.argv[1:]
    kernel = mneme.open(recording)["twice"]
    journal = os.path.join(output, "study.log")
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        command = [mneme.find_suite().tool("tune"), kernel.path, "--engine=dask", "--quiet"]
        command += ["--engine-options=--address=" + cluster.scheduler_address]
        command += ["--worker-options=--device=host --compile-jobs=1", "--block-x=32..384:32", "--maxnreg=16..64:16"]
        command += ["--trials=%d" % TRIALS, "--explain=off", "--sampler=random", "-o", output]
        env = {**os.environ, "MNEME_PYTHON": sys.executable}
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
            while process.poll() is None and (not os.path.exists(journal) or len(read_trials(journal)[0]) < 10):
                time.sleep(0.01)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            cluster.scale(3)
            out = process.stdout.read().decode()
    print(out, end="")
    print("exit code", process.returncode)
    ended, devices = read_trials(journal)
    print("devices", len(devices))
    print("trials", len(ended), len(set(ended)))
    # A worker that cannot begin says why, and is not restarted.
    result = subprocess.run(command[:4] + ["-o", output + ".bad"], env={**env, "MNEME_ROOT": "/nonsense"}, stderr=subprocess.PIPE)
    print(result.stderr.decode(), end="")


if __name__ == "__main__":
    main()
