import os
import pickle
import signal
import subprocess
import sys

import llvm_mneme as mneme
from llvm_mneme import Choice, Config, Float, Int, Space

rec = sys.argv[1]
kernel = mneme.open(rec)["poly"]
executor = mneme.Executor(kernel, device="host")


def check(name, action):
    try:
        action()
    except mneme.MnemeError as error:
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
    else:
        print(f"{name}: no error")


class NoPoints:
    def ask(self, count):
        return None

    def tell(self, trial):
        pass


class NaNPoints(NoPoints):
    def ask(self, count):
        return [{"block_x": float("nan")}]


check("key", lambda: executor.submit(pases="x"))
check("mapping", lambda: executor.submit({"block.w": 1}))
check("NaN", lambda: executor.submit(block_x=float("nan")))
check("NaN of LLVM", lambda: executor.submit(llvm={"x": float("inf")}))
check("fraction", lambda: executor.submit(block_x=1.5))
check("flag", lambda: executor.submit(specialize=1))
check("negative", lambda: executor.submit(maxnreg=-1))
check("dims", lambda: Config(block=(1, 2, 3, 4)))
check("prune", lambda: Config({"prune": False}))
check("launch", lambda: executor.submit(instance="ffff"))
check("other kernel", lambda: executor.submit(instance=mneme.open(rec)["twice"].only()))
check("large IR", lambda: executor.submit(ir="x" * (1 << 30)))
check("IR", lambda: executor.submit(ir=5))
check("long line", lambda: executor.submit(passes="x" * (17 << 20)))
check("limit", lambda: executor.submit(stop_above=float("nan")))
check("one side", lambda: executor.compare({}))
check("no pairs", lambda: executor.compare({}, {}, pairs=0))
check("recording", lambda: mneme.Executor(5))
check("argument", lambda: kernel[next(iter(kernel))].pointee(9))
check("pickle", lambda: pickle.dumps(executor))
check("device", lambda: mneme.Executor(kernel, device="abacus"))
check("workers", lambda: mneme.Executor(kernel, device="host", workers=0))
check("options", lambda: mneme.Executor(kernel, device="host", options="--x"))
check("option", lambda: mneme.Executor(kernel, device="host", options=["--nonsense"]))
check("listen", lambda: mneme.Executor(kernel, device="host", options=["--listen=unix:x"]))
check("number", lambda: mneme.Executor(kernel, device="host", options=[1]))
check("backend", lambda: mneme.Executor(kernel, backend="rai"))
check("unknown", lambda: mneme.Executor(kernel, device="host", nods=3))
check("nothing", lambda: mneme.Executor([]))
check("metric", lambda: Space({"x": [1]}, objectives=["tme"]))
check("parameter", lambda: mneme.tune(Space({"x": 5}), executor, trials=1))
check("bounds", lambda: mneme.tune(Space({"x": Float(0, float("nan"))}), executor, trials=1))
check("range", lambda: mneme.tune(Space({"x": Int(5, 1)}), executor, trials=1))
check("values", lambda: mneme.tune(Space({"x": Choice([1, "a"])}), executor, trials=1))
check("space option", lambda: Space.options(blok_x="1"))
check("space text", lambda: mneme.tune(Space.options(block_x="1..x"), executor, trials=1))
check("preset", lambda: mneme.tune(Space.preset("nonsense"), executor, trials=1))
check("sampler", lambda: mneme.tune(Space({"block_x": [64]}), executor, sampler="tpee", trials=1))
check("object", lambda: mneme.tune(Space({"block_x": [64]}), executor, sampler=5, trials=1))
check("trials", lambda: mneme.tune(Space({"block_x": [64]}), executor, trials=0))
check("retest", lambda: mneme.tune(Space({"block_x": [64]}), executor, trials=1, retest=-1))
check("budget", lambda: mneme.tune(Space({"block_x": [64]}), executor, budget=float("nan")))
check("space", lambda: mneme.tune("block_x", executor, trials=1))
check("asks", lambda: mneme.tune(Space({"block_x": [64]}), executor, sampler=NoPoints(), trials=1))
check("point", lambda: mneme.tune(Space({"block_x": [64]}), executor, sampler=NaNPoints(), trials=1))
check("derived", lambda: mneme.tune(Space({"block_x": [64]}, derived=lambda p: float("nan")), executor, trials=1))
check("constraint", lambda: mneme.tune(Space({"block_x": [64, 32]}, constraint=lambda p: False), executor, trials=1))
check("dataset", lambda: mneme.dataset.write("x.xml", []))
check("rows", lambda: next(mneme.dataset.rows([5])))

sys.stdout.flush()
# No result arrives before the fork.
server = next(iter(executor._servers.values())).pid
os.kill(server, signal.SIGSTOP)
waiting = executor.submit(attempt=1)
pid = os.fork()
if pid == 0:
    check("fork", lambda: executor.submit())
    check("fork result", lambda: waiting.result(60))
    check("fork exception", lambda: waiting.exception(60))
    sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)
os.kill(server, signal.SIGCONT)
print("parent", executor.evaluate().verified)
executor.close()
executor.close()
check("closed", lambda: executor.submit())
check("closed compare", lambda: executor.compare({}, {}))

# An error of the user's callback is the user's.
try:
    mneme.tune(Space({"block_x": [64]}, derived=lambda p: p["nonsense"]), kernel, device="host", trials=1)
except KeyError as error:
    print("callback", error)
