import concurrent.futures
import os
import signal
import sys
import threading
import warnings

import llvm_mneme as mneme

warnings.simplefilter("ignore")
kernel = mneme.open(sys.argv[1])["poly"]


def server(executor):
    return next(iter(executor._servers.values()))


def configs(count):
    return [{"passes": "default<O%d>" % (1 + n % 3), "maxnreg": 16 + n} for n in range(count)]


with mneme.Executor(kernel, device="host") as executor:
    enough = threading.Semaphore(0)
    futures = [executor.submit(c) for c in configs(120)]
    for future in futures:
        future.add_done_callback(lambda f: enough.release())
    for _ in range(20):
        enough.acquire()
    before = {f: f.result() for f in futures if f.done()}
    os.kill(server(executor).pid, signal.SIGKILL)
    concurrent.futures.wait(futures)
    print("verified", sum(f.result().verified for f in futures), all(f.result() is r for f, r in before.items()))
    # An idle server is replaced at the next request; a comparison, too.
    os.kill(server(executor).pid, signal.SIGKILL)
    print("again", executor.evaluate().verified)
    os.kill(server(executor).pid, signal.SIGKILL)
    print("compared", len(executor.compare({}, {}, pairs=3).samples))
    # The process that runs kernels: the farm repeats its work.
    worker = int(executor.evaluate(fresh=True).worker.rsplit(":", 1)[1])
    futures = [executor.submit(c, fresh=True) for c in configs(20)]
    os.kill(worker, signal.SIGKILL)
    concurrent.futures.wait(futures)
    print("worker", sum(f.result().verified for f in futures))

# Without resubmission, futures fail, and what had finished stays.
executor = mneme.Executor(kernel, device="host", resubmit=False)
first = executor.evaluate()
futures = [executor.submit(c) for c in configs(50)]
os.kill(server(executor).pid, signal.SIGKILL)
concurrent.futures.wait(futures)
print(first.verified, {type(f.exception()).__name__ for f in futures if f.exception()} <= {"ServerLostError"})
try:
    executor.evaluate()
except mneme.ServerLostError as error:
    print(error)
executor.close()
