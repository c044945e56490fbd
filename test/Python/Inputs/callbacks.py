import sys
import threading
import warnings

import llvm_mneme as mneme

kernel = mneme.open(sys.argv[1])["poly"]
with mneme.Executor(kernel, device="host") as executor:
    # The first good result cancels the others.
    done = threading.Event()
    futures = [executor.submit(passes="default<O1>")]
    futures += [executor.submit(passes="default<O3>", maxnreg=16 + n) for n in range(40)]

    def cancel_others(future):
        for other in futures[1:]:
            other.cancel()
        done.set()

    futures[0].add_done_callback(cancel_others)
    print("cancelled", done.wait(60), executor.evaluate(passes="default<O2>").verified)

    # What a callback cannot have without waiting is an error.
    said = []

    def ask(future):
        try:
            executor.stats()
        except mneme.MnemeError as error:
            said.append(str(error))
        done.set()

    done.clear()
    executor.submit(passes="default<O3>", fresh=True).add_done_callback(ask)
    print(done.wait(60), *said)

    # A warning that is an error.
    warnings.simplefilter("error")
    server = next(iter(executor._servers.values()))
    server._handle({"type": "note", "level": "warning", "text": "something"}, None)
    print("after a warning", executor.evaluate(passes="default<O2>").verified)
