"""Evaluates on a cluster of several processes on this machine: one is killed, one joins."""
import concurrent.futures
import os
import signal
import sys
import threading
import warnings

import llvm_mneme as mneme

engine, recording = sys.argv[1:3]


def main():
    warnings.simplefilter("ignore")
    if engine == "dask":
        from distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
        options = {"client": Client(cluster)}

        def kill():
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            cluster.scale(3)

    else:
        import ray
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        first = cluster.add_node(num_cpus=1)
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        options = {}

        def kill():
            cluster.remove_node(first, allow_graceful=False)
            cluster.add_node(num_cpus=1)

    kernel = mneme.open(recording)["twice"]
    executor = mneme.Executor(kernel, device="host", backend=engine, compile_jobs=1, poll=0.2, **options)
    enough = threading.Semaphore(0)
    futures = [executor.submit(maxnreg=16 + n, passes="default<O%d>" % (1 + n % 3)) for n in range(120)]
    for future in futures:
        future.add_done_callback(lambda f: enough.release())
    for _ in range(20):
        enough.acquire()
    before = {f: f.result() for f in futures if f.done()}
    kill()
    concurrent.futures.wait(futures)
    print("verified", sum(f.result().verified for f in futures), all(f.result() is r for f, r in before.items()))
    print("compared", len(executor.compare({}, {"maxnreg": 32}, pairs=3).samples))
    print("wrong", executor.evaluate(grid_x=1, block_x=1).verified, executor.evaluate(passes="nonsense").failure)
    # Callbacks stay here: they need not be picklable.
    lock = threading.Lock()

    def derived(params):
        with lock:
            return {"block_x": params["x"]}

    study = mneme.tune(mneme.Space({"x": range(32, 257, 32)}, derived=derived), executor, trials=8, pairs=6)
    print("study", len(study.trials), study.failures)
    executor.close()
    if engine == "dask":
        options["client"].close()
        cluster.close()
    else:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
