"""A search in a notebook's kernel: the stop button ends it, its trials stay, and no process is left."""
import sys
import time

from jupyter_client.manager import start_new_kernel

CELLS = """
import llvm_mneme as mneme
kernel = mneme.open(%r)["twice"]
executor = mneme.Executor(kernel, device="host")
pid = next(iter(executor._servers.values())).pid
space = mneme.Space.options(block_x="32..1024:8", maxnreg="0..64:2", specialize="both")
taken = []
def ended(study, trial):
    taken.append(trial)
    if len(taken) == 25:
        print("stop")
#---
study = mneme.tune(space, executor, trials=10**6, callbacks=[ended], progress=False)
#---
print(study.end, len(taken) >= 25, study.trials == taken, executor.evaluate().verified)
print(pid)
study
""" % sys.argv[1]


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def run(manager, client, cell):
    """Returns what a cell prints and shows."""
    request = client.execute(cell)
    texts = []
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            texts.append(content["text"])
            if "stop" in content["text"]:
                manager.interrupt_kernel()
        elif kind == "execute_result":
            texts.append("HTML" if "<table" in content["data"].get("text/html", "") else "no HTML")
        elif kind == "error":
            texts.append("%s: %s" % (content["ename"], content["evalue"]))
        elif kind == "status" and content["execution_state"] == "idle":
            return "".join(texts)


manager, client = start_new_kernel(kernel_name="python3")
try:
    first, second, third = CELLS.split("#---\n")
    print(repr(run(manager, client, first)), repr(run(manager, client, second)))
    said, pid, shown = run(manager, client, third).split("\n")
    print(said, shown)
    # Not closed: the kernel is killed.
    print(is_alive(int(pid)))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
deadline = time.monotonic() + 60
while is_alive(int(pid)) and time.monotonic() < deadline:
    time.sleep(0.05)
print(is_alive(int(pid)))
