import os
import re
import subprocess
import sys

import llvm_mneme as mneme


def main():
    from distributed import LocalCluster

    recording, output = sys.argv[2], sys.argv[4]
    kernel = mneme.open(recording)["twice"]
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        command = [mneme.find_suite().tool("tune"), kernel.path, "--engine=dask", "--quiet"]
        command += ["--engine-options=--address=" + cluster.scheduler_address]
        command += ["--worker-options=--device=host --compile-jobs=1", "--block-x=32..384:32", "--trials=12", "-o", output]
        result = subprocess.run(command, env={**os.environ, "MNEME_PYTHON": sys.executable}, stdout=subprocess.PIPE)
    print(result.stdout.decode(), end="")
    print("exit code", result.returncode)
    with open(os.path.join(output, "study.log")) as file:
        devices = set(re.findall(r"[0-9]+\.0:[^\"]*/host", file.read()))
    print("devices", len(devices))
    # A worker that cannot begin says why, and is not restarted.
    env = {**os.environ, "MNEME_PYTHON": sys.executable, "MNEME_ROOT": "/nonsense"}
    result = subprocess.run(command[:4] + ["-o", output + ".bad"], env=env, stderr=subprocess.PIPE)
    print(result.stderr.decode(), end="")


if __name__ == "__main__":
    main()
